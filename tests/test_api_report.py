"""What acuity.score() gives to Python programs: tables, reports, short texts, an asynchronous twin."""

from __future__ import annotations

import ast
import asyncio
import json
import math
import os
import pickle
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acuity
from moving_pictures import HEIGHT, WIDTH
from scoring_clips import raw, y4m

FRAMES = 7
PATIENCE = 20.0
RAW: dict[str, Any] = {"width": WIDTH, "height": HEIGHT, "pixel_format": "420", "bitdepth": 8}


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("clips")
    return raw(folder / "a.yuv", FRAMES), raw(folder / "b.yuv", FRAMES, worse=True)


@pytest.fixture(scope="module")
def report(clips: tuple[Path, Path]) -> acuity.ScoreReport:
    return acuity.score(*clips, metrics=["vmaf", "psnr"], fps=50, subsample=3, **RAW)


def test_texts_are_short(report: acuity.ScoreReport) -> None:
    assert str(report) == f"vmaf_v0.6.1 {report.score:.2f}, 3 of 7 frames of {WIDTH}x{HEIGHT}"
    assert repr(report) == f"<ScoreReport: {report}>"
    things = [report.results, report.models[0], acuity.load_model("vmaf_v0.6.1"), report.notes[0]]
    assert all(len(repr(thing)) < 250 for thing in things), things


def test_metrics_by_name(report: acuity.ScoreReport, clips: tuple[Path, Path]) -> None:
    assert report.metrics == {"vmaf": report.score, "psnr": report.pool("psnr_y")}
    models = ["vmaf_v0.6.1", "vmaf_v0.6.1neg:name=neg"]
    several = acuity.score(*clips, model=models, metrics="vmaf", **RAW)
    assert several.metrics == {"vmaf": several.pool("vmaf"), "neg": several.pool("neg")}


def test_a_table_for_numpy(report: acuity.ScoreReport) -> None:
    table = report.to_numpy()
    assert table.dtype.names is not None
    assert table.dtype.names == ("frame", "time", *report.results.columns)
    assert table["frame"].tolist() == [0, 3, 6]
    assert table["time"].tolist() == [0, 0.06, 0.12]
    np.testing.assert_array_equal(table["vmaf"], report.results.columns["vmaf"])


def test_times_that_nobody_knows(clips: tuple[Path, Path]) -> None:
    table = acuity.score(*clips, frames=1, **RAW).to_numpy()
    assert math.isnan(table["time"][0])


def test_a_table_for_pandas(report: acuity.ScoreReport) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = report.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.index.tolist() == [0, 3, 6]
    assert frame.vmaf.mean() == pytest.approx(report.score)


def test_reports_are_those_of_the_command(report: acuity.ScoreReport, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    report.write(path, precision="max")
    document = json.loads(path.read_text())
    assert document["acuity"]["subsample"] == 3
    assert document["frames"][1]["metrics"]["vmaf"] == report.results.columns["vmaf"][1]
    report.write(tmp_path / "report", format="csv")
    assert (tmp_path / "report").read_text().startswith("Frame,")
    with pytest.raises(acuity.OutputError, match=r"'.*report.txt' doesn't say its format: end it with"):
        report.write(tmp_path / "report.txt")
    report.write(tmp_path / "report.html")
    assert "vmaf_v0.6.1, one frame in 3</p>" in (tmp_path / "report.html").read_text()
    report.write(tmp_path / "plot.svg")
    assert (tmp_path / "plot.svg").read_text().startswith("<svg")


def test_strict_is_an_error_that_has_the_report(clips: tuple[Path, Path]) -> None:
    assert acuity.score(*clips, strict=True, **RAW).warnings == []
    with pytest.raises(acuity.StrictError, match=r"scored with a warning: .* ended before") as raised:
        acuity.score(*clips, strict=True, skip_dis=2, align="off", **RAW)
    assert raised.value.report.score > 0
    copied = pickle.loads(pickle.dumps(raised.value))  # as pools of processes do
    assert str(copied) == str(raised.value)
    assert repr(copied) == f"StrictError({str(copied)!r})"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"frames": 2.5}, "frames=2.5 is no whole number"),
        ({"subsample": True}, "subsample=True is no whole number"),
        ({"device": "0"}, "device='0' is no whole number"),
        ({"device": -1}, "device=-1 is no card: cards have numbers from 0 to 999999999"),
        ({"device": 10**5000}, "device is no card: cards have numbers from 0 to 999999999"),
        ({"model": None}, "model=None is no model"),
        ({"ref": None}, "ref=None is no video: pass a path"),
        ({"dis": 3}, "dis=3 is no video: pass a path"),
        ({"dis": np.zeros((2, 2))}, r"dis=array\(\[\[0., 0.\], .* is no video: .* acuity.Measurement"),
    ],
)
def test_arguments_that_are_none_of_theirs(
    clips: tuple[Path, Path], options: dict[str, Any], said: str
) -> None:
    given = {"ref": clips[0], "dis": clips[1], **options}
    with pytest.raises(acuity.AcuityError, match=said):
        acuity.score(**given, **RAW)


