"""Two nodes: a session of one is the same at the other; what is forged, doubled or out of time is refused."""

from __future__ import annotations

import json
import time

import pytest

pytest.importorskip("redis", reason="the extra 'cluster' is not installed")


from cluster_nodes import SECRET, ClusterNodes, Node, at, play
from longwire.cluster.cluster_settings import ClusterKeys
from longwire.cluster.signatures import FORWARDED, Signer
from longwire.wire.http.request import Request
from raw_http import ACCEPT, call, events, http_client, modern, open_session
from redis_server import needs_redis
from test_restart import counting, progress, rest, take

pytestmark = [
    needs_redis,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]


# ---- passing on -----------------------------------------------------------------------------------------


def test_a_session_is_the_same_at_every_node(cluster: ClusterNodes) -> None:
    async def scenario() -> None:
        one, two = cluster.start_all()
        async with http_client(patient=True) as http:
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
        async with http_client(patient=True) as http:
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
        async with http_client(patient=True) as http:
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


def test_a_session_is_its_principals_at_every_node(cluster: ClusterNodes) -> None:
    async def scenario() -> None:
        one, two = cluster.start_all()
        async with http_client(patient=True) as http, http_client("127.0.0.2", patient=True) as strangers:
            session = await open_session(one.url, http)
            for killed in (False, True):
                if killed:
                    cluster.kill("n1")
                stolen = await strangers.post(two.url, json=call(1, "recall"), headers=session.headers)
                assert stolen.status_code == 404
                assert (await strangers.delete(two.url, headers=session.headers)).status_code == 404
                own = await http.post(two.url, json=call(2, "recall"), headers=session.headers)
                assert own.status_code == 200

    play(scenario)


# ---- the era without sessions ---------------------------------------------------------------------------


def test_a_request_state_is_opened_by_any_node(cluster: ClusterNodes) -> None:
    async def scenario() -> None:
        one, two = cluster.start_all()
        async with http_client(patient=True) as http:
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
        async with http_client(patient=True) as http:
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
        async with http_client(patient=True) as http:
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
        async with http_client(patient=True) as http:
            for begun, used in ((one, two), (two, one)):
                session = await open_session(begun.url, http)
                there = await at(session, used)
                assert (await there.post(call(1, "recall"))).status_code == 200
                cluster.kill(begun.label)
                assert (await there.post(call(2, "recall"))).status_code == 200
                cluster.start(begun.label)

    play(scenario)
