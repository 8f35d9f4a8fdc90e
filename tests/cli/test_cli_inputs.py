"""More ways to name a video, in both commands: images, pipes, streams, addresses; and mistyped lines."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
import pytest

import acuity
from acuity.measure import BoundarySnapshot, Measurement
from cli_helpers import HEIGHT, WIDTH, Cli, Ran, Runner, encode, moving, start, y4m
from small_model import OVERFLOWING, small_document
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
    theirs = option.replace("-dis", "-dist").replace("-", "_").replace("__", "--")
    return theirs if command == "vmaf" else option


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
        with path.open("rb") as file:
            writer = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
        ran = start(module, line, stdin=writer.stdout)
        assert writer.stdout is not None
        writer.stdout.close()
        writer.wait(60)
        found = json.loads(ran.stdout)
        score = found["score"] if module == "main" else found["pooled_metrics"]["vmaf"]["mean"]
        assert score == truth.score


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
    streams = f"0: {WIDTH}x{HEIGHT} ffv1, 25 fps; 1: {WIDTH}x{HEIGHT} h264, 25 fps"
    assert f"has 2 video streams ({streams})" in ran.err
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


# ---- Figures that aren't what they look like: no number, or several models' under one ----


SIDE = 192  # the smallest that float_ms_ssim takes is 176


@pytest.fixture(scope="module")
def overflowing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "overflowing.json"
    path.write_text(json.dumps(small_document(svm=OVERFLOWING)))
    return path


@pytest.mark.parametrize("quiet", [[], ["-q"]])
def test_a_score_that_is_no_number_is_an_error(
    cli: Cli, clips: Path, tmp_path: Path, overflowing: Path, quiet: list[str]
) -> None:
    ref, dis, out = str(clips / "ref.y4m"), str(clips / "dis.y4m"), tmp_path / "out.json"
    options = ["-m", f"path={overflowing}", "-o", str(out), *quiet]
    vmaf = cli.vmaf("-r", ref, "-d", dis, "--json", *options)
    ours = cli.acuity("score", ref, dis, *options)
    assert (vmaf.code, ours.code) == (255, 1)
    for ran in (vmaf, ours):
        said = ran.err.splitlines()[-1]
        assert "the score 'vmaf' of frame 0 by " in said
        assert "is not a number: the model's arithmetic goes beyond all bounds, so check its file" in said
        assert ran.out == ""
    assert not out.exists()


# ---- features that are no number ------------------------------------------------------------


@pytest.fixture(scope="module")
def chessboards(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A chessboard and its inverse, for which float_ms_ssim is the root of a negative number."""
    folder = tmp_path_factory.mktemp("chess")
    squares = (np.indices((SIDE, SIDE)).sum(axis=0) % 2 * 255).astype(np.uint8)
    paths = folder / "ref.y4m", folder / "dis.y4m"
    for path, picture in zip(paths, (squares, 255 - squares), strict=True):
        frame = picture.tobytes() + bytes([128]) * (SIDE * SIDE // 2)
        path.write_bytes(y4m(frame * 2, width=SIDE, height=SIDE))
    return str(paths[0]), str(paths[1])


def test_a_feature_that_is_no_number_is_null_as_in_libvmaf(
    cli: Cli, chessboards: tuple[str, str], tmp_path: Path
) -> None:
    ref, dis = chessboards
    asked = ["-n", "--feature", "float_ms_ssim", "-q", "--json", "-o", str(tmp_path / "out")]
    ran = cli.vmaf("-r", ref, "-d", dis, *asked)
    assert ran.code == 0
    document = json.loads((tmp_path / "out").read_text())
    assert [frame["metrics"] for frame in document["frames"]] == [{"float_ms_ssim": None}] * 2
    assert set(document["pooled_metrics"]["float_ms_ssim"].values()) == {None}
    assert ran.err.startswith("vmaf: warning: float_ms_ssim of frame 0 and 1 more is not a number")


def test_a_metric_that_is_no_number(cli: Cli, chessboards: tuple[str, str]) -> None:
    ran = cli.acuity("score", *chessboards, "--metrics", "ms-ssim,psnr")
    assert ran.code == 0
    assert "not a number, see above" in ran.out
    assert "float_ms_ssim of frame 0 and 1 more is not a number" in ran.out
    document = json.loads(cli.acuity("score", *chessboards, "--metrics", "ms-ssim", "--json").out)
    assert document["metrics"][0]["mean"] is None
    assert [note["code"] for note in document["notes"]] == ["not-a-number"]
    quiet = cli.acuity("score", *chessboards, "--metrics", "ms-ssim", "-q")
    assert quiet.out == "nan\n"
    assert quiet.err.startswith("acuity: warning: float_ms_ssim of frame 0")


# ---- steered scores -------------------------------------------------------------------------


@pytest.fixture
def steered(listened: Runner) -> Runner:
    """Runs a command while an agent acts after the second frame."""

    def run(program: str, *options: str, act: Callable[[Measurement], object]) -> Ran:
        def listen(measurement: Measurement, at: BoundarySnapshot) -> None:
            if at.frames_fed == 2:
                act(measurement)

        return listened(program, *options, listen=listen)

    return run


def swap(measurement: Measurement) -> None:
    measurement.swap_model("vmaf", "vmaf_v0.6.1neg")


def thin_and_stop(measurement: Measurement) -> None:
    measurement.set_subsample(2)
    measurement.stop_after(3)


SWAPPED = (
    "steered: vmaf is vmaf_v0.6.1 in frames 0 to 1, vmaf_v0.6.1neg in frames 2 to 4, each with its own scale,"
    " so nothing is pooled over all frames"
)


def test_vmaf_has_a_score_for_each_of_two_models(steered: Runner) -> None:
    ran = steered("vmaf", act=swap)
    note, *scores = ran.err.splitlines()
    assert note == f"vmaf: warning: {SWAPPED}"
    said, numbers = zip(*(line.split(": ") for line in scores), strict=True)
    assert said == ("vmaf_v0.6.1 in frames 0 to 1", "vmaf_v0.6.1neg in frames 2 to 4")
    assert all(float(number) > 0 for number in numbers)


def test_acuity_says_it_in_every_way(steered: Runner) -> None:
    shown = steered("acuity", act=swap).out
    headlines = [line.split("  ")[-1].strip() for line in shown.splitlines() if line.startswith("  VMAF  ")]
    assert headlines == ["vmaf_v0.6.1 in frames 0 to 1", "vmaf_v0.6.1neg in frames 2 to 4"]
    assert f"warning: {SWAPPED}" in shown
    quiet = steered("acuity", "-q", act=swap)
    assert quiet.out == "nan\n"
    assert quiet.err == f"acuity: warning: {SWAPPED}\n"
    document = json.loads(steered("acuity", "--json", act=swap).out)
    assert ("steered", SWAPPED) in [(note["code"], note["text"]) for note in document["notes"]]
    assert document["score"] is document["models"][0]["mean"] is document["features"]["vmaf"]["mean"] is None
    assert all(part["mean"] > 0 for part in document["steering"]["segments"])
    assert [row["model"] for row in document["worst"]] == ["vmaf_v0.6.1"] * 2 + ["vmaf_v0.6.1neg"] * 3


def test_a_stop_and_a_subsample_are_said(steered: Runner) -> None:
    note, score = steered("vmaf", act=thin_and_stop).err.splitlines()
    said = (
        "one frame in 1 from frame 0 on, one frame in 2 from frame 2 on, so means lean towards the frames "
        "that were scored densely; stopped after frame 3"
    )
    assert note == f"vmaf: warning: steered: {said}"
    assert score.startswith("vmaf_v0.6.1: ")  # one model's