def test_whole_numbers_of_numpy_are_taken(clips: tuple[Path, Path]) -> None:
    assert len(acuity.score(*clips, frames=np.int64(3), **RAW).results.frames) == 3  # type: ignore[arg-type]


def test_the_worst_stretches(tmp_path: Path) -> None:
    pair = [raw(tmp_path / f"{worse}.yuv", 16, worse=worse) for worse in (False, True)]
    report = acuity.score(*pair, fps=25, **RAW)
    scores = report.results.columns["vmaf"]
    length = max(len(scores) // 4, 1)
    found = report.worst_segments(2)
    means = [scores[at : at + length].mean() for at in range(len(scores) - length + 1)]
    assert found[0]["mean"] == pytest.approx(min(means))
    assert (found[0]["first"], found[0]["last"]) == (
        report.results.frames[int(np.argmin(means))],
        report.results.frames[int(np.argmin(means)) + length - 1],
    )
    assert found[0]["start"] == report.time_of(found[0]["first"])
    assert not {*range(found[0]["first"], found[0]["last"] + 1)} & {
        *range(found[1]["first"], found[1]["last"] + 1)
    }


def test_no_model_has_no_worst_frames(clips: tuple[Path, Path]) -> None:
    report = acuity.score(*clips, metrics="psnr", **RAW)
    assert str(report).startswith("psnr ")
    with pytest.raises(acuity.FeatureError, match="no model was measured"):
        report.worst()
    with pytest.raises(ValueError, match="ask for 0 or more"):
        report.results.worst(-1, "psnr_y")


@pytest.mark.parametrize("fps", ["nonsense", 0, -25, "1/0", float("nan")])
def test_frame_rates_that_are_none(clips: tuple[Path, Path], fps: Any) -> None:
    with pytest.raises(acuity.InputError, match="is no frame rate: write it as 25 or 30000/1001"):
        acuity.score(*clips, fps=fps, **RAW)


def test_advice_can_be_followed_literally(clips: tuple[Path, Path]) -> None:
    """The remedy that an error names is valid Python, and settles it."""

    def small() -> acuity.VideoReader:
        return acuity.open_video(clips[1], **{**RAW, "height": HEIGHT // 2})

    with pytest.raises(acuity.PairingError) as raised:
        acuity.score(clips[0], small(), align="off", **RAW)
    advice = re.search(r"pass (\w+)=('\w+')", str(raised.value))
    assert advice is not None
    options = {advice[1]: ast.literal_eval(advice[2])}
    assert acuity.score(clips[0], small(), align="off", **options, **RAW).score > 0


def test_the_asynchronous_twin(clips: tuple[Path, Path]) -> None:
    async def both() -> list[acuity.ScoreReport]:
        return await asyncio.gather(*(acuity.score_async(*clips, **RAW) for _ in range(2)))

    expected = acuity.score(*clips, **RAW).score
    assert [report.score for report in asyncio.run(both())] == [expected, expected]


def test_cancelling_stops_the_measurement_and_closes_the_files(
    clips: tuple[Path, Path], tmp_path: Path
) -> None:
    """The distorted video comes from a pipe that never ends, so only the cancellation can end the call."""
    ours, theirs = os.pipe()
    os.write(theirs, y4m(tmp_path / "pipe.y4m", 3).read_bytes())
    began = threading.Event()

    async def scene() -> None:
        loop = asyncio.get_running_loop()
        fed = asyncio.Event()

        def progress(done: int, total: int | None, mean: float | None) -> None:
            began.set()
            loop.call_soon_threadsafe(fed.set)

        reference = acuity.open_video(clips[0], **RAW)
        task = asyncio.create_task(acuity.score_async(reference, f"/dev/fd/{ours}", progress=progress))
        await fed.wait()
        task.cancel()
        # Only where the cancellation does nothing: the end of the pipe lets the call return.
        stuck = loop.call_later(PATIENCE, os.close, theirs)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert stuck.when() > loop.time(), "the pipe had to be closed"
        stuck.cancel()
        with pytest.raises(acuity.InputError, match="closed"):
            reference.seek(0)

    try:
        asyncio.run(scene())
        assert began.is_set()
        os.close(theirs)
    finally:
        os.close(ours)
