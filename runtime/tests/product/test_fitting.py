"""Answers never outgrow what clients take, and always say where the rest is."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from longwire.product.results import answer, fits, without_frames

CLIENTS_TAKE = 1 << 20


def document(frames: int, names: int = 15) -> dict[str, Any]:
    metrics = {f"integer_vif_scale_{name}": 12.345678 + name for name in range(names)}
    rows = [{"frameNum": number, "metrics": metrics} for number in range(frames)]
    return {"frames": rows, "pooled_metrics": {}, "report": "acuity://reports/1"}


def on_the_wire(found: dict[str, Any]) -> int:
    return len(answer(found).model_dump_json(by_alias=True).encode())


# Where one doesn't fit, each step to a smaller one that doesn't would take as long as all the rest.
@settings(phases=[Phase.generate])
@given(st.integers(1, 3000), st.integers(1, 40))
def test_answers_fit_into_a_message(frames: int, names: int) -> None:
    whole = document(frames, names)
    if fits(frames, whole["frames"][0]):
        assert on_the_wire(whole) < CLIENTS_TAKE
    assert on_the_wire(without_frames(whole, frames)) < CLIENTS_TAKE


def test_what_is_left_out_can_be_found() -> None:
    whole = document(5000)
    assert not fits(5000, whole["frames"][0])
    found = without_frames(whole, 5000)
    assert found["frames"] == []
    assert len(whole["frames"]) == 5000  # the document itself stays as it is
    assert found["frames_omitted"]["count"] == 5000
    remedy = found["frames_omitted"]["remedy"]
    assert "read acuity://reports/1?frames=0-499 or acuity://reports/1.csv?frames=0-499" in remedy
    assert json.loads(answer(found).content[0].text) == found  # type: ignore[union-attr]
