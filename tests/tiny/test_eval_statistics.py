"""Correlations against SciPy's, intervals against cases whose answer is known, the mapping, and the split."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from acuity.errors import EvaluationError, InputError, ModelError
from acuity.models import Model, load_model
from acuity.tiny.evaluate.bootstrap import DRAWS, MOST, Draws, Replicates, replicate
from acuity.tiny.evaluate.bootstrap import compare as compare_draws
from acuity.tiny.evaluate.choices import bucket, check_split, split_of
from acuity.tiny.evaluate.evaluation import compare, evaluate
from acuity.tiny.evaluate.predictors import VideoScore
from acuity.tiny.evaluate.statistics import FEWEST, NAMES, Vector, figures_of, mapped_figures, monotonic_cubic
from rated_tables import SIX, SUM, columns, linear, write

EXACT = 1e-12


def pair(count: int, seed: int, *, digits: int | None = None, scale: float = 1.0) -> tuple[Vector, Vector]:
    random = np.random.default_rng(seed)
    x = random.normal(50, 15, count)
    y = x + random.normal(0, 10, count)
    if digits is not None:
        x, y = x.round(digits), y.round(digits)
    return x * scale, y * scale


@pytest.mark.parametrize("count", [2, 3, 10, 137, 5000])
@pytest.mark.parametrize("digits", [None, 0, -1])  # with ties, and with many
@pytest.mark.parametrize("scale", [1.0, 1e-9, -1e150])
def test_correlations_are_scipys(count: int, digits: int | None, scale: float) -> None:
    x, y = pair(count, count, digits=digits, scale=scale)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        x[0] += scale * 10
        y[0] += scale * 10
    found = figures_of(x, y)
    assert found.n == count
    assert found.plcc == pytest.approx(stats.pearsonr(x, y).statistic, abs=EXACT)
    assert found.srocc == pytest.approx(stats.spearmanr(x, y).statistic, abs=EXACT)
    assert found.krocc == pytest.approx(stats.kendalltau(x, y).statistic, abs=EXACT)
    plain = math.sqrt(np.square(x / scale - y / scale).mean())
    assert found.rmse == pytest.approx(plain * abs(scale), rel=1e-9)


@pytest.mark.parametrize("constant", [0.0, 77.0, 1e-30])
def test_no_variance_is_no_correlation_but_still_an_error(constant: float) -> None:
    y = np.array([1.0, 2.0, 3.0])
    found = figures_of(np.full(3, constant), y)
    assert (found.plcc, found.srocc, found.krocc) == (None, None, None)
    assert found.rmse == pytest.approx(math.sqrt(np.square(constant - y).mean()))
    assert figures_of(y, np.full(3, constant)).plcc is None


def test_means_that_differ_by_rounding_are_constant() -> None:
    values = np.array([np.full(rows, 0.1).sum() / rows for rows in (3, 7, 10, 11)])
    assert len(set(values)) > 1
    assert figures_of(values, np.arange(4.0)).plcc is None


@pytest.mark.parametrize("digits", [None, -1])
def test_figures_of_draws_are_those_of_the_drawn_samples(digits: int | None) -> None:
    x, y = pair(40, 7, digits=digits)
    draws = Draws(40)
    found = replicate(draws, x, y)
    assert draws.counts.shape == (DRAWS[1], 40)
    assert Draws(MOST).counts.shape == (DRAWS[0], MOST)
    assert (draws.counts.sum(axis=1) == 40).all()
    for number in range(0, DRAWS[1], 1000):
        taken = np.repeat(np.arange(40), draws.counts[number].astype(int))
        expected = figures_of(x[taken], y[taken])
        for name in NAMES:
            assert found.values[name][number] == pytest.approx(getattr(expected, name), abs=1e-9), name


def interval_of(found: Replicates, name: str, figure: float | None) -> tuple[float, float]:
    interval = found.interval(name, figure)
    assert interval is not None
    return interval


@pytest.mark.parametrize(("count", "strength"), [(20, 0.5), (40, 0.9)])
def test_intervals_hold_the_truth_about_as_often_as_they_say(count: int, strength: float) -> None:
    """Of pairs with a known correlation; 120 trials of a 95 % interval err by 2 % themselves."""
    truth = {
        "plcc": strength,
        "srocc": 6 / math.pi * math.asin(strength / 2),
        "krocc": 2 / math.pi * math.asin(strength),
        "rmse": math.sqrt(2 - 2 * strength),
    }
    random = np.random.default_rng(3)
    draws = Draws(count, 1000)
    hits = dict.fromkeys(NAMES, 0)
    for _ in range(120):
        x = random.normal(size=count)
        y = strength * x + math.sqrt(1 - strength**2) * random.normal(size=count)
        found, figures = replicate(draws, x, y), figures_of(x, y)
        for name in NAMES:
            low, high = interval_of(found, name, getattr(figures, name))
            hits[name] += low <= truth[name] <= high
    for name in NAMES:
        assert 0.87 <= hits[name] / 120 <= 1.0, (name, hits)


def test_intervals_of_many_samples_are_as_narrow_as_fishers() -> None:
    """The samples are more than are drawn from, so this is about the shrinking, too."""
    count = 20 * MOST
    random = np.random.default_rng(4)
    x = random.normal(size=count)
    y = 0.8 * x + 0.6 * random.normal(size=count)
    figures = figures_of(x, y)
    low, high = interval_of(replicate(Draws(count), x, y), "plcc", figures.plcc)
    expected = stats.pearsonr(x, y).confidence_interval(0.95)
    assert low == pytest.approx(expected.low, abs=0.15 * (expected.high - expected.low))
    assert high == pytest.approx(expected.high, abs=0.15 * (expected.high - expected.low))


def test_a_perfect_model_has_a_certain_correlation() -> None:
    x = np.arange(20.0)
    found = replicate(Draws(20), x, 2 * x)
    assert interval_of(found, "plcc", 1.0) == pytest.approx((1.0, 1.0))
    assert interval_of(found, "krocc", 1.0) == pytest.approx((1.0, 1.0))


def test_what_has_no_figure_has_no_interval() -> None:
    x = np.arange(20.0)
    found = replicate(Draws(20), np.full(20, 5.0), x)
    assert found.interval("plcc", None) is None
    assert interval_of(found, "rmse", 5.0)[0] > 0
    rare = np.zeros(FEWEST)
    rare[0] = 1.0  # a third of all draws lack it
    assert replicate(Draws(FEWEST), rare, np.arange(FEWEST + 0.0)).interval("plcc", -0.5) is None


def p_value_of(first: Vector, second: Vector, target: Vector) -> float:
    draws = Draws(len(target))
    a, b = (figures_of(each, target).plcc for each in (first, second))
    assert a is not None
    assert b is not None
    found = compare_draws(replicate(draws, first, target), replicate(draws, second, target), a - b)
    assert found is not None
    assert found.significant == (found.p_value < 0.05)
    assert found.ci95[0] - 1e-9 <= found.difference <= found.ci95[1] + 1e-9
    return found.p_value


def test_models_as_good_as_each_other_are_rarely_told_apart() -> None:
    random = np.random.default_rng(5)
    rejected = 0
    for _ in range(40):
        target = random.normal(size=60)
        first, second = (target + random.normal(size=60) for _ in range(2))
        rejected += p_value_of(first, second, target) < 0.05
    assert rejected <= 8  # 2 are expected, and 9 or more in one trial of 5,000


def test_a_better_model_is_told_apart() -> None:
    random = np.random.default_rng(6)
    target = random.normal(size=80)
    good, bad = target + 0.3 * random.normal(size=80), target + 1.5 * random.normal(size=80)
    assert p_value_of(good, bad, target) < 0.01
    assert p_value_of(good, 2 * good + 1, target) == 1.0  # PLCC doesn't see a scale


def test_a_rising_polynomial_is_found_exactly() -> None:
    x = np.linspace(20, 98, 40)
    y = 1 + 0.01 * (x - 20) + 8e-6 * (x - 20) ** 3
    assert monotonic_cubic(x, y) == pytest.approx(y, abs=1e-9)
    assert monotonic_cubic(x, 6 - y) == pytest.approx(6 - y, abs=1e-9)  # lower is better
    found = mapped_figures(x, y, None)
    assert found is not None
    assert (found.plcc, found.rmse) == (pytest.approx(1), pytest.approx(0, abs=1e-9))
    assert found.outlier_ratio is None


@pytest.mark.parametrize("seed", range(8))
def test_it_never_falls_where_the_best_polynomial_would(seed: int) -> None:
    random = np.random.default_rng(seed)
    x = random.uniform(0, 100, 50)
    y = 1 + 4 / (1 + np.exp((40 - x) / 5)) + random.normal(0, 0.2, 50)
    fitted = monotonic_cubic(x, y)
    rises = np.diff(fitted[np.argsort(x)])
    assert (rises >= -1e-9).all()
    free = np.square(np.polyval(np.polyfit(x, y, 3), x) - y).sum()
    line = np.square(np.polyval(np.polyfit(x, y, 1), x) - y).sum()
    # Worse than one that may fall, better than a line, which is one that rises.
    assert free <= np.square(fitted - y).sum() + 1e-9 <= line
    # Nothing near it that rises is better: a step towards the free one, or to the line, isn't.
    step = 0.02 * (np.polyval(np.polyfit(x, y, 1), x) - fitted)
    assert np.square(fitted + step - y).sum() >= np.square(fitted - y).sum() - 1e-9


def test_the_figures_are_those_of_the_recommendation() -> None:
    random = np.random.default_rng(5)
    x = random.uniform(0, 100, 30)
    y = x / 25 + 1 + random.normal(0, 0.2, 30)
    fitted, margins = monotonic_cubic(x, y), np.full(30, 0.15)
    found = mapped_figures(x, y, margins)
    assert found is not None
    assert found.rmse == pytest.approx(np.sqrt(np.square(fitted - y).sum() / 26))
    assert found.plcc == pytest.approx(np.corrcoef(fitted, y)[0, 1])
    assert found.outlier_ratio == np.mean(np.abs(fitted - y) > 0.15)
    assert mapped_figures(x[: FEWEST - 1], y[: FEWEST - 1], None) is None
    assert mapped_figures(np.ones(30), y, None) is None


# printf 'vmaf-train-splits-v1:KEY' | sha256sum, the first 16 digits, as a fraction of 16^16
@pytest.mark.parametrize(
    ("key", "digits", "part"),
    [
        ("clip0", "8b758dbec9141b67", "train"),
        ("étude/17", "1590b65058023bfb", "test"),
        ("clip18", "2aa2becd7166f2de", "val"),
    ],
)
def test_buckets_are_those_computed_by_hand(key: str, digits: str, part: str) -> None:
    assert bucket(key) == int(digits, 16) / 16**16
    assert split_of(key) == part


def test_unknown_splits() -> None:
    with pytest.raises(EvaluationError) as caught:
        check_split("foo")
    assert str(caught.value) == "split must be one of ('train', 'val', 'test', 'all'); got 'foo'"
    assert check_split("all") == "all"


def test_a_vmaf_model_is_a_row_of_the_ranking(tmp_path: Path) -> None:
    table = columns(40)
    features = write(tmp_path / "t.parquet", table)
    own = linear(tmp_path / "m.onnx", SUM)
    found = compare([own, "vmaf_v0.6.1"], features, "all")
    assert found.errors == ()
    ranked = {entry.evaluation.model: entry.evaluation for entry in found.ranked}
    assert set(ranked) == {str(own), "vmaf_v0.6.1"}
    model = load_model("vmaf_v0.6.1")
    assert isinstance(model, Model)
    order = [key.removeprefix("integer_") for key in model.feature_keys()]
    predicted = model.predict(np.stack([table[name] for name in order], axis=1))
    rmse = ranked["vmaf_v0.6.1"].figures.rmse
    assert rmse == pytest.approx(np.sqrt(np.square(predicted - table["mos"]).mean()))
    with pytest.raises(EvaluationError, match="has no column 'integer_motion2'"):
        evaluate("vmaf_v0.6.1", write(tmp_path / "u.parquet", columns(20, names=SIX[:5])), "all")
    with pytest.raises(ModelError, match="there is no model named 'vmaf_v9'"):
        evaluate("vmaf_v9", features, "all")


def test_which_of_two_columns_of_a_feature_is_read_is_said(tmp_path: Path) -> None:
    table = columns(20)
    features = write(tmp_path / "t.parquet", {**table, "integer_adm2": table["adm2"] / 2})
    found = evaluate(linear(tmp_path / "m.onnx", SUM), features, "all")
    assert found.notes == ("the table has 'adm2' and 'integer_adm2', and 'adm2' is read",)
    found = evaluate("vmaf_v0.6.1", features, "all")
    assert found.notes[0] == "the table has 'integer_adm2' and 'adm2', and 'integer_adm2' is read"


def videos(folder: Path, *, ci: bool = True) -> Path:
    path = folder / "videos.csv"
    head, more = ("reference,distorted,mos,mos_ci95", ",0.3") if ci else ("ref,dis,mos", "")
    lines = [f"r.y4m,d{number}.mp4,{1 + number / 4}{more}" for number in range(12)]
    path.write_text("\n".join([head, *lines]) + "\n")
    return path


def test_videos_of_a_list_are_scored(tmp_path: Path) -> None:
    asked: list[tuple[str, str | None, str]] = []

    def score(model: str, reference: str | None, distorted: str) -> VideoScore:
        asked.append((model, reference, distorted))
        number = int(Path(distorted).stem[1:])
        return VideoScore(20.0 + 5 * number, ["it is one frame late"] if number > 4 else ())

    told: list[tuple[int, int]] = []
    listed = videos(tmp_path)
    found = evaluate("acuity_nr_v1", listed, "all", score=score, progress=lambda *at: told.append(at))
    assert asked[3] == ("acuity_nr_v1", str(tmp_path / "r.y4m"), str(tmp_path / "d3.mp4"))
    assert told[:2] == [(1, 12), (2, 12)]
    document = found.to_document()
    assert document["plcc"] == pytest.approx(1)
    assert document["mapped"]["rmse"] == pytest.approx(0, abs=1e-9)
    assert document["mapped"]["outlier_ratio"] == 0
    assert document["notes"][0] == "d5.mp4: it is one frame late"
    assert document["notes"][-2] == "2 more videos were scored with warnings"
    assert "predictions are 20 to 75 and ratings 1 to 3.75" in document["notes"][-1]
    # Those of acuity features-table have other names.
    assert evaluate("acuity_nr_v1", videos(tmp_path, ci=False), "all", score=score).mapped is not None


def test_features_count_where_a_table_names_videos_too(tmp_path: Path) -> None:
    table = {**columns(20), "reference": ["r.y4m"] * 20, "distorted": [f"{n}.mp4" for n in range(20)]}
    found = evaluate(linear(tmp_path / "m.onnx", SUM), write(tmp_path / "t.parquet", table), "all")
    assert found.columns == SIX


def test_what_cannot_be_scored_is_told(tmp_path: Path) -> None:
    def score(*_: object) -> VideoScore:
        raise InputError("the videos differ in size")

    with pytest.raises(InputError, match="row 0, counted from 0: the videos differ"):
        evaluate("vmaf_v0.6.1", videos(tmp_path), "all", score=score)
    with pytest.raises(EvaluationError, match="names videos, which are scored by acuity evaluate only"):
        evaluate("vmaf_v0.6.1", videos(tmp_path), "all")
    broken = tmp_path / "broken.csv"
    broken.write_text("mos,adm2\n1,2,3\n")
    with pytest.raises(EvaluationError, match="can't be read as CSV"):
        evaluate("vmaf_v0.6.1", broken, "all")
