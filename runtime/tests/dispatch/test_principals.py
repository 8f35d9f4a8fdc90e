"""Principals in the runtime, without I/O: what each may see and call, and what ends with it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from fake_responder import FakeResponder
from longwire.counters import RuntimeCounters
from longwire.dispatch.streamable import Streamable
from longwire.guard.access import Access
from longwire.journal.journal import Journal
from longwire.principals.limits import CallLimits
from longwire.principals.principal import PRINCIPAL, Holders, Principal
from longwire.principals.rates import parse_rate
from longwire.product.app import build_server
from longwire.sessions.registry import Sessions
from longwire.settings import Settings
from longwire.wire.http.request import Request
from longwire.wire.serving import Serving
from raw_http import ACCEPT, HELLO, call, modern
from transport_bench import Bench

ALICE = Principal.of_token("alice")
BOB = Principal.of_token("bob", tools=frozenset({"echo", "st*"}))
ERAS = ["session", "stateless"]


class Runtime:
    """The runtime of a server with the bench's tools."""

    def __init__(self, settings: Settings | None = None) -> None:
        settings = settings or Settings()
        self.bench = Bench()
        limits = CallLimits(settings)
        server = build_server(self.bench.catalog(), name="t", version="1", middleware=[limits])
        self.counters = RuntimeCounters()
        self.sessions = Sessions(settings.wire_limits(), Journal(), self.counters)
        serving = Serving(server, settings.wire_limits(), {}, Access())
        self.streamable = Streamable(serving, self.sessions, self.counters)

    def send(
        self, principal: Principal, method: str, headers: dict[str, str], body: Any = None
    ) -> FakeResponder:
        """Hand in a request as the checks in front of the runtime do."""
        named = {name.lower(): value for name, value in headers.items()}
        content = b"" if body is None else json.dumps(body).encode()
        request, responder = Request(method, "/mcp", headers=named, body=content), FakeResponder()
        request.principal = principal
        before = PRINCIPAL.set(principal)
        try:
            self.streamable.handle(request, responder)
        finally:
            PRINCIPAL.reset(before)
        return responder

    async def open(self, principal: Principal) -> dict[str, str]:
        """The headers of a new session."""
        answer = await over(self.send(principal, "POST", ACCEPT, HELLO))
        session_id = {name.lower(): value for name, value in answer.headers.items()}[b"mcp-session-id"]
        return {**ACCEPT, "Mcp-Session-Id": session_id.decode(), "MCP-Protocol-Version": "2025-11-25"}

    async def ask(self, era: str, principal: Principal, message: dict[str, Any]) -> FakeResponder:
        if era == "session":
            return await over(self.send(principal, "POST", await self.open(principal), message))
        body, headers = modern(message)
        return await over(self.send(principal, "POST", headers, body))


async def over(responder: FakeResponder) -> FakeResponder:
    """The responder once its answer is complete."""
    while not responder.ended:
        await asyncio.sleep(0)
    return responder


def result(responder: FakeResponder) -> Any:
    assert responder.status == 200, responder.body
    return json.loads(responder.body)["result"]


@pytest.mark.parametrize("era", ERAS)
async def test_each_request_is_its_principals(era: str) -> None:
    runtime = Runtime()
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    for principal, names in (
        (ALICE, "echo wait turns steps shout"),
        (BOB, "echo steps"),
        (ALICE, "echo wait"),
    ):
        listed = result(await runtime.ask(era, principal, listing))["tools"]
        assert " ".join(tool["name"] for tool in listed).startswith(names)
        assert len(listed) == (2 if principal is BOB else 5)
    refused = result(await runtime.ask(era, BOB, call(1, "turns")))
    assert refused["isError"] is True
    assert "unknown tool: turns; there are echo, steps" in refused["content"][0]["text"]
    assert not result(await runtime.ask(era, ALICE, call(1, "turns"))).get("isError")


@pytest.mark.parametrize("era", ERAS)
async def test_rates_are_the_principals_whatever_the_session(era: str) -> None:
    runtime = Runtime(Settings(tool_rates={"echo": parse_rate("2/min")}))
    statuses = [(await runtime.ask(era, ALICE, call(n))).status for n in range(4)]
    assert statuses == [200, 200, 429, 429]
    last = await runtime.ask(era, ALICE, call(9))
    document = json.loads(last.body)
    assert document["id"] == 9
    assert document["error"]["code"] == -32010
    assert last.headers[b"retry-after"] == str(document["error"]["data"]["retryAfter"]).encode() == b"30"
    assert (await runtime.ask(era, BOB, call(1))).status == 200
    assert (await runtime.ask(era, ALICE, call(1, "turns"))).status == 200


async def test_what_a_token_opened_ends_with_it_and_the_session_stays() -> None:
    runtime = Runtime()
    leaked, kept = replace(ALICE, proof=b"leaked"), replace(ALICE, proof=b"kept")
    session = await runtime.open(leaked)
    old_get, new_get = runtime.send(leaked, "GET", session), runtime.send(kept, "GET", session)
    old_call = runtime.send(leaked, "POST", session, call(1, "wait"))
    new_call = runtime.send(kept, "POST", session, call(2, "wait"))
    body, headers = modern(call(3, "wait"))
    alone = runtime.send(leaked, "POST", headers, body)
    await runtime.bench.started.reaches(3)
    runtime.streamable.end_gone(Holders(proofs=frozenset({b"leaked"})))
    await runtime.bench.cancelled.reaches(2)
    for responder in (old_get, old_call, alone):
        await over(responder)
    assert not new_get.ended
    assert not new_call.ended
    assert (await over(runtime.send(kept, "POST", session, call(4)))).status == 200
    runtime.streamable.end_gone(Holders(frozenset({ALICE.key})))
    await over(new_call)


async def test_what_a_principal_has_open_ends_with_it() -> None:
    runtime = Runtime()
    alice, bob = await runtime.open(ALICE), await runtime.open(BOB)
    alices, bobs = runtime.send(ALICE, "GET", alice), runtime.send(BOB, "GET", bob)
    in_session = runtime.send(ALICE, "POST", alice, call(1, "wait"))
    body, headers = modern(call(1, "wait"))
    alone = runtime.send(ALICE, "POST", headers, body)
    await runtime.bench.started.reaches(2)
    runtime.streamable.end_gone(Holders(frozenset({ALICE.key})))
    await runtime.bench.cancelled.reaches(2)
    for responder in (alices, alone, in_session):
        await over(responder)
    assert not bobs.ended
    assert runtime.send(ALICE, "POST", alice, call(2)).status == 404
    assert (await over(runtime.send(BOB, "POST", bob, call(2)))).status == 200
    assert len(runtime.sessions) == 1
