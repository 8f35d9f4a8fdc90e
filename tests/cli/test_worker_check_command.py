"""`acuity worker-check`: its table, its document, its exit code, and what it says of a wrong command line."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from cli_helpers import Cli

_WORKER = """
import asyncio, sys
sys.path.insert(0, {folder!r})
from pathlib import Path
from check_target import odd_worker, reply
async def main():
    more = {{"id": "wrong"}} if "wrong" in sys.argv else {{}}
    async with odd_worker(Path(sys.argv[-1]), lambda frame: [reply(frame, **more)]):
        await asyncio.Event().wait()
asyncio.run(main())
"""


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = Path(__file__).parents[2] / "runtime" / "tests" / "contract"
    program = tmp_path_factory.mktemp("worker") / "worker.py"
    program.write_text(_WORKER.format(folder=str(folder)))
    return shlex.join([sys.executable, str(program)])


def test_a_worker_is_started_and_checked(cli: Cli, command: str) -> None:
    ran = cli.acuity("worker-check", "--command", command, "--only", "ping", "--only", "echo")
    assert ran.code == 0
    first = ran.out.splitlines()[0]
    assert " ".join(first.split()) == "passed ping Each ping is answered by a pong with its id."
    assert "the worker has no tool 'echo'" in ran.out
    assert ran.out.endswith("2 cases: 1 passed, 0 failed, 1 skipped\n")


def test_the_document_has_every_case(cli: Cli, command: str) -> None:
    only = ("--only", "two-connections", "--only", "ids")
    ran = cli.acuity("worker-check", "--command", command, *only, "--json")
    document = json.loads(ran.out)
    assert document["schema"] == "longwire.worker_check/1"
    assert (ran.code, document["passed"]) == (0, 2)
    assert document["cases"][0]["requires"] == "A reply has the id of its request: same value, same type."


def test_a_failed_case_is_an_exit_code(cli: Cli, command: str) -> None:
    ran = cli.acuity("worker-check", "--command", f"{command} wrong", "--only", "ids")
    assert ran.code == 1
    assert "a request with the id 7 was answered under 'wrong'" in ran.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "no worker is named: give the SOCKET that it listens on, or --command"),
        (("/nowhere/w.sock",), "nobody can be reached at '/nowhere/w.sock'"),
        (("--command", "false"), "the worker ended before it listened"),
        (("--command", "'"), "--command can't be read: No closing quotation"),
        (("--command", ""), "--command is empty: name a program"),
        (("x", "--only", "pong"), "'pong' is no case: use one of hello, ping"),
        (("x", "--seconds", "0"), "--seconds is 0: it should be more than 0"),
    ],
)
def test_what_can_t_be_checked(cli: Cli, arguments: tuple[str, ...], sentence: str) -> None:
    ran = cli.acuity("worker-check", *arguments)
    assert ran.code != 0
    assert sentence in ran.err


def test_cases_and_schemas_are_printed(cli: Cli) -> None:
    assert "  progress " in cli.acuity("worker-check", "--list").out
    assert "$defs" in json.loads(cli.acuity("worker-check", "--schemas").out)


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_a_terminal_s_lines_fit(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, command: str, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for arguments in (("--command", command, "--only", "ping", "--only", "echo"), ("--list",)):
        ran = cli.acuity("worker-check", *arguments)
        assert ran.code == 0
        assert "Each ping is answered by a pong with its id." in " ".join(ran.out.split())
        assert max(len(line) for line in ran.out.splitlines()) <= columns
