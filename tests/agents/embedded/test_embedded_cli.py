"""`vmaf` and `acuity score` with a server inside."""

from __future__ import annotations

import json
import math
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acuity.cli.embedded import EmbeddedOptions
from acuity.cli.main import Parser
from acuity.cli.main import main as acuity
from acuity.cli.score_options import configure, embedding
from acuity.cli.vmaf import main as vmaf
from acuity.cli.vmaf.options import parse
from embedded_client import PATIENCE, Command, commanded, connected
from prepared_programs import Program
from scoring_clips import y4m

FRAMES = 1500  # enough that a command which waits in the pipe comes before the end
MODULES = {"vmaf": "acuity.cli.vmaf", "acuity": "acuity.cli.main"}
PROGRAMS = pytest.mark.parametrize("program", MODULES)


def videos(program: str, clips: tuple[str, str]) -> list[str]:
    return ["-r", clips[0], "-d", clips[1]] if program == "vmaf" else ["score", *clips]


def run(program: str, clips: tuple[str, str], *options: str) -> int:
    return {"vmaf": vmaf, "acuity": acuity}[program]([*videos(program, clips), *options])


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    ref, dis = (tmp_path_factory.mktemp("clips") / name for name in ("ref.y4m", "dis.y4m"))
    for path in (y4m(ref, 30), y4m(dis, 30, worse=True)):
        header, frames = path.read_bytes().split(b"\n", 1)
        path.write_bytes(header + b"\n" + frames * (FRAMES // 30))
    return str(ref), str(dis)


@contextmanager
def running(program: str, clips: tuple[str, str], *options: str) -> Iterator[Command]:
    """A command with a client, which has sent a wish to pause before it measures."""
    with commanded(MODULES[program], *videos(program, clips), "--threads", "1", *options) as command:
        command.client.send("tools/call", name="vmaf.pause", arguments={})
        yield command


def line_of(command: Command) -> str:
    return str(command.process.stderr.readline().rstrip())


def paused(command: Command) -> Any:
    """The answer to the wish that it was started with."""
    answer = command.client.receive()
    assert answer is not None, command.process.communicate()
    return answer["result"]["structuredContent"]


# ---- options ----------------------------------------------------------------------------------


def asked(program: str, *options: str) -> EmbeddedOptions:
    """What both commands make of the same options."""
    if program == "vmaf":
        return parse(["-r", "a", "-d", "b", *options]).embedded
    parser = Parser()
    configure(parser)
    return embedding(parser.parse_args(parser.joined([*options, "a", "b"])))


@PROGRAMS
@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (["--enable-mcp-http"], EmbeddedOptions(http=0)),
        (["--enable-mcp-http=8080"], EmbeddedOptions(http=8080)),
        (["--enable-mcp-http", "8080"], EmbeddedOptions(http=8080)),
        (["--mcp-wait", "--mcp-stay"], EmbeddedOptions(wait=math.inf, stay=math.inf)),
        (["--mcp-wait=2.5", "--mcp-stay", "10"], EmbeddedOptions(wait=2.5, stay=10.0)),
        (["--mcp-stay", "--mcp-stay-empty=9"], EmbeddedOptions(stay=math.inf, stay_empty=9.0)),
        (["--mcp-token-file", "t"], EmbeddedOptions(token_file="t")),
    ],
)
def test_values_that_may_be_left_out(program: str, options: list[str], wanted: EmbeddedOptions) -> None:
    assert asked(program, *options) == wanted


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--mcp-wait"],
            "option --mcp-wait needs a server: add --live or --enable-mcp-sse or --enable-mcp-ht",
        ),
        (["--mcp-stay=5"], "option --mcp-stay needs a server"),
        (["--mcp-stay=5", "--mcp-stay-empty=9", "--enable-mcp-sse=0"], "is for --mcp-stay without SECONDS"),
        (["--mcp-stay=soon", "--enable-mcp-sse=0"], "should be a number of seconds"),
        (["--enable-mcp-uds", ""], "should be the name of a file"),
        (["--enable-mcp-http="], "should be a port from 0 to 65535"),
        *(([f"--enable-mcp-sse={port}"], "should be a port from 0") for port in ("65536", "-1", "http", "")),
        (["--enable-mcp-uds", "s", "--mcp-token-file", "t"], "--mcp-token-file is for clients over HTTP"),
        (["--enable-mcp-sse=0", "--mcp-token-file", "none"], "can't read the token file 'none'"),
    ],
)
@PROGRAMS
def test_options_that_make_no_sense(
    capsys: pytest.CaptureFixture[str], program: str, options: list[str], sentence: str
) -> None:
    assert run(program, ("a", "b"), *options) == 1
    assert sentence in capsys.readouterr().err


def test_a_token_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ACUITY_MCP_TOKEN", "short")
    assert vmaf(["-r", "a", "-d", "b", "--enable-mcp-sse=0"]) == 1
    assert "the token in 'ACUITY_MCP_TOKEN' is shorter than 16 characters" in capsys.readouterr().err


