"""Who a client is: nothing that it may write into a header makes it another, and nobody locks others out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.server.subscriptions import InMemorySubscriptionBus

from acuity.agents.settings import AcuitySettings
from longwire.endpoints import Http
from longwire.guard.access import Access
from longwire.guard.tokens import Tokens
from longwire.principals.limits import BUSY
from longwire.product.catalog import Catalog
from longwire.tasks.listen import Listen
from product_server import LONG, product_on_http, raw_pair
from raw_http import HELLO, call, http_client, modern, open_session
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
