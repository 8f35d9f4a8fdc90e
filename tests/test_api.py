"""acuity.score(): files in, report out."""

from __future__ import annotations

import html
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acuity
from acuity.cli.vmaf import main as vmaf_main
from acuity.measure import Measurement
from moving_pictures import HEIGHT, WIDTH, measure
from scoring_clips import raw
from small_model import small_document


@pytest.fixture
def clips(tmp_path: Path) -> tuple[Path, Path]:
    return raw(tmp_path / "a.yuv", 7), raw(tmp_path / "b.yuv", 7, worse=True)


RAW: dict[str, Any] = {"width": WIDTH, "height": HEIGHT, "pixel_format": "420", "bitdepth": 8}


def test_a_pair_of_files_is_scored(clips: tuple[Path, Path]) -> None:
    report = acuity.score(*clips, **RAW)
    expected = measure(7, "vmaf_v0.6.1")
    np.testing.assert_array_equal(report.results.columns["vmaf"], expected.columns["vmaf"])
    assert report.score == expected.pool()
    assert report.model == "vmaf_v0.6.1"
    assert report.worst(1)[0][1] == report.pool(method="min")


def test_progress_is_told(clips: tuple[Path, Path]) -> None:
    told: list[tuple[int, int | None, float | None]] = []
    report = acuity.score(*clips, progress=lambda *state: told.append(state), **RAW)
    assert told[-1] == (7, 7, pytest.approx(report.score))


def test_the_report_is_plain_values(clips: tuple[Path, Path]) -> None:
    report = acuity.score(*clips, fps=Fraction(50), **RAW)
    data = json.loads(json.dumps(report.to_dict(pools=["p33"], worst=2, per_frame=True), allow_nan=False))
    assert data["score"] == data["models"][0]["mean"] == data["features"]["vmaf"]["mean"] == report.score
    assert data["frames"] == 7
    assert data["models"][0]["percentiles"]["p50"] == report.pool(method="p50")
    assert data["models"][0]["pools"] == {"p33": report.pool(method="p33")}
    assert [(entry["frame"], entry["score"]) for entry in data["worst"]] == report.worst(2)
    assert data["worst"][0]["time"] == report.worst(1)[0][0] / 50
    assert data["per_frame"]["vmaf"] == report.results.columns["vmaf"].tolist()
    assert data["model_chosen_by"] == "resolution"


def test_readers_can_be_handed_in(clips: tuple[Path, Path]) -> None:
    readers = [acuity.open_video(path, **RAW) for path in clips]
    report = acuity.score(readers[0], clips[1], **RAW)
    assert report.score == acuity.score(*clips, **RAW).score
    with pytest.raises(acuity.ModelError):
        acuity.score(clips[0], readers[1], model="vmaf_v9", **RAW)
    for reader in readers:  # also when nothing was scored
        with pytest.raises(acuity.InputError, match="closed"):
            reader.seek(0)


def test_names_may_give_the_geometry(clips: tuple[Path, Path]) -> None:
    named = [path.rename(path.with_name(f"{path.stem}_{WIDTH}x{HEIGHT}_420p.yuv")) for path in clips]
    report = acuity.score(*named)
    assert [note.code for note in report.notes] == ["guessed", "guessed", "display"]
    with pytest.raises(acuity.InputError, match="pass width="):
        acuity.score(*named, guess=False)


@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.parametrize(
    "asked",
    [
        {"model": [], "feature": ["vif"]},
        {"model": [], "metrics": ["vif"]},
        {"model": "vmaf_v1.0.16_5d0h"},
        {"model": ["vmaf_v1.0.16_5d0h:name=a", "auto"]},
        {"viewing": "phone"},
    ],
    ids=str,
)
def test_chroma_is_read_only_if_something_needs_it(
    clips: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: dict[str, object],
    wanted: bool,
) -> None:
    from acuity.features.vif import Vif

    for name in ("vmaf_v1.0.16_5d0h", "vmaf_v1.0.16_hfr_5d0h"):
        (tmp_path / f"{name}.json").write_text(json.dumps(small_document()))
    monkeypatch.setenv("ACUITY_MODEL_PATH", str(tmp_path))
    monkeypatch.setattr(Vif, "needs_chroma", wanted)
    planes: set[int] = set()
    add = Measurement.add

    def spy(self: Measurement, ref: acuity.Picture, dis: acuity.Picture) -> int:
        planes.update((len(ref.planes), len(dis.planes)))
        return add(self, ref, dis)

    monkeypatch.setattr(Measurement, "add", spy)
    acuity.score(*clips, **asked, **RAW)
    assert planes == {3 if wanted else 1}


def test_metrics_by_name(clips: tuple[Path, Path]) -> None:
    report = acuity.score(*clips, metrics="vmaf,psnr", **RAW)
    vmaf, psnr = report.to_dict()["metrics"]
    assert (vmaf["name"], vmaf["mean"]) == ("vmaf", report.score)
    assert (psnr["key"], psnr["mean"]) == ("psnr_y", report.pool("psnr_y"))
    alone = acuity.score(*clips, metrics=["psnr"], **RAW)
    assert (alone.models, alone.model, alone.to_dict()["score"]) == ([], None, None)
    assert np.isnan(alone.score)
    assert [headline.key for headline in alone.headlines] == ["psnr_y"]
    without = acuity.score(*clips, model=[], metrics=["vmaf"], **RAW)
    assert without.model == "vmaf_v0.6.1"
    with pytest.raises(acuity.FeatureError, match="unknown metric 'loudness'"):
        acuity.score(*clips, metrics=["loudness"], **RAW)


