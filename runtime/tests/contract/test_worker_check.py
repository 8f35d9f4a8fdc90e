"""worker-check: a right worker passes, and each way to break the contract is found by its case."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from longwire.contract.check.run import CASES, CaseReport, check_worker, document
from longwire.errors import SettingsError
from scripted_worker import HELLO_BACK, Frame, ScriptedWorker, Wire, answering, listening

Odd = Callable[[Frame], list[Frame]]


async def _checked(
    odd: Odd, *only: str, seconds: float = 1.0, hello: Frame = HELLO_BACK
) -> dict[str, CaseReport]:
    """The reports on a worker that knows hello, ping and initialize, and answers messages oddly."""

    def script(wire: Wire, frame: Frame) -> None:
        if frame["event"] != "message":
            answering(wire, frame)
            return
        for answer in odd(frame):
            wire.send({"mode": "mcp", **answer})

    async with asyncio.timeout(60), listening(ScriptedWorker(script, hello)) as (path,):
        reports = await check_worker(Path(path), seconds=seconds, only=only)
    return {report.name: report for report in reports}


ABOUT = {"name": "odd", "version": "1"}
REPLIES: dict[str, Frame] = {
    "ping": {"result": {}},
    "initialize": {"result": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": ABOUT}},
}
UNKNOWN: Frame = {"error": {"code": -32601, "message": "unknown"}}


def reply(frame: Frame, **more: Any) -> Frame:
    """The result of a call; more of its reply may be given, such as another result."""
    rpc = frame["jsonrpc"]
    if "id" not in rpc:
        return {"event": "result", "id": frame["id"], "jsonrpc": None}
    usual: Frame = {} if more.keys() & {"result", "error"} else REPLIES.get(rpc["method"], UNKNOWN)
    document = {"jsonrpc": "2.0", "id": rpc["id"], **usual, **more}
    return {"event": "result", "id": frame["id"], "jsonrpc": document}


def test_case_names_are_unique_and_each_says_what_it_requires() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert all(case.requires.endswith(".") for case in CASES)


async def test_a_small_worker_passes_or_is_skipped() -> None:
    names = [case.name for case in CASES if case.name not in ("cut", "silent")]
    found = await _checked(lambda frame: [reply(frame)], *names, seconds=20)
    assert {name: r.reason for name, r in found.items() if r.outcome == "failed"} == {}
    assert found["echo"].reason == "the worker has no tool 'echo'"
    assert found["stateless"].reason == "the worker doesn't serve 2026-07-28"
    assert found["tools-list"].reason == "the worker doesn't declare the capability 'tools'"
    told = document(list(found.values()))
    assert told["failed"] == 0
    assert told["passed"] + told["skipped"] == len(names)


@pytest.mark.parametrize(
    ("case", "odd", "reason"),
    [
        ("ids", lambda f: [reply(f, id=str(f["jsonrpc"].get("id")))], "with the id 7 was answered under '7'"),
        ("interleaved", lambda f: [reply(f), reply(f)], "a call was answered twice"),
        ("interleaved", lambda f: [{**reply(f), "id": "other"}], "the worker sent no 'messages or result"),
        ("unknown-method", lambda f: [reply(f, error={"code": -1, "message": ""})], "the code -1 instead"),
        ("unknown-notification", lambda f: [_replied(f)], "a notification was answered with a reply"),
        ("initialize", lambda f: [reply(f, result={})], "the result has no 'protocolVersion'"),
        ("ids", lambda f: [{**reply(f), "id": 5}], "in a 'result' frame, 'id' is wrong"),
        ("ids", lambda f: [reply(f), {"event": "hallo"}], "a frame with the event 'hallo', which there is"),
        ("ids", lambda f: [{"event": "error", "id": f["id"], "error": "no"}], "ended with the error 'no'"),
        ("session-end", lambda f: [], "within 1 s"),
        ("stateless", lambda f: [reply(f, result={"tools": [], "resultType": 1})], "the 'resultType' 1"),
        ("stateless", lambda f: [reply(f, result={"tools": []})], "no array 'supportedVersions'"),
    ],
)
async def test_a_broken_worker_fails_its_case(case: str, odd: Odd, reason: str) -> None:
    report = (await _checked(odd, case))[case]
    assert report.outcome == "failed"
    assert reason in report.reason


def _replied(frame: Frame) -> Frame:
    """An answer to everything, notifications too."""
    return {**reply(frame), "jsonrpc": {"jsonrpc": "2.0", "id": frame["jsonrpc"].get("id"), "result": {}}}


async def test_another_contract_is_found_by_the_schema() -> None:
    with pytest.raises(SettingsError, match="'contract' is wrong"):
        await _checked(lambda frame: [reply(frame)], hello={**HELLO_BACK, "contract": 2})


async def test_a_socket_without_a_worker(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="nobody can be reached at"):
        await check_worker(tmp_path / "nothing")
