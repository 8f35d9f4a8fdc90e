"""worker-check: a right worker passes, and each way to break the contract is found by its case."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from check_target import HELLO, odd_worker, reply
from longwire.contract.check.run import CASES, CaseReport, check_worker, document
from longwire.errors import SettingsError

Frame = dict[str, Any]


def _checked(
    path: Path, odd: Callable[[Frame], list[Frame]], *only: str, seconds: float = 1.0, **hello: Any
) -> dict[str, CaseReport]:
    async def story() -> list[CaseReport]:
        async with asyncio.timeout(60), odd_worker(path, odd, {**HELLO, **hello}):
            return await check_worker(path, seconds=seconds, only=only)

    return {report.name: report for report in asyncio.run(story())}


def test_case_names_are_unique_and_each_says_what_it_requires() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert all(case.requires.endswith(".") for case in CASES)


def test_a_small_worker_passes_or_is_skipped(tmp_path: Path) -> None:
    names = [case.name for case in CASES if case.name not in ("cut", "silent")]
    found = _checked(tmp_path / "w", lambda frame: [reply(frame)], *names, seconds=20)
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
        (
            "unknown-method",
            lambda f: [reply(f, error={"code": -1, "message": "x"})],
            "has the code -1 instead",
        ),
        ("unknown-notification", lambda f: [_replied(f)], "a notification was answered with a reply"),
        ("initialize", lambda f: [reply(f, result={})], "the result has no 'protocolVersion'"),
        ("ids", lambda f: [{**reply(f), "id": 5}], "in a 'result' frame, 'id' is wrong"),
        (
            "ids",
            lambda f: [reply(f), {"event": "hallo"}],
            "a frame with the event 'hallo', which there is not",
        ),
        (
            "ids",
            lambda f: [{"event": "error", "id": f["id"], "error": "no", "error_class": "worker_lost"}],
            "ended with",
        ),
        ("session-end", lambda f: [], "within 1 s"),
        ("stateless", lambda f: [_listed(f, resultType=1)], "the 'resultType' 1"),
        ("stateless", lambda f: [_listed(f)], "no array 'supportedVersions'"),
    ],
)
def test_a_broken_worker_fails_its_case(
    tmp_path: Path, case: str, odd: Callable[[Frame], list[Frame]], reason: str
) -> None:
    report = _checked(tmp_path / "w", odd, case)[case]
    assert report.outcome == "failed"
    assert reason in report.reason


def _listed(frame: Frame, **more: Any) -> Frame:
    reply = {"jsonrpc": "2.0", "id": frame["jsonrpc"]["id"], "result": {"tools": [], **more}}
    return {"event": "result", "id": frame["id"], "jsonrpc": reply}


def _replied(frame: Frame) -> Frame:
    """An answer to everything, notifications too."""
    return {**reply(frame), "jsonrpc": {"jsonrpc": "2.0", "id": frame["jsonrpc"].get("id"), "result": {}}}


def test_another_contract_is_found_by_the_schema(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="'contract' is wrong"):
        _checked(tmp_path / "w", lambda frame: [reply(frame)], contract=2)


def test_a_socket_without_a_worker(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="nobody can be reached at"):
        asyncio.run(check_worker(tmp_path / "nothing"))
