"""Who a client is: nothing that it may write into a header makes it another, and nobody locks others out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import ClientSession
from mcp.client.sse import sse_client
from mcp.server.subscriptions import InMemorySubscriptionBus

from acuity.agents.settings import AcuitySettings
from longwire.endpoints import Http
from longwire.guard.access import Access
from longwire.guard.tokens import Tokens
from longwire.principals.limits import BUSY
from longwire.product.catalog import Catalog
from longwire.tasks.listen import Listen
from product_server import LONG, product_on_http, raw_pair
from raw_http import ACCEPT, HELLO, call, http_client, modern, open_session
from transport_bench import LOCAL, Bench, serving

WISHES = 100  # for subscriptions: more than anybody may have
AT = Http(LOCAL)
ALICE, BOB = "alice-correct-horse", "bob-battery-staple"
TOKENS = Access(Tokens({ALICE: "alice", BOB: "bob"}))
LISTEN = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {"notifications": {}}}


class Listening(Bench):
    """With subscriptions."""

    def catalog(self) -> Catalog:
        return Catalog(tools=super().catalog().tools, listen=Listen(InMemorySubscriptionBus()))


def made_up(number: int) -> list[dict[str, str]]:
    """Headers that claim to be somebody else each time."""
    return [
        {"Authorization": f"Bearer x{number}"},
        {"Mcp-Session-Id": f"made-up-{number}"},
        {"Authorization": f"Bearer y{number}", "Mcp-Session-Id": f"made-up-too-{number}"},
    ]


def told(answer: httpx2.Response) -> dict[str, Any]:
    """The answer to a request, in whichever form a busy machine gives it."""
    lines = [line[5:] for line in answer.text.splitlines() if line.startswith("data: {")]
    message: dict[str, Any] = json.loads(lines[-1] if lines else answer.text)
    return message


async def asked(http: httpx2.AsyncClient, url: str, number: int, headers: Mapping[str, str]) -> str:
    """The name that the server has for who sends this."""
    message, needed = modern(call(number))
    answer = await http.post(url, json=message, headers={**needed, **headers})
    assert answer.status_code == 200, answer.text
    client: str = told(answer)["result"]["structuredContent"]["client"]
    return client


async def test_headers_alone_make_nobody() -> None:
    async with serving(AT) as server, http_client() as http, http_client("127.0.0.2") as other:
        names = {await asked(http, server.where, 1, headers) for n in range(3) for headers in made_up(n)}
        assert names == {"address:127.0.0.1"}
        assert await asked(other, server.where, 1, {}) == "address:127.0.0.2"


async def test_a_session_that_exists_is_a_client() -> None:
    async with serving(AT) as server, http_client() as http:
        first, second = [await open_session(server.where, http) for _ in range(2)]
        found = [
            told(await session.post(call(1)))["result"]["structuredContent"]["client"]
            for session in (first, second)
        ]
        assert found == [f"session:{session.headers['Mcp-Session-Id']}" for session in (first, second)]


async def test_a_token_is_a_client_whatever_its_sessions() -> None:
    async with (
        serving(AT, access=TOKENS) as server,
        http_client(Authorization=f"Bearer {ALICE}") as alice,
        http_client(Authorization=f"Bearer {BOB}") as bob,
    ):
        session = await open_session(server.where, alice)
        answer = await session.post(call(1))
        assert told(answer)["result"]["structuredContent"]["client"] == "token:alice"
        assert await asked(alice, server.where, 1, {"Mcp-Session-Id": "made-up"}) == "token:alice"
        assert await asked(bob, server.where, 1, {}) == "token:bob"
        # Nor is a session anybody else's.
        stolen = await bob.post(server.where, json=call(2), headers=session.headers)
        assert stolen.status_code == 404
        assert (await session.post(call(3))).status_code == 200


@pytest.mark.parametrize("access", [None, TOKENS])
async def test_subscriptions_take_no_place_from_calls(access: Access | None) -> None:
    hers = {"Authorization": f"Bearer {ALICE}"} if access else {}
    his = {"Authorization": f"Bearer {BOB}"} if access else {}
    refused: list[dict[str, Any]] = []
    opened = 0

    async def listen(number: int) -> None:
        nonlocal opened
        message, headers = modern(LISTEN)
        claims = {**made_up(number)[number % 3], **hers}
        async with http.stream("POST", server.where, json=message, headers={**headers, **claims}) as answer:
            if answer.headers["content-type"] == "application/json":
                refused.append(json.loads(await answer.aread()))
                return
            lines = answer.aiter_lines()  # held, or it would close the connection
            await anext(lines)
            opened += 1
            await anyio.sleep_forever()

    async with (
        serving(AT, bench=Listening(), access=access) as server,
        http_client() as http,
        http_client(**his) as other,
        http_client("127.0.0.2", **his) as stranger,
        anyio.create_task_group() as tasks,
    ):
        session = await open_session(server.where, other)
        for number in range(WISHES):
            tasks.start_soon(listen, number)
        while opened + len(refused) < WISHES:
            await anyio.sleep(0.01)
        assert opened == 64
        assert {answer["error"]["code"] for answer in refused} == {BUSY}
        assert "64 subscriptions from this address or token are in flight" in refused[0]["error"]["message"]
        # Calls, newcomers, and the subscriptions of somebody else.
        assert told(await session.post(call(1)))["result"]
        assert await asked(other, server.where, 2, {})
        await open_session(server.where, stranger)
        message, headers = modern(LISTEN)
        async with stranger.stream("POST", server.where, json=message, headers=headers) as answer:
            assert answer.headers["content-type"] == "text/event-stream"
        tasks.cancel_scope.cancel()


async def test_sessions_of_one_address_cannot_take_every_place() -> None:
    settings = AcuitySettings(calls=16, calls_each=8, grace=0.2)
    async with (
        serving(AT, settings=settings) as server,
        http_client() as http,
        http_client("127.0.0.2") as other,
        anyio.create_task_group() as tasks,
    ):
        sessions = [await open_session(server.where, http) for _ in range(4)]
        for number in range(12):
            tasks.start_soon(sessions[number // 4].post, call(number, "wait"))
        await server.bench.started.reaches(12)
        full = told(await sessions[3].post(call(99, "wait")))["error"]
        assert full["code"] == BUSY
        assert full["message"].startswith("12 requests from this address or token are in flight")
        newcomer = await open_session(server.where, other)
        assert told(await newcomer.post(call(1)))["result"]
        server.bench.release.set()


@pytest.mark.parametrize("access", [None, TOKENS])
async def test_one_client_cannot_fill_the_queue(tmp_path: Path, access: Access | None) -> None:
    hers = {"Authorization": f"Bearer {ALICE}"} if access else {}
    his = {"Authorization": f"Bearer {BOB}"} if access else {}
    pair = raw_pair(tmp_path, LONG)

    async def submit(http: httpx2.AsyncClient, number: int, claims: Mapping[str, str]) -> dict[str, Any]:
        message, headers = modern(call(number, "submit_job", tool="vmaf_score", arguments=pair))
        answer = await http.post(url, json=message, headers={**headers, **claims})
        document: dict[str, Any] = json.loads(told(answer)["result"]["content"][0]["text"])
        return document

    async with (
        product_on_http(tmp_path, access) as url,
        http_client() as http,
        http_client("127.0.0.2", **his) as other,
    ):
        answers = [await submit(http, n, {**made_up(n)[n % 3], **hers}) for n in range(80)]
        taken = [answer for answer in answers if "job_id" in answer]
        assert len(taken) == 49  # one runs, 48 are three quarters of the queue
        assert "your share of the queue is full (48 waiting)" in answers[-1]["error"]
        assert (await submit(other, 1, {}))["status"] == "queued"


async def test_an_address_that_opens_many_sessions_ends_its_own() -> None:
    settings = AcuitySettings(max_sessions=8, max_sessions_each=4, safe_idle=0, grace=0.2)
    async with (
        serving(AT, settings=settings) as server,
        http_client() as http,
        http_client("127.0.0.2") as other,
    ):
        victim = await open_session(server.where, other)
        mine = [await open_session(server.where, http) for _ in range(40)]
        assert (await victim.post(call(1))).status_code == 200
        alive = [(await session.post(call(1))).status_code for session in mine]
        assert alive == [404] * 36 + [200] * 4


async def test_open_streams_of_one_address_keep_no_newcomers_out() -> None:
    settings = AcuitySettings(max_sessions=8, max_sessions_each=4, safe_idle=0, grace=0.2)
    async with (
        serving(AT, settings=settings) as server,
        http_client() as http,
        http_client("127.0.0.2") as other,
        anyio.create_task_group() as tasks,
    ):
        ended = 0

        async def hold(*, task_status: anyio.abc.TaskStatus[None]) -> None:
            nonlocal ended
            session = await open_session(server.where, http)
            async with http.stream("GET", server.where, headers=session.headers) as answer:
                assert answer.status_code == 200
                task_status.started()
                async for _ in answer.aiter_lines():
                    pass
                ended += 1

        for _ in range(4):
            await tasks.start(hold)
        # A stream that is open is no work: the oldest session makes room, and its stream ends.
        await open_session(server.where, http)
        with anyio.fail_after(10):
            while not ended:
                await anyio.sleep(0.01)
        assert ended == 1
        await open_session(server.where, other)
        tasks.cancel_scope.cancel()


async def test_who_has_the_most_sessions_makes_room_when_all_are_taken() -> None:
    settings = AcuitySettings(max_sessions=6, max_sessions_each=4, safe_idle=0, grace=0.2)
    async with (
        serving(AT, settings=settings) as server,
        http_client() as http,
        http_client("127.0.0.2") as other,
        http_client("127.0.0.3") as third,
    ):
        few = [await open_session(server.where, other) for _ in range(2)]
        many = [await open_session(server.where, http) for _ in range(4)]
        newcomer = await open_session(server.where, third)
        statuses = [(await session.post(call(1))).status_code for session in (*few, newcomer, *many)]
        assert statuses == [200, 200, 200, 404, 200, 200, 200]


async def test_a_request_that_begins_no_session_ends_none() -> None:
    settings = AcuitySettings(max_sessions=2, max_sessions_each=2, safe_idle=0, grace=0.2)
    async with serving(AT, settings=settings) as server, http_client() as http:
        sessions = [await open_session(server.where, http) for _ in range(2)]
        for method, body in (("POST", call(1)), ("GET", None), ("DELETE", None)):
            refused = await http.request(method, server.where, json=body, headers=ACCEPT)
            assert refused.status_code == 400
            assert "mcp-session-id" not in refused.headers
            assert "Missing session ID" in refused.json()["error"]["message"]
        unknown = await http.put(server.where, headers=ACCEPT)
        assert (unknown.status_code, unknown.headers["allow"]) == (405, "GET, POST, DELETE")
        assert [(await session.post(call(1))).status_code for session in sessions] == [200, 200]


async def test_silent_connections_of_one_address_keep_nobody_out() -> None:
    settings = AcuitySettings(
        connections=4, connections_each=4, grace=0.2
    )  # 16 connections, 8 of one address
    async with serving(AT, settings=settings) as server, http_client("127.0.0.2") as other:
        host, _, port = server.where.removeprefix("http://").removesuffix("/mcp").rpartition(":")
        silent = [await anyio.connect_tcp(host, int(port)) for _ in range(20)]
        for stream in silent:
            await stream.send(b"POST /mcp HTTP/1.1\r\n")
        said = await silent[-1].receive()
        assert said.startswith(b"HTTP/1.1 503")
        assert b"too many connections of this address" in said
        await open_session(server.where, other)
        for stream in silent:
            await stream.aclose()


@pytest.mark.parametrize("spelled", [str.upper, lambda text: f"{{{text}}}", lambda text: f"urn:uuid:{text}"])
async def test_a_connection_of_events_has_one_name_however_its_id_is_spelled(spelled: Any) -> None:
    at = Http(LOCAL, frozenset({"sse"}))
    async with (
        serving(at) as server,
        http_client() as http,
        http.stream("GET", server.where) as answer,
    ):
        lines = answer.aiter_lines()

        async def data() -> str:
            async for line in lines:
                if line.startswith("data: "):
                    return line[6:]
            raise AssertionError("it ended")

        where = await data()
        base, _, session = where.partition("session_id=")
        await http.post(httpx2.URL(server.where).join(where), json=HELLO)
        await data()
        names = []
        for number, text in enumerate((session, spelled(session))):
            url = httpx2.URL(server.where).join(f"{base}session_id={text}")
            await http.post(url, json=call(number + 1))
            names.append(json.loads(await data())["result"]["structuredContent"]["client"])
        assert names == [f"sse:{session}"] * 2


async def test_a_token_is_a_client_at_sse_too() -> None:
    at = Http(LOCAL, frozenset({"sse"}))
    hers = {"Authorization": f"Bearer {ALICE}"}
    async with (
        serving(at, access=TOKENS) as server,
        sse_client(server.where, headers=hers) as streams,
        ClientSession(*streams) as session,
    ):
        await session.initialize()
        found = await session.call_tool("echo", {})
        assert found.structured_content == {"text": "", "client": "token:alice"}
