"""VMAF models and models of pictures in evaluations: features of a table, or videos that it names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from acuity.errors import EvaluationError, InputError, ModelError
from acuity.models import Model, load_model
from acuity.tiny.evaluate.evaluation import compare, evaluate
from acuity.tiny.evaluate.predictors import VideoScore
from rated_tables import SIX, columns, linear, write

SUM = (100 / 6,) * 6


def test_a_vmaf_model_is_a_row_of_the_ranking(tmp_path: Path) -> None:
    table = columns(40)
    features = write(tmp_path / "t.parquet", table)
    own = linear(tmp_path / "m.onnx", SUM)
    found = compare([own, "vmaf_v0.6.1"], features, "all")
    assert found.errors == ()
    names = [entry.evaluation.model for entry in found.ranked]
    assert sorted(names) == sorted([str(own), "vmaf_v0.6.1"])
    vmaf = found.ranked[names.index("vmaf_v0.6.1")].evaluation
    model = load_model("vmaf_v0.6.1")
    assert isinstance(model, Model)
    order = [key.removeprefix("integer_") for key in model.feature_keys()]
    predicted = model.predict(np.stack([table[name] for name in order], axis=1))
    assert vmaf.figures.rmse == pytest.approx(np.sqrt(np.square(predicted - table["mos"]).mean()))
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


def videos(folder: Path, rows: int = 12, *, ci: bool = True) -> Path:
    path = folder / "videos.csv"
    head, more = ("reference,distorted,mos,mos_ci95", ",0.3") if ci else ("ref,dis,mos", "")
    lines = [f"r.y4m,d{number}.mp4,{1 + number / 4}{more}" for number in range(rows)]
    path.write_text("\n".join([head, *lines]) + "\n")
    return path


def test_videos_of_a_list_are_scored(tmp_path: Path) -> None:
    asked: list[tuple[str, str | None, str]] = []

    def score(model: str, reference: str | None, distorted: str) -> VideoScore:
        asked.append((model, reference, distorted))
        number = int(Path(distorted).stem[1:])
        return VideoScore(20.0 + 5 * number, ["it is one frame late"] if number > 4 else ())

    told: list[tuple[int, int]] = []
    found = evaluate(
        "acuity_nr_v1",
        videos(tmp_path),
        "all",
        score=score,
        progress=lambda done, total: told.append((done, total)),
    )
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
