"""acuity.score(): files in, report out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import acuity
from acuity.measure import Measurement
from moving_pictures import HEIGHT, WIDTH, luma, pair


def write_raw(path: Path, frames: int, *, worse: bool) -> Path:
    with path.open("wb") as file:
        for index in range(frames):
            file.write(luma(index, worse=worse).tobytes())
            file.write(bytes([128]) * (WIDTH // 2 * (HEIGHT // 2) * 2))
    return path


@pytest.fixture
def clips(tmp_path: Path) -> tuple[Path, Path]:
    return write_raw(tmp_path / "a.yuv", 7, worse=False), write_raw(tmp_path / "b.yuv", 7, worse=True)


RAW = {"width": WIDTH, "height": HEIGHT, "pixel_format": "420", "bitdepth": 8}


def test_a_pair_of_files_is_scored(clips: tuple[Path, Path]) -> None:
    report = acuity.score(*clips, **RAW)  # type: ignore[arg-type]
    with Measurement() as measurement:
        measurement.add_model("vmaf_v0.6.1")
        for index in range(7):
            measurement.add(*pair(index))
        measurement.flush()
        expected = measurement.results()
    np.testing.assert_array_equal(report.results.columns["vmaf"], expected.columns["vmaf"])
    assert report.score == expected.pool()
    assert report.model == "vmaf_v0.6.1"
    assert report.worst(1)[0][1] == report.pool(method="min")


def test_several_models_and_features(clips: tuple[Path, Path]) -> None:
    models = ["vmaf_v0.6.1", "version=vmaf_v0.6.1neg:name=neg"]
    report = acuity.score(*clips, model=models, features=["vif=debug=true"], subsample=2, **RAW)  # type: ignore[arg-type]
    assert report.results.models == ["vmaf", "neg"]
    assert report.results.frames == [0, 2, 4, 6]
    assert "integer_vif_num" in report.results.columns


def test_progress_is_told_and_ends_with_the_score(clips: tuple[Path, Path]) -> None:
    told: list[tuple[int, int | None, float | None]] = []
    report = acuity.score(*clips, progress=lambda *state: told.append(state), **RAW)  # type: ignore[arg-type]
    assert len(told) == 8
    assert [total for _, total, _ in told] == [7] * 8
    assert told[-1][0] == 7
    assert told[-1][2] == pytest.approx(report.score)
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)


def test_the_report_is_plain_values(clips: tuple[Path, Path]) -> None:
    report = acuity.score(*clips, **RAW)  # type: ignore[arg-type]
    data = json.loads(json.dumps(report.to_dict()))
    assert data["score"] == report.score
    assert data["frames"] == 7
    assert data["percentiles"]["p50"] == report.pool(method="p50")
    assert data["worst"][0]["frame"] == report.worst(1)[0][0]
    assert data["pooled"]["vmaf"]["mean"] == report.score


def test_features_without_a_model(clips: tuple[Path, Path]) -> None:
    report = acuity.score(*clips, model=[], features=["vif"], **RAW)  # type: ignore[arg-type]
    assert np.isnan(report.score)
    assert list(report.results.columns) == [f"integer_vif_scale{scale}" for scale in range(4)]


@pytest.mark.parametrize(
    ("width", "height", "model"),
    [
        (1920, 1080, "vmaf_v0.6.1"),
        (3839, 2159, "vmaf_v0.6.1"),
        (3840, 1600, "vmaf_4k_v0.6.1"),
        (1920, 2160, "vmaf_4k_v0.6.1"),
        (64, 64, "vmaf_v0.6.1"),
    ],
)
def test_the_model_goes_by_size(width: int, height: int, model: str) -> None:
    assert acuity.model_for_size(width, height) == model


def test_errors_are_acuitys_own(clips: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(acuity.InputError):
        acuity.score(clips[0], tmp_path / "missing.yuv", **RAW)  # type: ignore[arg-type]
    with pytest.raises(acuity.ModelError):
        acuity.score(*clips, model="vmaf_v9", **RAW)  # type: ignore[arg-type]
    with pytest.raises(acuity.FeatureError):
        acuity.score(*clips, features=["psnrr"], **RAW)  # type: ignore[arg-type]
