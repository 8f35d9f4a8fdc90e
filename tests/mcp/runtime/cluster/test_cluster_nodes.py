"""Two nodes behind nginx: clients begin at one and go on at the other, whatever becomes of the first."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import anyio
import httpx2
import pytest

pytest.importorskip("redis", reason="the extra 'cluster' is not installed")

from mcp import Client, ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from acuity.mcp.runtime.cluster.shared_secret import ClusterKeys
from acuity.mcp.runtime.cluster.signatures import FORWARDED, Signer
from acuity.mcp.wire.http.request import Request
from cluster_nodes import SECRET, ClusterNodes, Node, at, cluster_nodes, needs_nginx
from raw_http import ACCEPT, call, events, http_client, modern, open_session
from redis_server import needs_redis
from test_restart import LOST, Listener, counting, numbers, progress, rest, take

pytestmark = [
    needs_redis,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]
SOON = 30.0  # seconds, after which a test gives up
RESUMED = 3.0  # seconds to the first event after kill -9


@pytest.fixture(scope="module")
def cluster() -> Iterator[ClusterNodes]:
    """The same nodes for all tests: each has sessions of its own."""
    with cluster_nodes(append_only=True) as nodes:
        yield nodes


def play(scenario: Any, *arguments: Any) -> None:
    async def main() -> None:
        with anyio.fail_after(SOON):
            await scenario(*arguments)

    anyio.run(main)


# ---- passing on -----------------------------------------------------------------------------------------


def test_a_session_is_the_same_at_every_node(cluster: ClusterNodes) -> None:
    async def scenario() -> None:
        one, two = cluster.start_all()
        async with http_client() as http:
            session = await open_session(one.url, http)
            assert session.headers["Mcp-Session-Id"].startswith("n1-")
            there = await at(session, two)
            level = {"jsonrpc": "2.0", "id": 5, "method": "logging/setLevel", "params": {"level": "warning"}}
            assert (await there.post(level)).json()["result"] == {}
            known = (await session.post(call(6, "recall"))).json()["result"]["structuredContent"]
            assert known == {"version": "2025-11-25", "client": "t", "level": "warning"}
            async with there.stream(counting(20, stay=False)) as stream:
                found = await rest(stream)
            assert progress(found) == list(range(1, 21))
            assert found[-1]["result"]["structuredContent"] == {"counted": 20}
            assert (await http.delete(two.url, headers=session.headers)).status_code == 200
            assert (await session.post(call(7, "recall"))).status_code == 404
            assert (await there.post(call(8, "recall"))).status_code == 404

    play(scenario)


def test_another_nodes_stream_comes_as_it_is_made_and_can_be_left(cluster: ClusterNodes) -> None:
    async def scenario() -> None:
        one, two = cluster.start_all()
        async with http_client() as http:
            session = await open_session(one.url, http)
            there = await at(session, two)
            async with http.stream("GET", two.url, headers=session.headers) as response:
                assert response.status_code == 200
                stream = events(response)
                first = await anext(stream)
                await session.post(call(1, "say", text="hello"))
                said = await anext(stream)
                assert said.message["params"]["data"] == "hello"
            await there.post(call(2, "say", text="again"))  # the owner knows that the client has gone
            async with session.resume(first.id) as resumed:
                found = (await take(resumed, 2))[0]
            assert [message["params"]["data"] for message in found] == ["hello", "again"]

    play(scenario)


def test_what_a_call_asks_can_be_answered_at_another_node(cluster: ClusterNodes) -> None:
    async def scenario() -> None:
        one, two = cluster.start_all()
        async with http_client() as http:
            session = await open_session(one.url, http, capabilities={"elicitation": {}})
            there = await at(session, two)
            async with there.stream(call(1, "greet")) as stream:
                asked = (await take(stream, 1))[0][0]
                answer = {"action": "accept", "content": {"name": "Ada"}}
                for place in (there, session):
                    reply = {"jsonrpc": "2.0", "id": asked["id"], "result": answer}
                    assert (await place.post(reply)).status_code == 202
                found = await rest(stream)
            assert found[-1]["result"]["structuredContent"] == {"greeted": "Ada", "node": "n1"}

    play(scenario)


# ---- the era without sessions ---------------------------------------------------------------------------


def test_a_request_state_is_opened_by_any_node(cluster: ClusterNodes) -> None:
    async def scenario() -> None:
        one, two = cluster.start_all()
        async with http_client() as http:
            body, headers = modern(call(1, "greet"))
            capable = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
            body["params"]["_meta"] = {**body["params"]["_meta"], **capable}
            first = (await http.post(one.url, json=body, headers=headers)).json()["result"]
            assert first["resultType"] == "input_required"
            answer = {"action": "accept", "content": {"name": "Ada"}}
            body["params"] |= {
                "inputResponses": dict.fromkeys(first["inputRequests"], answer),
                "requestState": first["requestState"],
            }
            found = (await http.post(two.url, json=body, headers=headers)).json()["result"]
            assert found["structuredContent"] == {"greeted": "Ada", "node": "n2"}
            body["params"]["requestState"] = first["requestState"][:-4] + "AAAA"
            assert "error" in (await http.post(two.url, json=body, headers=headers)).json()

    play(scenario)


def test_changes_at_one_node_are_told_at_all(cluster: ClusterNodes) -> None:
    async def scenario() -> None:
        one, two = cluster.start_all()
        async with http_client() as http:
            listen = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "subscriptions/listen",
                "params": {"notifications": {"resourceSubscriptions": ["r://a"]}},
            }
            body, headers = modern(listen)
            async with http.stream("POST", one.url, json=body, headers=headers) as response:
                stream = events(response)
                assert (await anext(stream)).message["method"] == "notifications/subscriptions/acknowledged"
                for node in (two, one):
                    change, named = modern(call(2, "touch", name="r://a"))
                    await http.post(node.url, json=change, headers=named)
                    told = (await anext(stream)).message
                    assert told["method"] == "notifications/resources/updated"
                    assert told["params"]["uri"] == "r://a"

    play(scenario)


# ---- kill -9 --------------------------------------------------------------------------------------------


@needs_nginx
def test_a_killed_nodes_stream_goes_on_at_the_other(
    cluster: ClusterNodes, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scenario() -> None:
        cluster.start_all()
        front = cluster.front or cluster.start_nginx()
        async with http_client() as http:
            session = await open_session(front, http)
            owner = session.headers["Mcp-Session-Id"][:2]
            async with session.stream(counting(60, stay=True)) as stream:
                found, last = await take(stream, 7)
                cluster.kill(owner)
            began = time.monotonic()
            async with session.resume(last) as stream:
                found += (await take(stream, 1))[0]
                took = time.monotonic() - began
                found += await rest(stream)
            with capsys.disabled():
                print(f"\nfirst event after kill -9 of {owner}: {took:.2f} s")
            assert took <= RESUMED
            said = progress(found)
            assert said == list(range(1, len(said) + 1))
            said = numbers(found, "notifications/message", "call")
            assert said == list(range(1, len(said) + 1))
            assert found[-1] == {"jsonrpc": "2.0", "id": 1, "error": LOST}
            # It is the other node's now, and the first one's when that is back and asked.
            cluster.start(owner)
            for place in (front, cluster["n1"], cluster["n2"]):
                there = await at(session, place)
                assert (await there.post(call(2, "recall"))).status_code == 200

    play(scenario)


@needs_nginx
def test_the_official_client_goes_on_by_itself(cluster: ClusterNodes) -> None:
    """The owner is killed in the midst of a call: the caller gets the error, and the session goes on."""
    heard, ids = Listener(), list[str]()

    async def note(response: httpx2.Response) -> None:
        ids.extend(response.headers.get_list("mcp-session-id"))

    async def kill_when_enough() -> None:
        await heard.enough.wait()
        await anyio.to_thread.run_sync(cluster.kill, ids[0][:2])

    async def talk(session: ClientSession) -> None:
        await session.initialize()
        await session.set_logging_level("warning")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kill_when_enough)
            with pytest.raises(MCPError, match="the server restarted before this call ended"):
                await session.call_tool("count", {"upto": 30, "stay": True}, progress_callback=heard.told)
        found = await session.call_tool("recall", {})
        assert found.structured_content == {"version": "2025-11-25", "client": "mcp", "level": "warning"}

    async def scenario() -> None:
        cluster.start_all()
        front = cluster.front or cluster.start_nginx()
        async with http_client() as http:
            http.event_hooks["response"].append(note)
            async with (
                streamable_http_client(front, http_client=http) as (read, write),
                ClientSession(read, write, logging_callback=heard.logged) as session,
            ):
                await talk(session)

    play(scenario)
    assert len(heard.progress) >= 8
    assert heard.progress == list(range(1, len(heard.progress) + 1))


@needs_nginx
def test_clients_without_sessions_don_t_notice(cluster: ClusterNodes) -> None:
    async def scenario() -> None:
        cluster.start_all()
        front = cluster.front or cluster.start_nginx()
        async with Client(front, mode="2026-07-28") as client:
            nodes = set()
            for _ in range(6):
                nodes.add((await client.call_tool("touch", {"name": "r://x"})).structured_content["node"])
            cluster.kill(min(nodes))
            for _ in range(6):
                found = await client.call_tool("touch", {"name": "r://x"})
                assert found.structured_content is not None

    play(scenario)


def test_calls_that_another_node_passed_on_are_answered(cluster: ClusterNodes) -> None:
    async def scenario() -> None:
        one, two = cluster.start_all()
        async with http_client() as http:
            session = await open_session(one.url, http)
            there = await at(session, two)
            async with there.stream(counting(10, stay=True)) as stream:
                found, last = await take(stream, 5)
                cluster.kill("n1")
                found += [event.message async for event in stream if event.message]  # it ends
            async with there.resume(last) as stream:
                again = await rest(stream)
            assert again[-1]["error"] == LOST
            # All at once, after another kill, cause one take-over.
            cluster.start("n1")
            cluster.kill("n2")
            back = await at(session, one)
            answers: list[Any] = []

            async def ask(number: int) -> None:
                answers.append((await back.post(call(number, "recall"))).json())

            async with anyio.create_task_group() as tasks:
                for number in range(10, 20):
                    tasks.start_soon(ask, number)
            assert sorted(answer["id"] for answer in answers) == list(range(10, 20))
            assert all("result" in answer for answer in answers)

    play(scenario)


def test_a_node_that_hangs_is_not_waited_for(cluster: ClusterNodes) -> None:
    """It is stopped in its tracks, connections and all; when it goes on, its sessions are another's."""

    async def scenario() -> None:
        one, two = cluster.start_all()
        async with http_client() as http:
            session = await open_session(one.url, http)
            there = await at(session, two)
            assert (await there.post(call(1, "recall"))).status_code == 200
            os.kill(one.pid, signal.SIGSTOP)
            try:
                began = time.monotonic()
                answer = (await there.post(call(2, "recall"))).json()
                assert answer["error"] == LOST
                assert (await there.post(call(3, "recall"))).status_code == 200
                assert time.monotonic() - began < 6.0
            finally:
                os.kill(one.pid, signal.SIGCONT)
            answer = await session.post(call(4, "recall"))
            while answer.status_code == 503:  # it finds out that it isn't the owner any more
                await anyio.sleep(0.05)
                answer = await session.post(call(4, "recall"))
            assert answer.status_code == 200

    play(scenario)


