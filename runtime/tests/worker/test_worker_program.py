"""Workers as programs: the example passes the checks, an App is run by name, and ends with its parent."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from longwire.contract.check.probe import Probe
from longwire.contract.check.run import CASES, check_worker, started
from waiting import until
from worker_ground import EXAMPLE, example, served

_APP = """
from longwire.worker import App
app = App("tiny", "1")
@app.tool()
def echo(text: str) -> str:
    return text
"""


async def test_the_example_passes_every_check(tmp_path: Path) -> None:
    app = example().app
    async with served(app, tmp_path / "w"):
        reports = await check_worker(tmp_path / "w")
    assert {report.name: report.reason for report in reports if report.outcome != "passed"} == {}
    assert len(reports) == len(CASES)


async def test_an_app_is_started_by_name_and_by_its_own_program(tmp_path: Path) -> None:
    (tmp_path / "tiny_app.py").write_text(_APP + "app.run()\n")
    named = [sys.executable, "-m", "longwire.worker", "tiny_app:app"]
    (tmp_path / "plain_app.py").write_text(_APP)
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        own = [sys.executable, str(tmp_path / "tiny_app.py")]
        by_name = [*named[:-1], "plain_app:app", "--socket", "{socket}"]
        for number, command in enumerate((own, by_name)):
            async with started(command, tmp_path / f"{number}"):
                reports = await check_worker(tmp_path / f"{number}", only=["echo"])
                assert [report.outcome for report in reports] == ["passed"]
    finally:
        os.chdir(before)


async def test_a_worker_ends_with_its_parent(tmp_path: Path) -> None:
    """The parent is a shell that starts the worker, says its id, and is killed."""
    socket = tmp_path / "w"
    code = (
        "import os, subprocess, sys, time\n"
        "environ = {**os.environ, 'LONGWIRE_PARENT_PID': str(os.getpid())}\n"
        f"command = [sys.executable, {str(EXAMPLE)!r}, '--socket', {str(socket)!r}]\n"
        "child = subprocess.Popen(command, env=environ)\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    try:
        await until(socket.exists)
        probe = await Probe.connect(socket, 10)
        await probe.greet()
        parent.kill()
        parent.wait()
        assert await probe.ended(10)
    finally:
        parent.kill()
        parent.stdout.close()
        parent.wait()
        _end(worker)


def _end(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nothing"], "'nothing' names no App: use MODULE:APP"),
        (["no_such_module_here:app"], "there is no module 'no_such_module_here' here"),
        (["json:loads"], "'loads' of 'json' is no App"),
    ],
)
def test_a_name_that_is_no_app(arguments: list[str], sentence: str) -> None:
    from longwire.worker.__main__ import load_app

    with pytest.raises(SystemExit) as ended:
        load_app(arguments[0])
    assert sentence in str(ended.value)


def test_a_worker_without_a_socket_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LONGWIRE_WORKER_SOCKET", raising=False)
    with pytest.raises(SystemExit) as ended:
        example().app.run([])
    assert ended.value.code == 2
    assert (
        "a worker needs a socket: use --socket PATH, or set LONGWIRE_WORKER_SOCKET" in capsys.readouterr().err
    )
