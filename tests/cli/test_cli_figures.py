"""Figures that aren't what they look like: no number, or several models' under one name. Commands say so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from acuity.measure import BoundarySnapshot, Measurement
from acuity.scoring.run import AttachCallback
from cli_helpers import Cli, Ran, y4m
from small_model import OVERFLOWING, small_document

SIDE = 192  # the smallest that float_ms_ssim takes is 176
# ---- scores that are no number --------------------------------------------------------------


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


def ask_vmaf(cli: Cli, chessboards: tuple[str, str], format: str, out: Path) -> Ran:
    ref, dis = chessboards
    line = ["-r", ref, "-d", dis, "-n", "--feature", "float_ms_ssim", "-q", f"--{format}", "-o", str(out)]
    return cli.vmaf(*line)


def test_a_feature_that_is_no_number_is_null_as_in_libvmaf(
    cli: Cli, chessboards: tuple[str, str], tmp_path: Path
) -> None:
    ran = ask_vmaf(cli, chessboards, "json", tmp_path / "out")
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


def steering(*, swap: str | None = None, subsample: int = 0, stop: int | None = None) -> AttachCallback:
    """What an agent does: all of it after the second frame."""

    def attach(measurement: Measurement, _: object) -> None:
        def steer(at: BoundarySnapshot) -> None:
            if at.frames_fed != 2:
                return
            if swap is not None:
                measurement.swap_model("vmaf", swap)
            if subsample:
                measurement.set_subsample(subsample)
            measurement.stop_after(stop)

        measurement.boundary.on_frame(steer)

    return attach


@pytest.fixture
def steered(monkeypatch: pytest.MonkeyPatch, clips: Path, cli: Cli):  # type: ignore[no-untyped-def]
    """Run a command while somebody steers."""

    def run(program: str, *options: str, **what: object) -> Ran:
        @contextmanager
        def embedded(*_: object) -> Iterator[AttachCallback]:
            yield steering(**what)  # type: ignore[arg-type]

        home = {"vmaf": "acuity.cli.vmaf", "acuity": "acuity.cli.score"}[program]
        monkeypatch.setattr(f"{home}.embedded", embedded)
        ref, dis = str(clips / "ref.y4m"), str(clips / "dis.y4m")
        return cli.score(program, ref, dis, *options)

    return run


SWAPPED = (
    "steered: vmaf is vmaf_v0.6.1 in frames 0 to 1, vmaf_v0.6.1neg in frames 2 to 4, each with its own scale,"
    " so nothing is pooled over all frames"
)


def test_vmaf_has_a_score_for_each_of_two_models(steered) -> None:  # type: ignore[no-untyped-def]
    ran = steered("vmaf", swap="vmaf_v0.6.1neg")
    note, *scores = ran.err.splitlines()
    assert note == f"vmaf: warning: {SWAPPED}"
    said, numbers = zip(*(line.split(": ") for line in scores), strict=True)
    assert said == ("vmaf_v0.6.1 in frames 0 to 1", "vmaf_v0.6.1neg in frames 2 to 4")
    assert all(float(number) > 0 for number in numbers)


def test_acuity_says_it_in_every_way(steered) -> None:  # type: ignore[no-untyped-def]
    shown = steered("acuity", swap="vmaf_v0.6.1neg").out
    headlines = [line.split("  ")[-1].strip() for line in shown.splitlines() if line.startswith("  VMAF  ")]
    assert headlines == ["vmaf_v0.6.1 in frames 0 to 1", "vmaf_v0.6.1neg in frames 2 to 4"]
    assert f"warning: {SWAPPED}" in shown
    quiet = steered("acuity", "-q", swap="vmaf_v0.6.1neg")
    assert quiet.out == "nan\n"
    assert quiet.err == f"acuity: warning: {SWAPPED}\n"
    document = json.loads(steered("acuity", "--json", swap="vmaf_v0.6.1neg").out)
    assert ("steered", SWAPPED) in [(note["code"], note["text"]) for note in document["notes"]]
    assert document["score"] is document["models"][0]["mean"] is document["features"]["vmaf"]["mean"] is None
    assert all(part["mean"] > 0 for part in document["steering"]["segments"])
    assert [row["model"] for row in document["worst"]] == ["vmaf_v0.6.1"] * 2 + ["vmaf_v0.6.1neg"] * 3


def test_a_stop_and_a_subsample_are_said(steered) -> None:  # type: ignore[no-untyped-def]
    note, score = steered("vmaf", subsample=2, stop=3).err.splitlines()
    said = (
        "one frame in 1 from frame 0 on, one frame in 2 from frame 2 on, so means lean towards the frames "
        "that were scored densely; stopped after frame 3"
    )
    assert note == f"vmaf: warning: steered: {said}"
    assert score.startswith("vmaf_v0.6.1: ")  # one model's
