"""Searches with real encodes of all four encoders."""

from __future__ import annotations

from pathlib import Path

import pytest

from acuity.errors import EncoderError, TuneError, UnreachableError
from acuity.tune.clip import Clip, open_clip
from acuity.tune.encoders import find_encoder
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.points.cache import Cache
from acuity.tune.points.point import PointScoring
from acuity.tune.points.workbench import Workbench
from acuity.tune.search.searching import SearchAnswer, search, search_rows
from acuity.tune.search.target import Target
from tune_clips import write_y4m

SCORING = PointScoring(model="version=vmaf_v0.6.1")
X264 = EncoderSettings(find_encoder("libx264"), preset="ultrafast")
ALL = [
    EncoderSettings(find_encoder(name), preset="ultrafast")
    for name in ("libx264", "libx265", "libsvtav1", "libvpx-vp9")
]


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return open_clip(write_y4m(tmp_path_factory.mktemp("searching") / "clip.y4m", frames=12, width=224))


@pytest.fixture(scope="module")
def bench() -> Workbench:
    """Points that several tests use, made once."""
    return Workbench(PointScoring(model=SCORING.model, metrics=("psnr", "cambi")))


def test_finds_the_same_as_trying_all_values(clip: Clip, bench: Workbench) -> None:
    target = Target(85)
    points = {point.quality: point for point in bench.points([(clip, X264, crf) for crf in range(52)])}  # type: ignore[union-attr]
    meeting = [quality for quality, point in points.items() if point.pool() >= 85]  # type: ignore[union-attr]
    fresh = Workbench(SCORING)
    found = search(fresh, clip, X264, target, tolerance=0)
    assert found.quality == max(meeting)
    assert found.complete
    assert found.encodes == fresh.encodes <= 6
    assert [point.quality for point in found.points] == sorted(point.quality for point in found.points)


def test_all_encoders_at_one_target_and_a_rerun_without_encodes(clip: Clip, tmp_path: Path) -> None:
    path, target = str(tmp_path / "cache"), Target(88)
    cold = Workbench(SCORING, cache=Cache(path))
    rows = list(search_rows(cold, clip, [(settings, target) for settings in ALL]))
    for settings, row in zip(ALL, rows, strict=True):
        assert isinstance(row, SearchAnswer), row
        assert row.settings == settings
        score = target.figure(row.point)
        assert score >= 88
        after = [point for point in row.points if point.quality == row.quality + 1]
        assert score <= 88.5 or (after and after[0].pool() < 88)
    assert sum(row.encodes for row in rows if isinstance(row, SearchAnswer)) == cold.encodes
    warm = Workbench(SCORING, cache=Cache(path))
    again = list(search_rows(warm, clip, [(settings, target) for settings in reversed(ALL)]))
    assert warm.encodes == 0
    found = {row.settings.encoder.name: row.quality for row in again if isinstance(row, SearchAnswer)}
    assert found == {row.settings.encoder.name: row.quality for row in rows if isinstance(row, SearchAnswer)}


def test_a_row_that_fails_loses_no_other(clip: Clip, bench: Workbench) -> None:
    rows = [
        (X264, Target(85)),
        (X264, Target(100)),
        (EncoderSettings(X264.encoder, size=(9000, 90)), Target(85)),
    ]
    good, unreachable, refused = search_rows(bench, clip, rows)
    assert isinstance(good, SearchAnswer)
    assert isinstance(unreachable, UnreachableError)
    assert unreachable.best.quality == 0
    assert "crf 0" in str(unreachable)
    assert clip.path in str(unreachable)
    assert isinstance(refused, TuneError)


@pytest.mark.parametrize(
    "target",
    [
        Target(38, column="psnr"),
        Target(80, pool="harmonic_mean"),
        Target(80, pool="p5"),
        Target(80, pool="min"),
        Target(2000, kind="bitrate"),
        Target(60_000, kind="size"),
        Target(3.0, column="cambi"),
    ],
    ids=str,
)
def test_targets_of_every_kind(clip: Clip, bench: Workbench, target: Target) -> None:
    figures = {}
    for quality, point in bench.known(clip, X264, range(52)).items():
        figures[quality] = target.figure(point)
    assert len(figures) == 52  # made by the first test
    meeting = [quality for quality, figure in figures.items() if target.met(figure)]
    found = search(bench, clip, X264, target, tolerance=0)
    assert found.quality == (max(meeting) if target.kind == "quality" else min(meeting))
    assert found.encodes == 0


def test_the_range_and_the_number_of_encodes_are_limits(clip: Clip) -> None:
    bench = Workbench(SCORING)
    found = search(bench, clip, X264, Target(60), quality_range=(20, 26))
    assert found.quality == 26
    with pytest.raises(UnreachableError, match="crf 40 to 45"):
        search(bench, clip, X264, Target(97), quality_range=(40, 45))
    with pytest.raises(EncoderError, match="52"):
        search(bench, clip, X264, Target(90), quality_range=(20, 52))
    limited = Workbench(SCORING)
    rows = list(search_rows(limited, clip, [(X264, Target(v)) for v in (60, 90)], tolerance=0, max_encodes=1))
    assert limited.encodes == 2
    assert all(isinstance(row, UnreachableError) or not row.complete for row in rows)  # type: ignore[union-attr]
