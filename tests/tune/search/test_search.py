"""The search alone, on curves: what it finds, and in how many encodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from acuity.errors import EncoderError, TuneError, UnreachableError
from acuity.tune.clip import Clip, open_clip
from acuity.tune.encoders import ENCODERS, find_encoder
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.points.point import Cache, PointScoring
from acuity.tune.points.workbench import Workbench
from acuity.tune.search.priors import Related, prior_for
from acuity.tune.search.search import Search
from acuity.tune.search.searching import SearchAnswer, search, search_rows
from acuity.tune.search.target import Target
from effort import examples
from tune_clips import IN_PROCESS, write_y4m

X264 = ENCODERS["libx264"]


def played(search: Search, curve: np.ndarray, most: int = 70) -> list[int]:
    """The steps that a search asks for, in order."""
    asked: list[int] = []
    while (step := search.next()) is not None:
        assert step not in asked
        asked.append(step)
        assert len(asked) <= most
        search.add(step, float(curve[step]))
    return asked


def logistic(middle: float, width: float, top: float, count: int) -> np.ndarray:
    return top / (1 + np.exp((np.arange(count) - middle) / width))


def largest(curve: np.ndarray, value: float) -> int | None:
    meeting = np.flatnonzero(curve >= value)
    return int(meeting[-1]) if len(meeting) else None


@settings(max_examples=examples(20), deadline=None)
@example(name="av1_amf", middle=55.0, width=3.0, top=60.0, value=60.0)  # a plateau that hardly falls
@given(
    name=st.sampled_from(sorted(ENCODERS)[:4]),
    middle=st.floats(-10, 90),
    width=st.floats(0.4, 20),
    top=st.floats(60, 100),
    value=st.floats(20, 99.5),
)
def test_finds_what_trying_all_would(
    name: str, middle: float, width: float, top: float, value: float
) -> None:
    encoder = ENCODERS[name]
    curve = logistic(middle, width, top, encoder.last_step + 1).round(3)  # no differences of rounding
    search = Search(Target(value), prior_for(encoder, Target(value)), tolerance=0)
    asked = played(search, curve)
    assert search.found == largest(curve, value)
    assert len(asked) <= 13  # bisection needs 6, whatever the curve; the belief may be wrong five times


def test_a_target_that_nothing_meets_is_known_after_the_best_step() -> None:
    curve = np.linspace(90, 20, 52)
    search = Search(Target(95), prior_for(X264, Target(95)))
    asked = played(search, curve)
    assert search.found is None
    assert search.done
    assert search.nearest == 0
    assert 0 in asked
    assert len(asked) <= 4


def test_points_of_another_encoder_show_where_to_begin() -> None:
    x265 = ENCODERS["libx265"]
    hard = [Related(x265, step, figure) for step, figure in ((14, 93.2), (18, 88.0), (24, 75.0))]
    easy = [Related(x265, step, figure) for step, figure in ((36, 97.0), (42, 93.2), (46, 85.0))]
    target = Target(93)
    begins: list[Any] = [
        Search(target, prior_for(X264, target, related=related)).next() for related in (hard, (), easy)
    ]
    assert begins[0] < 20 < begins[2]
    assert begins[0] < begins[1] < begins[2]


@pytest.mark.parametrize(("kind", "value"), [("bitrate", 900.0), ("size", 112_500.0)])
def test_a_limit_of_bits_gives_the_best_quality_that_keeps_to_it(kind: str, value: float) -> None:
    kbps = 40_000 * np.exp(-np.arange(52) / 8.5)
    figures = kbps if kind == "bitrate" else kbps * 125
    target = Target(value, kind=kind)  # type: ignore[arg-type]
    search = Search(target, prior_for(X264, target, pixels=640 * 360 * 25.0), tolerance=0)
    asked = played(search, figures)
    meeting = np.flatnonzero(figures <= value)
    assert search.found == (int(meeting[0]) if len(meeting) else None)
    assert len(asked) <= 7


@pytest.mark.parametrize(
    ("column", "curve"),
    [
        ("psnr", np.linspace(55, 24, 52)),
        ("ssim", 1.001 - np.exp(np.linspace(-6.5, -1.2, 52))),
        ("ssimulacra2", np.linspace(93, -10, 52)),
        ("my_model", logistic(38, 7, 100, 52)),
        ("cambi", np.linspace(0.2, 9, 52)),
    ],
)
def test_other_figures_take_few_encodes_too(column: str, curve: np.ndarray) -> None:
    for step in (12, 20, 29):
        target = Target(float(curve[step] + curve[step + 1]) / 2, column=column)
        search = Search(target, prior_for(X264, target), tolerance=0)
        asked = played(search, curve)
        assert search.found == step
        assert len(asked) <= (8 if column == "cambi" else 6)


@pytest.mark.parametrize("value", [99.0, 99.5, 99.8])
def test_a_target_near_perfect_is_no_excuse_for_the_best_quality(value: float) -> None:
    """On a curve whose scores crowd below 100 over half of the range."""
    curve, target = 100 - 0.03 - 0.02 * np.exp((np.arange(52) - 15) / 4.6), Target(value)
    search = Search(target, prior_for(X264, target))
    asked = played(search, curve)
    assert search.found is not None
    assert curve[search.found] - value <= (100 - value) / 4 or search.found == largest(curve, value)
    assert asked[0] > 5
    assert len(asked) <= 8


@settings(max_examples=examples(25), deadline=None)
@given(
    name=st.sampled_from(["libx264", "libsvtav1"]),
    middle=st.floats(20, 70),
    width=st.floats(2, 15),
    value=st.floats(60, 99.9),
    broken=st.integers(0, 63),
    end=st.booleans(),
    cached=st.booleans(),
)
def test_one_broken_value_is_no_proof(
    name: str, middle: float, width: float, value: float, broken: int, end: bool, cached: bool
) -> None:
    encoder = ENCODERS[name]
    curve = np.maximum(logistic(middle, width, 100, encoder.last_step + 1), 20)
    at = 0 if end else 1 + broken % encoder.last_step
    curve[at] = 0.0
    search = Search(Target(value), prior_for(encoder, Target(value)), tolerance=0)
    if cached:
        search.add(at, 0.0)
    played(search, curve, 20)
    if (curve >= value).any():
        assert search.found is not None
        assert curve[search.found] >= value
    else:
        assert search.found is None
        assert search.nearest is not None
        assert curve[search.nearest] == curve.max()


@pytest.mark.parametrize(
    ("column", "value", "tolerance"),
    [
        ("vmaf", 93.0, 0.5),
        ("vmaf", 99.5, 0.125),
        ("vmaf", 100.0, 0.0),
        ("ssim", 0.999, 0.00025),
        ("cambi", 0.1, 0.025),
        ("psnr", 100.0, 0.2),
    ],
)
def test_near_the_perfect_figure_less_is_near(column: str, value: float, tolerance: float) -> None:
    assert Target(value, column=column).tolerance == pytest.approx(tolerance)


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (Target(99.9999), "VMAF 99.9999"),
        (Target(93.0), "VMAF 93"),
        (Target(40.25, column="psnr", pool="p5"), "p5 PSNR 40.25 dB"),
        (Target(5.0, kind="bitrate"), "5 kbit/s"),
        (Target(2500.0, kind="bitrate"), "2,500 kbit/s"),
    ],
)
def test_a_target_is_written_with_all_its_digits(target: Target, text: str) -> None:
    assert str(target) == text


# ---- Searches with real encodes of all four encoders ----


SCORING = PointScoring(model="version=vmaf_v0.6.1")
HASTY = EncoderSettings(find_encoder("libx264"), preset="ultrafast")
ALL = [EncoderSettings(find_encoder(name), preset="ultrafast") for name in IN_PROCESS]


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return open_clip(write_y4m(tmp_path_factory.mktemp("searching") / "clip.y4m", frames=12, width=224))


@pytest.fixture(scope="module")
def bench(clip: Clip) -> Workbench:
    """Points of all qualities, made once."""
    made = Workbench(PointScoring(model=SCORING.model, metrics=("psnr", "cambi")))
    assert len([*made.points([(clip, HASTY, crf) for crf in range(52)])]) == 52
    return made


def test_a_search_makes_few_encodes(clip: Clip, bench: Workbench) -> None:
    fresh = Workbench(SCORING)
    found = search(fresh, clip, HASTY, Target(85), tolerance=0)
    assert found.quality == search(bench, clip, HASTY, Target(85), tolerance=0).quality
    assert found.complete
    assert found.encodes == fresh.encodes <= 6
    assert [point.quality for point in found.points] == sorted(point.quality for point in found.points)


def test_all_encoders_at_one_target_and_a_rerun_without_encodes(clip: Clip, tmp_path: Path) -> None:
    path, target = str(tmp_path / "cache"), Target(88)
    cold = Workbench(SCORING, cache=Cache(path))
    rows = list(search_rows(cold, clip, [(chosen, target) for chosen in ALL]))
    for chosen, row in zip(ALL, rows, strict=True):
        assert isinstance(row, SearchAnswer), row
        assert row.settings == chosen
        score = target.figure(row.point)
        assert score >= 88
        after = [point for point in row.points if point.quality == row.quality + 1]
        assert score <= 88.5 or (after and after[0].pool() < 88)
    assert sum(row.encodes for row in rows if isinstance(row, SearchAnswer)) == cold.encodes
    warm = Workbench(SCORING, cache=Cache(path))
    again = list(search_rows(warm, clip, [(chosen, target) for chosen in reversed(ALL)]))
    assert warm.encodes == 0
    found = {row.settings.encoder.name: row.quality for row in again if isinstance(row, SearchAnswer)}
    assert found == {row.settings.encoder.name: row.quality for row in rows if isinstance(row, SearchAnswer)}


def test_a_row_that_fails_loses_no_other(clip: Clip, bench: Workbench) -> None:
    rows = [
        (HASTY, Target(85)),
        (HASTY, Target(100)),
        (EncoderSettings(HASTY.encoder, size=(9000, 90)), Target(85)),
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
        Target(85),
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
    known = bench.known(clip, HASTY, range(52))
    meeting = [quality for quality, point in known.items() if target.met(target.figure(point))]
    found = search(bench, clip, HASTY, target, tolerance=0)
    assert found.quality == (max(meeting) if target.kind == "quality" else min(meeting))
    assert found.encodes == 0


def test_the_range_and_the_number_of_encodes_are_limits(clip: Clip) -> None:
    bench = Workbench(SCORING)
    found = search(bench, clip, HASTY, Target(60), quality_range=(20, 26))
    assert found.quality == 26
    with pytest.raises(UnreachableError, match="crf 40 to 45"):
        search(bench, clip, HASTY, Target(97), quality_range=(40, 45))
    with pytest.raises(EncoderError, match="52"):
        search(bench, clip, HASTY, Target(90), quality_range=(20, 52))
    limited = Workbench(SCORING)
    rows = list(
        search_rows(limited, clip, [(HASTY, Target(v)) for v in (60, 90)], tolerance=0, max_encodes=1)
    )
    assert limited.encodes == 2
    assert all(isinstance(row, UnreachableError) or not row.complete for row in rows)  # type: ignore[union-attr]