@PROGRAMS
def test_descriptors_that_nobody_opened(program: str, clips: tuple[str, str]) -> None:
    command = [sys.executable, "-m", MODULES[program], *videos(program, clips), "--enable-mcp-stdio"]
    done = Program(command, stderr=subprocess.PIPE, text=True)
    _, err = done.communicate(timeout=PATIENCE)
    assert done.returncode == 1
    assert err == f"{program}: descriptor 3 is not open: start the command with it, as in 3< and 4>\n"


@PROGRAMS
def test_addresses_that_are_taken(
    capsys: pytest.CaptureFixture[str], clips: tuple[str, str], program: str, tmp_path: Path
) -> None:
    (tmp_path / "s").write_text("mine")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        # What was opened before goes, too.
        for sentence, *options in (
            ("is no socket", "--enable-mcp-uds", str(tmp_path / "s")),
            ("is in use already", "--enable-mcp-uds", str(tmp_path / "t"), "--enable-mcp-sse", port),
        ):
            assert run(program, clips, *options) == 1
            assert sentence in capsys.readouterr().err.splitlines()[-1]
    assert [file.name for file in tmp_path.iterdir()] == ["s"]


# ---- running ----------------------------------------------------------------------------------


@PROGRAMS
def test_it_can_be_watched_and_steered(program: str, clips: tuple[str, str], tmp_path: Path) -> None:
    report, path = tmp_path / "report.json", tmp_path / "s\x1b[1m"
    format = ["--json"] if program == "vmaf" else []
    options = ["--enable-mcp-stdio", "--enable-mcp-uds", str(path), "--enable-mcp-sse=0", "-q"]
    with running(program, clips, *options, "-o", str(report), *format) as command:
        assert line_of(command) == rf"{program}: agents may connect to {tmp_path}/s\x1b[1m"
        assert line_of(command).startswith(f"{program}: agents may connect to http://127.0.0.1:")
        assert paused(command)["paused"]
        first = command.client.call("vmaf.status")["frames_read"]
        assert command.client.call("vmaf.status")["frames_total"] == FRAMES
        assert f"frame {FRAMES} was not read yet" in command.client.refused("vmaf.score", index=FRAMES)
        with connected(path) as other:
            swapped = other.call("vmaf.request_model_swap", name="vmaf_v0.6.1neg")
            assert swapped["first"] == first
            other.call("vmaf.stop_after", frame=first + 9)
        command.client.call("vmaf.resume")
        out, err = command.process.communicate(timeout=PATIENCE)
    assert command.process.returncode == 0, err
    assert not path.exists()
    steering = json.loads(report.read_text())["acuity"]["steering"]
    before = [("vmaf_v0.6.1", 0, first - 1)] if first else []  # the pause may come before the first frame
    labels = [(s["label"], s["first"], s["last"]) for s in steering["segments"]]
    assert labels == [*before, ("vmaf_v0.6.1neg", first, first + 9)]
    assert steering["stopped_after"] == first + 9
    assert bool(out) is (program == "acuity")


@pytest.mark.parametrize(
    ("program", "number", "code"),
    [
        ("vmaf", signal.SIGINT, 130),
        ("vmaf", signal.SIGHUP, 129),
        ("acuity", signal.SIGTERM, 143),
        ("acuity", signal.SIGHUP, 129),
    ],
)
def test_signals_leave_what_was_measured_and_no_socket(
    program: str, number: signal.Signals, code: int, clips: tuple[str, str], tmp_path: Path
) -> None:
    path, report = tmp_path / "s", tmp_path / "report.json"
    options = ["--enable-mcp-stdio", "--enable-mcp-uds", str(path), "--mcp-stay", "-o", str(report)]
    options += ["--json"] if program == "vmaf" else []
    with running(program, clips, *options) as command:
        assert paused(command)["paused"]
        assert path.exists()
        frames = command.client.call("vmaf.status")["frames_read"]
        command.process.send_signal(number)
        command.process.communicate(timeout=PATIENCE)
        assert command.process.returncode == code
        assert command.client.receive() is None
    if number == signal.SIGHUP or not frames:
        assert list(tmp_path.iterdir()) == []
        return
    assert list(tmp_path.iterdir()) == [report]
    written = json.loads(report.read_text())
    assert len(written["frames"]) == written["acuity"]["partial"]["frames"] == frames


def test_an_unsteered_report_is_the_same_with_a_server(clips: tuple[str, str], tmp_path: Path) -> None:
    short = ["-r", clips[0], "-d", clips[1], "--frame_cnt", "20", "-q", "--json"]
    assert vmaf([*short, "-o", str(tmp_path / "alone.json")]) == 0
    assert vmaf([*short, "-o", str(tmp_path / "served.json"), "--enable-mcp-uds", str(tmp_path / "s")]) == 0
    alone, served = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("alone", "served"))
    for report in (alone, served):
        del report["fps"], report["acuity"]["command"]
    assert alone == served
    assert not (tmp_path / "s").exists()
