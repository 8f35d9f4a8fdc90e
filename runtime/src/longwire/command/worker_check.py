"""Hold a worker of any language to the worker contract: each case in a sentence, and what came of it.

    longwire worker-check /run/my-worker.sock
    longwire worker-check --command "php worker.php --socket {socket}"

With --command the worker is started, with the socket's path in the place of {socket} or after --socket at
the end, and ended afterwards. Cases that need a tool that the worker doesn't have are skipped;
runtime/docs/worker-contract.md describes the tools. The exit code is 1 if a case failed."""

from __future__ import annotations

import argparse
import asyncio
import json
import shlex
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from longwire.command.program import FAILED, OK, TerminalLines
from longwire.errors import UsageError

if TYPE_CHECKING:
    from longwire.contract.check.run import CaseReport

USAGE: Final = "[SOCKET] [--command COMMAND] [--only CASE] [--json]"
_LEAST: Final = 30  # columns for a sentence beside the names; in fewer it is below them
_COLOURS: Final = {"passed": "green", "failed": "red", "skipped": "yellow"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "socket", nargs="?", metavar="SOCKET", help="the Unix socket that the worker listens on"
    )
    parser.add_argument("--command", metavar="COMMAND", help="start the worker by this command, and end it")
    parser.add_argument(
        "--only", action="append", default=[], metavar="CASE", help="run this case; repeatable"
    )
    parser.add_argument("--seconds", type=float, default=10.0, metavar="S", help="time for one answer (10)")
    parser.add_argument("--list", action="store_true", help="print the cases and stop")
    parser.add_argument("--schemas", action="store_true", help="print the JSON Schemas and stop")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(arguments: argparse.Namespace) -> int:
    from longwire.contract.check.run import CASES, document

    if arguments.schemas:
        from longwire.contract.envelopes import schemas_text

        print(schemas_text(), end="")
        return OK
    if arguments.list:
        rows = [(case.name, case.requires) for case in CASES]
        print("\n".join(TerminalLines(sys.stdout).columns(rows)))
        return OK
    names = [case.name for case in CASES]
    for name in arguments.only:
        if name not in names:
            raise UsageError(f"'{name}' is no case: use one of {', '.join(names)}")
    if arguments.seconds <= 0:
        raise UsageError(f"--seconds is {arguments.seconds:g}: it should be more than 0")
    reports = asyncio.run(
        _checked(arguments, _printer(TerminalLines(sys.stdout)) if not arguments.json else lambda _: None)
    )
    if arguments.json:
        print(json.dumps(document(reports), indent=2, ensure_ascii=False))
    else:
        print(f"\n  {_summary(reports)}")
    return FAILED if any(report.outcome == "failed" for report in reports) else OK


async def _checked(arguments: argparse.Namespace, tell: Callable[[CaseReport], None]) -> list[CaseReport]:
    from longwire.contract.check.run import check_worker, started

    with tempfile.TemporaryDirectory(prefix="longwire-") as folder:
        path = Path(arguments.socket or Path(folder) / "worker.sock")
        only, seconds = arguments.only, arguments.seconds
        if arguments.command is None:
            if arguments.socket is None:
                raise UsageError("no worker is named: give the SOCKET that it listens on, or --command")
            return await check_worker(path, seconds=seconds, only=only, tell=tell)
        async with started(_words(arguments.command), path):
            return await check_worker(path, seconds=seconds, only=only, tell=tell)


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--command can't be read: {error}") from None
    if not words:
        raise UsageError("--command is empty: name a program")
    return words


def _printer(lines: TerminalLines) -> Callable[[CaseReport], None]:
    from longwire.contract.check.run import CASES

    width = max(len(case.name) for case in CASES)
    beside = len(f"  {'':7}  {'':{width}}  ")
    narrow = lines.terminal and lines.width - beside < _LEAST
    margin = 4 if narrow else beside

    def tell(report: CaseReport) -> None:
        outcome = lines.coloured(_COLOURS[report.outcome], f"{report.outcome:7}")
        first, *more = lines.paragraph(report.requires, margin)
        head = f"  {outcome}  {report.name:{width}}"
        said = [head.rstrip(), first] if narrow else [f"{head}  {first.lstrip()}"]
        said += more
        if report.reason:
            said += [lines.coloured("dim", line) for line in lines.paragraph(report.reason, margin)]
        print("\n".join(said), flush=True)

    return tell


def _summary(reports: list[CaseReport]) -> str:
    found = {name: sum(report.outcome == name for report in reports) for name in _COLOURS}
    return f"{len(reports)} case{'' if len(reports) == 1 else 's'}: " + ", ".join(
        f"{found[name]} {name}" for name in _COLOURS
    )