# ---- bad input ------------------------------------------------------------------------------------------


def signed(key: bytes, node: str, to: str, incarnation: str, body: bytes, clock: float) -> dict[str, str]:
    headers = {**{name.lower(): value for name, value in ACCEPT.items()}, "mcp-session-id": "n1-" + "0" * 32}
    request = Request("POST", "/mcp", headers=headers, body=body)
    return {**headers, FORWARDED: Signer(key, node, lambda: clock).header(request, to, incarnation)}


def test_forged_forwarding_is_refused(cluster: ClusterNodes) -> None:
    async def scenario() -> None:
        one, _ = cluster.start_all()
        key, body = ClusterKeys.of(SECRET.encode()).forwarding, json.dumps(call(1, "recall")).encode()
        now = time.time()
        async with http_client() as http:
            forged = {
                "unsigned": ACCEPT,
                "another secret": signed(bytes(32), "n2", "n1", "x", body, now),
                "another life": signed(key, "n2", "n1", "x", body, now),
                "its own label": signed(key, "n1", "n1", "x", body, now),
                "another body": signed(key, "n2", "n1", "x", body + b" ", now),
                "old": signed(key, "n2", "n1", "x", body, now - 3600),
            }
            for why, headers in forged.items():
                found = await http.post(one.peers_url, content=body, headers=headers)
                assert found.status_code == 403, why
                assert SECRET not in found.text
            # The public port takes it for any other header.
            session = await open_session(one.url, http)
            answer = await http.post(
                one.url,
                content=body,
                headers={**session.headers, FORWARDED: forged["another life"][FORWARDED]},
            )
            assert answer.status_code == 200

    play(scenario)


