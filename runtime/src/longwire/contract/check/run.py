"""Runs the cases against a worker, one after another, and says what came of each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from longwire.contract.check import basic_cases, call_cases, frame_cases
from longwire.contract.check.probe import Bench, Case, Failed, Skipped
from longwire.contract.envelopes import command_with_socket, worker_environment
from longwire.errors import SettingsError
from longwire.supervised_process import SupervisedProcess
from longwire.text import one_line, shortened

Outcome: TypeAlias = Literal["passed", "failed", "skipped"]
CASES: Final[Sequence[Case]] = (*basic_cases.CASES, *call_cases.CASES, *frame_cases.CASES)
DOCUMENT: Final = "longwire.worker_check/1"
_ALWAYS: Final = frozenset({"hello", "initialize"})  # the others need what these find out
_CASE_SECONDS: Final = 6.0  # times the time of one answer: no case takes longer
_START_SECONDS: Final = 30.0  # until a started worker listens
_END_SECONDS: Final = 5.0


class CaseReport(NamedTuple):
    """The outcome of one case."""

    name: str
    requires: str
    outcome: Outcome
    reason: str = ""
    seconds: float = 0.0

    def document(self) -> dict[str, Any]:
        return {**self._asdict(), "seconds": round(self.seconds, 3)}


async def check_worker(
    path: Path,
    *,
    seconds: float = 10.0,
    only: Collection[str] = (),
    tell: Callable[[CaseReport], None] = lambda _: None,
) -> list[CaseReport]:
    """The reports of all cases, or of those named; `seconds` is what one answer may take.

    SettingsError: nobody says hello at this socket.
    """
    bench, reports = Bench(path, seconds), []
    for case in CASES:
        wanted = not only or case.name in only
        if not wanted and case.name not in _ALWAYS:
            continue
        report = await _tried(bench, case)
        if wanted:
            reports.append(report)
            tell(report)
        if case.name == "hello" and report.outcome == "failed":
            raise SettingsError(f"there is no worker to check: {report.reason}")
    return reports


async def _tried(bench: Bench, case: Case) -> CaseReport:
    begun = time.monotonic()
    outcome: Outcome = "passed"
    reason = ""
    try:
        if case.needs and case.needs not in bench.tools:
            raise Skipped(f"the worker has no tool '{case.needs}'")
        async with asyncio.timeout(_CASE_SECONDS * bench.seconds):
            await case.run(bench, await (bench.connect() if case.greeted else bench.open()))
    except Failed as failed:
        outcome, reason = "failed", str(failed)
    except Skipped as skipped:
        outcome, reason = "skipped", str(skipped)
    except TimeoutError:
        outcome, reason = "failed", f"it took longer than {_CASE_SECONDS * bench.seconds:g} s"
    problems = bench.end_case()
    if problems:  # what a case itself finds is mostly the consequence
        outcome, reason = "failed", problems[0]
    return CaseReport(case.name, case.requires, outcome, one_line(reason), time.monotonic() - begun)


@asynccontextmanager
async def started(command: Sequence[str], path: Path) -> AsyncIterator[None]:
    """The worker of a command while the block lasts, once it listens; raises SettingsError."""
    words, variables = command_with_socket(command, str(path)), worker_environment("check", str(path))
    process = SupervisedProcess(words, lambda: None, environment=variables, killed_with_parent=True)
    process.start()
    try:
        listens = await process.connected(asyncio.Protocol, str(path), _START_SECONDS)
        if listens is None and process.gone.is_set():
            said = shortened(one_line(process.tail.strip()), 300)
            raise SettingsError(f"the worker ended before it listened; its last words: {said or 'none'}")
        if listens is None:
            raise SettingsError(f"the worker did not listen at '{path}' within {_START_SECONDS:g} s")
        listens.close()
        yield
    finally:
        await process.end(_END_SECONDS)


def document(reports: Sequence[CaseReport]) -> dict[str, Any]:
    """The reports as one document of JSON."""
    counts = {outcome: sum(r.outcome == outcome for r in reports) for outcome in get_args(Outcome)}
    return {"schema": DOCUMENT, **counts, "cases": [report.document() for report in reports]}