def test_the_first_model_asked_for_is_the_first(clips: tuple[Path, Path]) -> None:
    for models in (["auto", "vmaf_v0.6.1neg:name=neg"], ["vmaf_v0.6.1neg:name=neg", "auto"]):
        report = acuity.score(*clips, model=models, **RAW)
        assert [model.name for model in report.models] == ["vmaf" if m == "auto" else "neg" for m in models]
        assert report.model == report.models[0].label


def test_viewing_says_what_auto_stands_for(
    clips: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(acuity.ModelError, match="viewing='cinema' is unknown"):
        acuity.score(*clips, viewing="cinema", **RAW)
    with pytest.raises(acuity.ModelError, match="viewing='tv' chooses the model, and one is named already"):
        acuity.score(*clips, viewing="tv", model="vmaf_v0.6.1", **RAW)
    for name in ("vmaf_v1.0.16_5d0h", "vmaf_v1.0.16_hfr_5d0h"):
        (tmp_path / f"{name}.json").write_text(json.dumps(small_document()))
    monkeypatch.setenv("ACUITY_MODEL_PATH", str(tmp_path))
    report = acuity.score(*clips, viewing="phone", metrics=["psnr"], fps=60, **RAW)
    assert report.model == "vmaf_v1.0.16_hfr_5d0h"
    assert report.choice is not None
    assert report.choice.by == "viewing"
    assert acuity.score(*clips, viewing="phone", model=[], **RAW).model == "vmaf_v1.0.16_5d0h"


def test_a_report_pools_by_any_method_in_the_place_of_a_name(clips: tuple[Path, Path]) -> None:
    report = acuity.score(*clips, **RAW)
    scores = report.results.columns["vmaf"]
    assert report.pool("median") == report.pool(method="median") == pytest.approx(np.median(scores))
    assert report.pool("stddev") == pytest.approx(scores.std())
    for wrong in ("p101", "mode"):
        with pytest.raises(acuity.FeatureError):
            report.pool(method=wrong)


def test_times_of_frames_that_are_not_there(clips: tuple[Path, Path]) -> None:
    report = acuity.score(*clips, **RAW, fps=25)
    assert report.time_of(6) == 6 / 25
    for frame in (-1, 7, 99):
        with pytest.raises(acuity.InputError, match=f"there is no frame {frame}: 7 were compared"):
            report.time_of(frame)


def test_a_notebook_shows_the_page(clips: tuple[Path, Path]) -> None:
    shown = acuity.score(*clips, **RAW)._repr_html_()
    assert shown.startswith('<iframe sandbox="allow-scripts"')
    page = html.unescape(shown.split('srcdoc="')[1])
    assert page.lower().startswith("<!doctype html>")
    assert "there are no pictures: acuity.write_page() makes a page with them" in page
    assert '"' not in shown.split('srcdoc="')[1].removesuffix('"></iframe>')


@pytest.mark.parametrize("threads", [False, True])
def test_the_columns_of_a_single_frame_are_in_libvmaf_s_order(
    clips: tuple[Path, Path], tmp_path: Path, threads: bool
) -> None:
    """Late figures come during the run if it has more than one frame, and at its end otherwise."""
    sad, late = "VMAF_integer_feature_motion_sad_score", ["integer_motion2", "integer_motion3"]
    float_own = ["motion2", "motion"]
    orders = {
        1: [*float_own, sad, "motion3", *late] if threads else [sad, *float_own, *late, "motion3"],
        2: [*float_own, "motion3", sad, *late] if threads else [sad, *float_own, "motion3", *late],
    }
    for count, order in orders.items():
        size = ["-w", str(WIDTH), "-h", str(HEIGHT), "-p", "420", "-b", "8"]
        line = ["-r", str(clips[0]), "-d", str(clips[1]), *size, "-n", "-q", "--frame_cnt", str(count)]
        line += ["--feature", "motion", "--feature", "float_motion"]
        line += ["--csv", "-o", str(tmp_path / "out.csv")]
        assert vmaf_main([*line, *(["--threads", "2"] if threads else [])]) == 0
        head = (tmp_path / "out.csv").read_text().splitlines()[0]
        assert [name for name in head.split(",") if name][1:] == order


def test_equal_files_say_why_they_score_less_than_100(clips: tuple[Path, Path]) -> None:
    def said(**options: object) -> str:
        notes = acuity.score(clips[0], clips[0], **RAW, **options).notes
        return next(note.text for note in notes if note.code == "identical")

    reason = "vmaf_v0.6.1 gives equal frames less than 100 where little moves, 97.43 at least here"
    assert reason in said(model="vmaf_v0.6.1")
    assert "less than 100" not in said(metrics=["psnr"])
    assert "less than 100" not in said(skip_ref=1, align="off")


def test_nothing_confirms_the_score_of_tiny_pictures(tmp_path: Path) -> None:
    path = tmp_path / "tiny.yuv"
    path.write_bytes(np.random.default_rng(2).bytes(40 * 32 * 3 // 2))
    report = acuity.score(path, path, **{**RAW, "width": 40, "height": 32})
    [note] = [note for note in report.notes if note.code == "no-counterpart"]
    assert note.level == "warning"
    assert note.text.startswith("the pictures are 40x32: with 32 columns or rows and fewer, libvmaf's adm ")
