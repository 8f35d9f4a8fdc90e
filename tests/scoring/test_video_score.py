"""Videos that are scored by the name of a model, of whatever kind."""

from __future__ import annotations

from pathlib import Path

import pytest

import acuity
from acuity.errors import EvaluationError, ModelError
from acuity.scoring.video_score import score_video
from scoring_clips import y4m


def test_every_kind_of_model_gives_the_score_of_the_command(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    ref, dis = map(str, (y4m(tmp_path / "r.y4m", 3), y4m(tmp_path / "d.y4m", 3, worse=True)))
    assert score_video("vmaf_v0.6.1", ref, dis).score == acuity.score(ref, dis, model="vmaf_v0.6.1").score
    for name, alone in (("acuity_fr_v1", False), ("acuity_nr_v1", True)):
        expected = acuity.score(None if alone else ref, dis, model=(), tiny_model=name, no_reference=alone)
        assert score_video(name, ref, dis).score == expected.score
        if alone:
            assert score_video(name, None, dis).score == expected.score
    with pytest.raises(EvaluationError, match="add a column 'reference'"):
        score_video("vmaf_v0.6.1", None, dis)
    with pytest.raises(ModelError, match="there is no model named"):
        score_video("nosuch", ref, dis)