def test_two_nodes_with_one_label(cluster: ClusterNodes) -> None:
    cluster.start_all()
    said = cluster.begin(Node("n1"))
    assert "a node with the label 'n1' is running already" in said["error"]


def test_clocks_may_differ(cluster: ClusterNodes) -> None:
    async def scenario() -> None:
        cluster.start_all()
        cluster.stop("n2")
        one, two = cluster["n1"], cluster.start("n2", skew=-86_400.0)
        async with http_client() as http:
            for begun, used in ((one, two), (two, one)):
                session = await open_session(begun.url, http)
                there = await at(session, used)
                assert (await there.post(call(1, "recall"))).status_code == 200
                cluster.kill(begun.label)
                assert (await there.post(call(2, "recall"))).status_code == 200
                cluster.start(begun.label)

    play(scenario)


# ---- Redis ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["killed", "paused"])
def test_redis_that_is_gone_and_comes_back(cluster: ClusterNodes, way: str) -> None:
    async def scenario() -> None:
        one, two = cluster.start_all()
        redis = cluster.redis
        async with http_client() as http:
            session = await open_session(one.url, http)
            there = await at(session, two)
            (redis.kill if way == "killed" else redis.pause)()
            try:
                began = time.monotonic()
                refused = await there.post(call(2, "recall"))
                assert time.monotonic() - began < RESUMED
                assert refused.status_code == 503
                assert int(refused.headers["retry-after"]) >= 1
                assert "try again" in refused.json()["error"]["message"]
                assert (await session.post(call(3, "recall"))).status_code == 200  # its own
            finally:
                (redis.start if way == "killed" else redis.go_on)()
            answer = refused
            while answer.status_code == 503:
                await anyio.sleep(0.05)
                answer = await there.post(call(4, "recall"))
            assert answer.status_code == 200
            assert (await session.post(call(5, "recall"))).status_code == 200

    play(scenario)
