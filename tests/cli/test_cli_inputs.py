"""More ways to name a video, in both commands: images, pipes, streams, addresses; and mistyped lines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest

import acuity
from cli_helpers import HEIGHT, WIDTH, Cli, Ran, Runner, encode, environment, moving
from web_server import serving


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ref.mkv and dis.mkv, both of them in both.mkv, and dis.mkv's frames as lossless images."""
    made = tmp_path_factory.mktemp("inputs")
    encode(made / "ref.mkv", moving(), codec="ffv1")
    encode(made / "dis.mkv", moving(noise=25), codec="libx264")
    with av.open(str(made / "both.mkv"), "w") as output:
        sources = [av.open(str(made / name)) for name in ("ref.mkv", "dis.mkv")]
        streams = [output.add_stream_from_template(source.streams.video[0]) for source in sources]
        for source, stream in zip(sources, streams, strict=True):
            for packet in source.demux(video=0):
                if packet.size:
                    packet.stream = stream
                    output.mux(packet)
            source.close()
    (made / "shots").mkdir()
    with av.open(str(made / "dis.mkv")) as source:
        for number, frame in enumerate(source.decode(video=0)):
            grey = frame.to_ndarray()[:HEIGHT]
            av.VideoFrame.from_ndarray(np.ascontiguousarray(grey), "gray").save(
                str(made / "shots" / f"shot.{number:04d}.png")
            )
    return made


def scored(command: str, cli: Cli, ref: object, dis: object, *options: str) -> float:
    """The score, from a run without complaints."""
    if command == "vmaf":
        ran = cli.vmaf("-r", str(ref), "-d", str(dis), "-q", *options)
        found = ran.err.splitlines()[-1].split(": ")[-1]
    else:
        ran = cli.acuity("score", str(ref), str(dis), "-q", *options)
        found = ran.out
    assert ran.code == 0, ran.err
    return float(found)


def spelled(command: str, option: str) -> str:
    return (
        option.replace("-dis", "-dist").replace("-", "_").replace("__", "--") if command == "vmaf" else option
    )


@pytest.mark.parametrize("name", ["shots", "shots/shot.%04d.png", "shots/*.png"])
def test_images(command: str, cli: Cli, folder: Path, name: str) -> None:
    whole = {scored(command, cli, folder / "shots", folder / pattern) for pattern in ("shots", name)}
    assert len(whole) == 1
    assert scored(command, cli, folder / "ref.mkv", folder / name) > 20


@pytest.mark.parametrize("suffix", [".mkv", ".ts"])
def test_a_container_by_pipe_has_the_file_s_score(folder: Path, tmp_path: Path, suffix: str) -> None:
    path = encode(tmp_path / f"dis{suffix}", moving(noise=25))
    truth = acuity.score(folder / "ref.mkv", path)
    for module, line in (
        ("main", ["score", str(folder / "ref.mkv"), "-", "--json"]),
        ("vmaf", ["-r", str(folder / "ref.mkv"), "-d", "-", "--json", "-o", "-", "--precision", "max"]),
    ):
        argv = [sys.executable, "-m", f"acuity.cli.{module}", *line]
        with path.open("rb") as file:
            writer = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
        ran = subprocess.run(
            argv,
            stdin=writer.stdout,
            capture_output=True,
            text=True,
            timeout=60,
            env=environment(),
            check=True,
        )
        assert writer.stdout is not None
        writer.stdout.close()
        writer.wait(60)
        found = json.loads(ran.stdout)
        assert (
            found["score"] if module == "main" else found["pooled_metrics"]["vmaf"]["mean"]
        ) == truth.score


def test_streams(command: str, cli: Cli, folder: Path) -> None:
    both, stream, ref, dis = folder / "both.mkv", "--stream", "--stream-ref", spelled(command, "--stream-dis")
    ref = spelled(command, ref)
    truth = scored(command, cli, folder / "ref.mkv", folder / "dis.mkv")
    assert scored(command, cli, both, both, ref, "0", dis, "1") == truth
    assert scored(command, cli, both, both, stream, "0", dis, "1") == truth
    assert scored(command, cli, folder / "ref.mkv", both, dis, "1") == truth


def test_several_streams_and_no_choice(score: Runner, command: str, folder: Path) -> None:
    ran = score(folder / "ref.mkv", folder / "both.mkv")
    assert ran.refused
    assert (
        f"has 2 video streams (0: {WIDTH}x{HEIGHT} ffv1, 25 fps; 1: {WIDTH}x{HEIGHT} h264, 25 fps)" in ran.err
    )
    assert ran.err.rstrip().endswith(f"choose one with {spelled(command, '--stream-dis')}")
    ran = score(folder / "ref.mkv", folder / "both.mkv", spelled(command, "--stream-dis"), "2")
    assert ran.refused
    assert "no video stream 2: it has 2, counted from 0" in ran.err
    assert score(folder / "ref.mkv", folder / "both.mkv", "--stream", "one").code == 1


def test_addresses(score: Runner, command: str, cli: Cli, folder: Path) -> None:
    allow = spelled(command, "--allow-network")
    truth = scored(command, cli, folder / "ref.mkv", folder / "dis.mkv")
    with serving((folder / "dis.mkv").read_bytes()) as server:
        ran = score(folder / "ref.mkv", server.address("ranges"))
        assert ran.refused
        assert ran.err.rstrip().endswith(f"is on the network, and only local files are read: pass {allow}")
        assert server.requests == []
        for how in ("ranges", "plain"):
            assert scored(command, cli, folder / "ref.mkv", server.address(how), allow) == truth
        ran = score(folder / "ref.mkv", server.address("cut"), allow)
        assert ran.refused
        assert "was lost after" in ran.err


def test_mistyped_lines(cli: Cli, clips: Path) -> None:
    def said(*argv: str) -> Ran:
        ran = cli.acuity("score", *argv)
        assert ran.code == 1
        assert ran.err.endswith("Try 'acuity score --help'.\n")
        return ran

    assert said("a", "b", "c").err.startswith("acuity: unexpected argument 'c': a call scores one encode")
    for line in (["--modle", "x", "a", "b"], ["a", "b", "--modle=x"]):
        assert said(*line).err.startswith("acuity: unknown option '--modle'; did you mean '--model'?\n")
    assert said("a", "b", "--skip-rfe", "1").err.startswith(
        "acuity: unknown option '--skip-rfe'; did you mean '--skip-ref'?\n"
    )
    assert said("a", "b", "--qqq").err.startswith("acuity: unknown option '--qqq'\n")
    assert said("a", "b", "-Z").err.startswith("acuity: unknown option '-Z'\n")
    ran = cli.acuity("models", "vmaf")
    assert (ran.code, ran.err.splitlines()[0]) == (1, "acuity: unexpected argument 'vmaf': leave it out")
