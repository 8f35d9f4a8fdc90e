"""Principals in the runtime, without I/O: what each may see and call, and what ends with it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from core_bench import CoreClient, Running, call, reply_of, running
from fake_responder import FakeResponder
from longwire.principals.principal import Holders, Principal
from longwire.principals.rates import parse_rate
from longwire.settings import Settings
from transport_bench import Bench

ALICE = Principal.of_token("alice")
BOB = Principal.of_token("bob", tools=frozenset({"echo", "st*"}))
ERAS = ["session", "stateless"]


def of(served: Running, principal: Principal) -> CoreClient:
    return CoreClient(served.core, principal)


async def ask(served: Running, era: str, principal: Principal, message: dict[str, Any]) -> FakeResponder:
    client = of(served, principal)
    answer = client.begin().post(message) if era == "session" else client.stateless(message)
    return await answer.over()


@pytest.mark.parametrize("era", ERAS)
async def test_each_request_is_its_principals(era: str) -> None:
    async with running(bench=Bench()) as served:
        listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        for principal, names in ((ALICE, "echo wait turns steps"), (BOB, "echo steps"), (ALICE, "echo wait")):
            listed = reply_of(await ask(served, era, principal, listing))["result"]["tools"]
            assert " ".join(tool["name"] for tool in listed).startswith(names)
            assert len(listed) == (2 if principal is BOB else 6)
        refused = reply_of(await ask(served, era, BOB, call(1, "turns")))["result"]
        assert refused["isError"] is True
        assert "unknown tool: turns; there are echo, steps" in refused["content"][0]["text"]
        assert not reply_of(await ask(served, era, ALICE, call(1, "turns")))["result"].get("isError")


@pytest.mark.parametrize("era", ERAS)
async def test_rates_are_the_principals_whatever_the_session(era: str) -> None:
    async with running(settings=Settings(tool_rates={"echo": parse_rate("2/min")})) as served:
        statuses = [(await ask(served, era, ALICE, call(n))).status for n in range(4)]
        assert statuses == [200, 200, 429, 429]
        last = await ask(served, era, ALICE, call(9))
        document = json.loads(last.body)
        assert (document["id"], document["error"]["code"]) == (9, -32010)
        assert last.headers[b"retry-after"] == str(document["error"]["data"]["retryAfter"]).encode() == b"30"
        assert (await ask(served, era, BOB, call(1))).status == 200
        assert (await ask(served, era, ALICE, call(1, "turns"))).status == 200


async def test_what_a_token_opened_ends_with_it_and_the_session_stays(served: Running) -> None:
    leaked = of(served, replace(ALICE, proof=b"leaked")).begin()
    kept = of(served, replace(ALICE, proof=b"kept"))
    kept.headers = leaked.headers
    old_get, new_get = leaked.get(), kept.get()
    old_call, new_call = leaked.post(call(1, "wait")), kept.post(call(2, "wait"))
    alone = of(served, leaked.principal).stateless(call(3, "wait"))
    await served.bench.started.reaches(3)
    served.core.end_gone(Holders(proofs=frozenset({b"leaked"})))
    await served.bench.cancelled.reaches(2)
    for responder in (old_get, old_call, alone):
        await responder.over()
    assert not new_get.ended
    assert not new_call.ended
    assert (await kept.post(call(4)).over()).status == 200


async def test_what_a_principal_has_open_ends_with_it(served: Running) -> None:
    alice, bob = of(served, ALICE).begin(), of(served, BOB).begin()
    alices, bobs = alice.get(), bob.get()
    in_session, alone = alice.post(call(1, "wait")), of(served, ALICE).stateless(call(1, "wait"))
    await served.bench.started.reaches(2)
    served.core.end_gone(Holders(frozenset({ALICE.key})))
    await served.bench.cancelled.reaches(2)
    for responder in (alices, alone, in_session):
        await responder.over()
    assert not bobs.ended
    assert alice.post(call(2)).status == 404
    assert (await bob.post(call(2)).over()).status == 200
    assert len(served.sessions) == 1
