"""`acuity worker-check`: its table, its document, its exit code, and what it says of a wrong command line."""

from __future__ import annotations

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


def test_a_failed_case_is_an_exit_code(cli: Cli, command: str) -> None:
    ran = cli.acuity("worker-check", "--command", f"{command} wrong", "--only", "ids")
    assert ran.code == 1
    assert "a request with the id 7 was answered under 'wrong'" in ran.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "no worker is named: give the SOCKET that it listens on, or --command"),
        (("x", "--only", "pong"), "'pong' is no case: use one of hello, ping"),
    ],
)
def test_what_can_t_be_checked(cli: Cli, arguments: tuple[str, ...], sentence: str) -> None:
    ran = cli.acuity("worker-check", *arguments)
    assert ran.code != 0
    assert sentence in ran.err
