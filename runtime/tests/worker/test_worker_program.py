"""Workers as programs: an App is run by name or by its own program."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from longwire.contract.check.run import check_worker, started
from longwire.worker import App
from prepared_programs import starter

_APP = """
from longwire.worker import App
app = App("tiny", "1")
@app.tool()
def echo(text: str) -> str:
    return text
"""


async def test_an_app_is_started_by_name_and_by_its_own_program(tmp_path: Path) -> None:
    (tmp_path / "tiny_app.py").write_text(_APP + "app.run()\n")
    (tmp_path / "plain_app.py").write_text(_APP)
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        own = [*starter(), str(tmp_path / "tiny_app.py")]
        by_name = [*starter(), "-m", "longwire.worker", "plain_app:app", "--socket", "{socket}"]
        for number, command in enumerate((own, by_name)):
            async with started(command, tmp_path / f"{number}"):
                reports = await check_worker(tmp_path / f"{number}", only=["echo"])
                assert [report.outcome for report in reports] == ["passed"]
    finally:
        os.chdir(before)


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
        App("mine", "1").run([])
    assert ended.value.code == 2
    assert (
        "a worker needs a socket: use --socket PATH, or set LONGWIRE_WORKER_SOCKET" in capsys.readouterr().err
    )
