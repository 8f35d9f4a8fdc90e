"""Real clips, steered: before and after the swap each frame has libvmaf's own figures for its model."""

from __future__ import annotations

import numpy as np
import pytest

from acuity.measure import Measurement
from golden_figures import GoldenCase, load_cases, needs_golden
from golden_pairs import pictures

pytestmark = needs_golden

BEFORE, AFTER = "model_vmaf_v0.6.1", "model_vmaf_v0.6.1neg"


def cases() -> list[GoldenCase]:
    return [
        case
        for case in load_cases().values()
        if all(name in case.runs and case.runs[name].exit == 0 for name in (BEFORE, AFTER))
        and len(case.runs[BEFORE].frames) > 1
    ]


CASES = cases()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_each_segment_is_libvmafs(case: GoldenCase, threads: int) -> None:
    before, after = case.runs[BEFORE], case.runs[AFTER]
    boundary = len(before.frames) // 2
    with Measurement(threads) as measurement:
        measurement.add_model(before.models[0])
        for index, pair in enumerate(pictures(case.name)):
            if index == boundary:
                assert measurement.swap_model("vmaf", after.models[0]).first == boundary
            measurement.add(*pair)
        measurement.flush()
        results = measurement.results()
    assert [segment.first for segment in results.segments] == [0, boundary]
    for run, part in ((before, slice(0, boundary)), (after, slice(boundary, None))):
        for key, figures in run.metrics.items():
            tolerance = 1e-11 if key == "vmaf" else 0.0  # exp() differs between libraries in its last digit
            expected = np.asarray(figures)[part]
            np.testing.assert_allclose(
                results.columns[key][part], expected, rtol=0, atol=tolerance, err_msg=key
            )


def test_there_are_clips() -> None:
    assert len(CASES) >= 5
