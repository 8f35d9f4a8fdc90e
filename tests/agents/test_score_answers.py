"""Answers of the scoring tools: the score first, frames only while that is short, and a way to the rest."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from acuity.agents.score_answers import in_order, score_answer
from longwire.product.results import ordered_answer, to_ordered_text

CLIENTS_TAKE = 1 << 20
SHORT = 20_000
NOTE = {"level": "warning", "code": "scaled", "text": "the distorted video was scaled"}


def report(frames: int, names: int = 15) -> dict[str, Any]:
    """A stored report, as a worker leaves it."""
    metrics = {f"integer_vif_scale_{name}": 12.345678 + name for name in range(names)}
    figures = {"min": 1.0, "max": 2.0, "mean": 1.5, "harmonic_mean": 1.4}
    return {
        "version": "1",
        "frames": [{"frameNum": number, "metrics": metrics} for number in range(frames)],
        "pooled_metrics": {"vmaf": figures},
        "acuity": {"notes": [NOTE], "input": {"range": None, "reference": {"codec": None, "width": 3}}},
        "unheard_of": 1,
        "score": 1.5,
        "model": "vmaf_v0.6.1",
        "models": [{"name": "vmaf", "label": "vmaf_v0.6.1", **figures}],
        "worst": [{"frame": 0, "time": None, "score": 1.0}],
        "job_id": "1",
        "report": "acuity://reports/1",
    }


def on_the_wire(found: dict[str, Any]) -> int:
    return len(ordered_answer(found).model_dump_json(by_alias=True).encode())


def test_what_matters_comes_first() -> None:
    found = score_answer(report(3))
    assert list(found)[:5] == ["notes", "score", "model", "models", "worst"]
    assert list(found)[-3:] == ["unheard_of", "acuity", "frames"]
    assert found["notes"] == [NOTE]
    assert "notes" not in found["acuity"]
    assert json.loads(to_ordered_text(found)) == found


def test_the_score_comes_before_notes_that_warn_of_nothing() -> None:
    quiet = report(3)
    quiet["acuity"]["notes"] = [{**NOTE, "level": "info"}]
    assert list(score_answer(quiet))[:5] == ["score", "model", "models", "worst", "notes"]


def test_what_is_not_known_about_a_video_is_left_out_of_the_answer_alone() -> None:
    whole = report(3)
    assert score_answer(whole)["acuity"]["input"] == {"reference": {"width": 3}}
    assert in_order(whole)["acuity"]["input"] == whole["acuity"]["input"]


# Where one doesn't fit, each step to a smaller one that doesn't would take as long as all the rest.
@settings(phases=[Phase.generate])
@given(st.integers(0, 3000), st.integers(1, 40), st.sampled_from([None, True, False]))
def test_answers_are_short_or_as_long_as_clients_take(frames: int, names: int, asked: bool | None) -> None:
    found = score_answer(report(frames, names), asked)
    assert on_the_wire(found) < CLIENTS_TAKE
    if not asked:
        assert len(to_ordered_text(found)) < SHORT
    assert ("frames_omitted" in found) == (not found["frames"] and frames > 0)


def test_frames_come_unasked_only_while_the_answer_is_short() -> None:
    for frames, there in {3: True, 20: True, 48: False, 300: False, 780: False}.items():
        assert bool(score_answer(report(frames))["frames"]) is there, frames


def test_what_is_left_out_can_be_found() -> None:
    remedy = "the figures of 500 frames are left out: call get_frames with job_id '1' or read "
    remedy += "acuity://reports/1.csv or pass include_frames=true"
    assert score_answer(report(500))["frames_omitted"] == {"count": 500, "remedy": remedy}
    too_many = score_answer(report(5000), True)["frames_omitted"]["remedy"]
    assert "do not fit into one message" in too_many
    assert "include_frames" not in too_many
    assert "read acuity://reports/1.csv?frames=0-499" in too_many
    assert "csv?frames=0-499" in score_answer(report(5000))["frames_omitted"]["remedy"]


def test_who_asks_gets_them_or_not_and_the_later_word_counts() -> None:
    whole = report(300)
    assert len(score_answer(whole, True)["frames"]) == 300
    assert score_answer(report(3), False)["frames"] == []
    assert len(score_answer({**whole, "include_frames": True})["frames"]) == 300
    assert score_answer({**report(3), "include_frames": False})["frames"] == []
    assert score_answer({**whole, "include_frames": True}, False)["frames"] == []
    assert "include_frames" not in score_answer({**whole, "include_frames": True})
    assert len(whole["frames"]) == 300  # the document itself stays as it is
