"""Every golden run: each figure of each frame, pooled, and of the whole clip."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from acuity.devices import usable_instruction_sets
from acuity.errors import AcuityError
from acuity.measure import Results
from golden_figures import GoldenCase, GoldenRun, load_cases, needs_golden
from golden_pairs import all_runs, answered_runs, arguments, measure
from tolerances import tolerance

pytestmark = needs_golden

# libvmaf reads memory it never wrote when a side is below 33: its figures of ADM's coarsest scale change from
# run to run there. Those of the other scales, VIF and motion don't.
UNDEFINED_CASE = "akiyo_22x18"
UNDEFINED = ("integer_adm2", "integer_aim", "integer_adm3", "integer_adm_scale3", "vmaf")
UNDEFINED_DEBUG = (
    *("integer_adm", "integer_adm_num", "integer_adm_den"),
    *("integer_adm_num_scale3", "integer_adm_den_scale3"),
)

Runs = list[tuple[GoldenCase, GoldenRun]]


def ids(runs: Runs) -> list[str]:
    return [f"{case.name}-{run.name}" for case, run in runs]


def of_cases(runs: Runs) -> dict[str, Runs]:
    """The runs by the name of their case."""
    found: dict[str, Runs] = {}
    for case, run in runs:
        found.setdefault(case.name, []).append((case, run))
    return found


RUNS = answered_runs()
# Every run of one deep clip and of two pictures is measured alone; of the others those that differ only in
# what they ask for are measured together, and their work is shared.
_SINGLY = ("src01_576x324_420p10", "akiyo_352x288", "akiyo_22x18")
ALONE = [(case, run) for case, run in RUNS if case.name in _SINGLY or run.name.startswith("opt_")]
TOGETHER = [
    (case, run)
    for case, run in RUNS
    if case.name not in _SINGLY and run.name.startswith(("fex_", "var_", "model_"))
]
# Models and presets add nothing to what the features themselves depend on.
FEATURE_RUNS = [(case, run) for case, run in RUNS if run.name.startswith(("fex_", "var_"))]


def _says_no_more(run: GoldenRun, other: GoldenRun) -> bool:
    """Whether the other run of the clip has each of its figures, and more."""
    return len(run.metrics) < len(other.metrics) and all(
        key in other.metrics and np.array_equal(figures, other.metrics[key])
        for key, figures in run.metrics.items()
    )


# Kernels that give the figures of `debug` give those without it; decibels are taken of what kernels gave.
KERNEL_RUNS = [
    (case, run)
    for case, run in FEATURE_RUNS
    if "enable_db=true" not in run.args[-1]
    and not any(_says_no_more(run, other) for same, other in FEATURE_RUNS if same is case)
]
# Of a layout, depth and size that another case has, or nearly.
_ALIKE = (
    *("hall_352x288", "img_10081_481x321_444", "q160x90_48f_self"),
    *("src01_576x324_420p10_self", "src01_576x324_420p8_derived"),
)
REFUSED = [(case, run) for case, run in all_runs() if run.exit != 0]


def is_defined(case: GoldenCase, key: str) -> bool:
    if case.name != UNDEFINED_CASE:
        return True
    bare = key.partition("_csf_")[0].partition("_egl_")[0]
    return not bare.startswith(UNDEFINED) and bare not in UNDEFINED_DEBUG


def check(case: GoldenCase, run: GoldenRun, results: Results) -> None:
    assert list(results.columns) == list(run.metrics)
    check_figures(case, run, results, results.pooled())


def check_figures(
    case: GoldenCase, run: GoldenRun, results: Results, pooled: dict[str, dict[str, float]]
) -> None:
    scores = set(results.models)
    assert results.frames == run.frames
    for key, figures in run.metrics.items():
        if not is_defined(case, key):
            continue
        limit = tolerance(key, scores)
        np.testing.assert_allclose(results.columns[key], figures, rtol=0, atol=limit, err_msg=key)
        for method, figure in run.pooled[key].items():
            assert pooled[key][method] == pytest.approx(figure, rel=0, abs=limit or 1e-15), (key, method)
    for key, figure in run.aggregate.items():
        limit = tolerance(key, scores)
        assert results.aggregate[key] == pytest.approx(figure, rel=0, abs=limit or 1e-15), key


@pytest.mark.parametrize(("case", "run"), ALONE, ids=ids(ALONE))
def test_runs(case: GoldenCase, run: GoldenRun) -> None:
    check(case, run, measure(case, run, threads=5))


def named(run: GoldenRun) -> GoldenRun:
    """The run with a name of its own for its model, so that it can be measured beside other models."""
    if not run.name.startswith("model_"):
        return run

    def renamed(figures: dict[str, Any]) -> dict[str, Any]:
        return {re.sub("^vmaf", run.name, key): figure for key, figure in figures.items()}

    args = tuple(f"{arg}:name={run.name}" if "=" in arg else arg for arg in run.args)
    figures = {part: renamed(getattr(run, part)) for part in ("metrics", "pooled", "aggregate")}
    return replace(run, args=args, **figures)


def _fit(run: GoldenRun, other: GoldenRun) -> bool:
    """Whether both can be one measurement: no figure is in both, or both are models and it is the same."""
    common = run.metrics.keys() & other.metrics.keys()
    models = bool(run.models and other.models)
    return not common or (models and all(np.array_equal(run.metrics[k], other.metrics[k]) for k in common))


def check_together(case: GoldenCase, runs: Runs, threads: int, instruction_set: str | None = None) -> None:
    """Runs of a case are as few measurements as can be."""
    parts: list[list[GoldenRun]] = []
    for _, run in runs:
        for part in parts:
            if all(_fit(run, other) for other in part):
                part.append(run)
                break
        else:
            parts.append([run])
    for part in parts:
        arguments = tuple(argument for run in part for argument in run.args)
        results = measure(case, replace(part[0], args=arguments), threads, instruction_set)
        assert set(results.columns) == {key for run in part for key in run.metrics}
        pooled = results.pooled()
        for run in part:
            check_figures(case, run, results, pooled)


@pytest.mark.parametrize("name", of_cases(TOGETHER))
def test_runs_together(name: str) -> None:
    runs = [(case, named(run)) for case, run in of_cases(TOGETHER)[name]]
    check_together(load_cases()[name], runs, threads=5)


@pytest.mark.parametrize("name", of_cases(FEATURE_RUNS))
def test_one_thread(name: str) -> None:
    check_together(load_cases()[name], of_cases(FEATURE_RUNS)[name], threads=1)


@pytest.mark.parametrize(("case", "run"), REFUSED, ids=ids(REFUSED))
def test_what_libvmaf_refuses_or_crashes_on(case: GoldenCase, run: GoldenRun) -> None:
    """A finite answer, or one sentence."""
    try:
        results = measure(case, run, threads=2)
    except AcuityError as error:
        sentence = str(error)
    else:
        sentence = ""
        assert results.columns or run.name == "fex_null"
        assert all(np.isfinite(column).all() for column in results.columns.values())
    assert "\n" not in sentence
    assert not sentence or len(sentence) > 40


@pytest.mark.parametrize("slower_set", usable_instruction_sets()[1:])
@pytest.mark.parametrize("name", [name for name in of_cases(KERNEL_RUNS) if name not in _ALIKE])
def test_instruction_sets(name: str, slower_set: str) -> None:
    """The first set is the one that all tests above run with."""
    check_together(load_cases()[name], of_cases(KERNEL_RUNS)[name], 2, slower_set)


def test_all_runs_are_here() -> None:
    """A parser that lost runs would pass everything above."""
    names = {run.name for _, run in RUNS}
    assert len({case.name for case, _ in RUNS}) >= 18
    assert {"fex_vif", "fex_adm", "fex_motion", "opt_frame_cnt2", "opt_skip_ref1", "opt_subsample3"} <= names
    assert {"preset_aom_ctc_v7.0", "model_vmaf_v1.0.16_3d0h", "model_other_vmaf_v0.6.0"} <= names
    counts = [len(runs) for runs in (RUNS, ALONE, TOGETHER, FEATURE_RUNS, KERNEL_RUNS, REFUSED)]
    assert counts == [1226, 201, 964, 781, 548, 193]


def test_odd_chroma_scores_as_its_luma() -> None:
    """libvmaf crashes on this file; its luma is that of the 4:4:4 one."""
    cases = load_cases()
    odd, full = cases["img_100007_481x321_420odd_derived"], cases["img_100007_481x321_444"]
    run = full.runs["model_vmaf_v0.6.1"]
    results = measure(odd, run, threads=2)
    check(full, run, results)


def test_tiny_pictures_get_a_sensible_answer() -> None:
    case = load_cases()[UNDEFINED_CASE]
    contradictions = {
        float(run.metrics["integer_adm_scale3"][0])
        for run in case.runs.values()
        if run.exit == 0 and "integer_adm_scale3" in run.metrics
    }
    assert len(contradictions) > 1
    run = case.runs["fex_adm"]
    assert arguments(run, "--feature") == ["adm"]
    figures = measure(case, run, threads=1).columns
    exact = case.runs["fex_float_adm"].metrics  # the same metric in floating point, which has no such reads
    for key in ("adm2", "adm3"):
        assert figures[f"integer_{key}"][0] == pytest.approx(exact[key][0], abs=2e-3)
    assert figures["integer_adm_scale3"][0] == pytest.approx(exact["adm_scale3"][0], abs=1e-4)
