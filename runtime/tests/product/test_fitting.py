"""Answers never outgrow what clients take, and always say where the rest is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from longwire.product.results import answer, fit

CLIENTS_TAKE = 1 << 20


def document(frames: int, names: int = 15) -> dict[str, Any]:
    metrics = {f"integer_vif_scale_{name}": 12.345678 + name for name in range(names)}
    rows = [{"frameNum": number, "metrics": metrics} for number in range(frames)]
    return {"frames": rows, "pooled_metrics": {}, "report": "acuity://reports/1"}


def on_the_wire(found: dict[str, Any]) -> int:
    return len(answer(found).model_dump_json(by_alias=True).encode())


# Where one doesn't fit, each step to a smaller one that doesn't would take as long as all the rest.
@settings(phases=[Phase.generate])
@given(st.integers(0, 3000), st.integers(1, 40))
def test_answers_fit_into_a_message(frames: int, names: int) -> None:
    found = fit(document(frames, names), None)
    assert on_the_wire(found) < CLIENTS_TAKE
    left_out = "frames_omitted" in found
    assert left_out == (not found["frames"] and frames > 0)


def test_what_is_left_out_can_be_found() -> None:
    found = fit(document(5000), None)
    assert found["frames"] == []
    assert found["frames_omitted"]["count"] == 5000
    remedy = found["frames_omitted"]["remedy"]
    assert "read acuity://reports/1?frames=0-499 or acuity://reports/1.csv?frames=0-499" in remedy
    assert json.loads(answer(found).content[0].text) == found  # type: ignore[union-attr]


@pytest.mark.parametrize("frames", [3, 5000])
def test_who_asks_gets_them_or_not(frames: int) -> None:
    whole = document(frames)
    assert fit(whole, True) is whole
    assert fit(whole, False)["frames"] == []
    assert len(whole["frames"]) == frames  # the document itself stays as it is
