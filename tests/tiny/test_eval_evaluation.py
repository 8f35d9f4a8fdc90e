"""Models evaluated on tables: their inputs, clips as samples, rankings, and what is refused."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from onnx.helper import make_node
from scipy import stats

from acuity.errors import EvaluationError, ModelError
from acuity.tiny.evaluate.evaluation import compare, evaluate
from acuity.tiny.evaluate.statistics import ModelFigures
from rated_tables import SIX, SUM, columns, linear, some_keys, write
from tiny_graphs import ConvNet, constant, graph, save, value


@pytest.fixture
def table() -> dict[str, Any]:
    """60 rows of 60 clips, 30 of them in the test split."""
    return {**columns(60), "key": some_keys("test", 30) + some_keys("train", 30)}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return linear(tmp_path / "m.onnx", SUM)


@pytest.fixture
def features(tmp_path: Path, table: dict[str, Any]) -> Path:
    return write(tmp_path / "t.parquet", table)


def predicted(table: dict[str, Any]) -> np.ndarray[Any, Any]:
    values = [np.asarray(table[name], np.float32) * np.float32(SUM[0]) for name in SIX]
    return np.sum(values, axis=0, dtype=np.float64)


def check(found: ModelFigures, x: Any, y: Any) -> None:
    """The figures are those of predictions and ratings, computed by others."""
    assert found.plcc == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-6)
    assert found.rmse == pytest.approx(np.sqrt(np.square(x - y).mean()), abs=1e-4)


def test_the_figures_of_a_split(model: Path, features: Path, table: dict[str, Any]) -> None:
    told: list[tuple[int, int]] = []
    found = evaluate(model, features, progress=lambda done, total: told.append((done, total)))
    x, y = predicted(table)[:30], table["mos"][:30]
    document = found.to_document()
    assert list(document)[:7] == ["model", "features", "split", "n", "plcc", "srocc", "rmse"]
    assert (document["model"], document["features"], document["split"]) == (str(model), str(features), "test")
    assert (document["n"], document["rows"], document["pooling"]) == (30, 30, "none")
    check(found.figures, x, y)
    assert (document["plcc"], document["rmse"]) == (found.figures.plcc, found.figures.rmse)
    assert document["srocc"] == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-6)
    assert document["krocc"] == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-6)
    assert (document["columns"], document["per_row"]) == (list(SIX), None)
    for name in ("plcc", "srocc", "krocc", "rmse"):
        low, high = document["ci95"][name]
        assert low < document[name] < high
    assert told[-1] == (60, 60)
    json.dumps(document, allow_nan=False)
    assert evaluate(model, features, "train").figures.n == 30
    assert evaluate(model, features, "all").figures.n == 60


def test_a_table_without_keys_has_neither_splits_nor_clips(tmp_path: Path, model: Path) -> None:
    features = write(tmp_path / "t.parquet", columns(60))
    for split in ("test", "val", "train"):
        with pytest.raises(EvaluationError, match=f"no 'key' column, so.* split '{split}'.*split='all'"):
            evaluate(model, features, split)
    with pytest.raises(EvaluationError, match="no 'key' column"):
        compare([model], features, "val")
    found = evaluate(model, features, "all")
    assert (found.rows, found.notes) == (60, ())
    with pytest.raises(EvaluationError, match="has no 'key' column"):
        evaluate(model, features, pooling="clip")
    with pytest.raises(EvaluationError, match=r"pooling must be one of .*; got 'mean'"):
        evaluate(model, features, pooling="mean")


def test_a_sidecars_order_and_normalisation(tmp_path: Path, features: Path, table: dict[str, Any]) -> None:
    """A model of two features, which the sidecar names in another order and scales."""
    sidecar = {"features": ["motion2", "adm2"], "feature_mean": [0.5, 0.25], "feature_std": [2.0, 4.0]}
    model = linear(tmp_path / "m.onnx", (3.0, 100.0), 7.0, sidecar=sidecar)
    found = evaluate(model, features)
    motion, adm = table["motion2"][:30], table["adm2"][:30]
    x = 3 * (motion - 0.5) / 2 + 100 * (adm - 0.25) / 4 + 7
    assert found.columns == ("motion2", "adm2")
    check(found.figures, x, table["mos"][:30])


def test_without_a_sidecar_the_columns_that_are_there(tmp_path: Path, table: dict[str, Any]) -> None:
    fewer = {name: table[name] for name in ("mos", "key", "motion2", "vif_scale1")}
    features = write(tmp_path / "t.parquet", fewer)
    found = evaluate(linear(tmp_path / "m.onnx", (10.0, 1.0)), features)
    assert found.columns == ("vif_scale1", "motion2")
    with pytest.raises(ModelError, match="takes 6 features, and there are 2: vif_scale1, motion2"):
        evaluate(linear(tmp_path / "six.onnx", SUM), features)


def test_the_inputs_name(tmp_path: Path, features: Path) -> None:
    model = linear(tmp_path / "m.onnx", SUM, input_name="x")
    assert evaluate(model, features).figures == evaluate(model, features, input_name="x").figures
    with pytest.raises(ModelError, match="has no input 'y': its inputs are 'x'"):
        evaluate(model, features, input_name="y")


def clips() -> dict[str, Any]:
    """20 clips of the test split with 5 frames each; the rating of a clip is in all of them."""
    random = np.random.default_rng(9)
    table = {name: np.repeat(values, 5) for name, values in columns(20, noise=8.0).items()}
    table |= {name: table[name] + random.normal(0, 0.2, 100) for name in SIX}
    return {**table, "key": np.repeat(some_keys("test", 20), 5)}


def test_clips_are_the_samples_where_keys_repeat(tmp_path: Path, model: Path) -> None:
    table = clips()
    features = write(tmp_path / "t.parquet", table)
    found = evaluate(model, features)
    x, y = predicted(table), table["mos"]
    assert (found.figures.n, found.rows, found.pooling) == (20, 100, "per_clip")
    check(found.figures, x.reshape(20, 5).mean(axis=1), y[::5])
    assert found.per_row is not None
    assert found.per_row.n == 100
    check(found.per_row, x, y)
    assert found.figures.plcc > found.per_row.plcc  # type: ignore[operator]
    plain = evaluate(model, features, pooling="none")
    assert plain.figures == found.per_row
    assert (plain.pooling, plain.per_row) == ("none", None)


def test_ratings_that_differ_within_a_clip_are_averaged_and_told(tmp_path: Path, model: Path) -> None:
    table = clips()
    table["mos"] = table["mos"] + np.tile([-2.0, -1.0, 0.0, 1.0, 2.0], 20)
    found = evaluate(model, write(tmp_path / "t.parquet", table))
    check(found.figures, *(rows.reshape(20, 5).mean(axis=1) for rows in (predicted(table), table["mos"])))
    assert found.notes == ("'mos' differs between the rows of 20 of 20 clips: their mean is the rating",)


def codec_aware(path: Path) -> Path:
    """A model that adds the codec block, weighted by place, to the sum of the features."""
    nodes = [
        make_node("MatMul", ["codec", "w"], ["a"]),
        make_node("ReduceSum", ["features", "axes"], ["b"], keepdims=1),
        make_node("Add", ["a", "b"], ["score"]),
    ]
    constants = [constant("w", np.arange(1, 15)[:, None]), constant("axes", [1], "int64")]
    inputs = [value("features", ["n", 6]), value("codec", ["n", 14])]
    return save(graph(nodes, inputs, [value("score", ["n", 1])], constants), path)


def test_a_codec_aware_model_reads_the_codec_of_each_row(tmp_path: Path, table: dict[str, Any]) -> None:
    model = codec_aware(tmp_path / "m.onnx")
    codecs = ["libx264", "hevc", "libsvtav1"] * 20
    presets, crfs = ["medium", "slow", "8"] * 20, [23, 28, 35] * 20
    full = {**table, "codec": codecs, "preset": presets, "crf": crfs}
    found = evaluate(model, write(tmp_path / "t.parquet", full))
    # places 1, 2 and 3 of the encoders, 13 for the preset's ordinal over 9, 14 for the CRF over 63
    encoded = (1, 5, 23), (2, 6, 28), (3, 8, 35)
    blocks = np.array([place + 13 * preset / 9 + 14 * crf / 63 for place, preset, crf in encoded] * 10)
    check(found.figures, blocks + sum(table[name][:30] for name in SIX), table["mos"][:30])
    for lacking, sentence in (
        ({"codec": codecs}, "has no column 'crf'"),
        ({"crf": crfs}, "has no column 'codec'"),
        ({"codec": ["fooenc"] * 60, "crf": crfs}, "codec 'fooenc', preset None and crf 23 in row 0"),
        ({"codec": codecs, "crf": [99] * 60}, "crf has to be a whole number from 0 to 63"),
        ({"codec": codecs, "crf": ["23"] * 60}, "column 'crf' of .* holds string values"),
    ):
        with pytest.raises((EvaluationError, ModelError), match=sentence):
            evaluate(model, write(tmp_path / "u.parquet", {**table, **lacking}))
    without = write(tmp_path / "v.parquet", {**table, "codec": codecs, "crf": crfs})
    assert "every preset counts as unknown" in evaluate(model, without).notes[0]


def test_few_samples_and_no_variance(tmp_path: Path) -> None:
    some = {**columns(4), "key": some_keys("test", 4)}
    features = write(tmp_path / "t.parquet", some)
    document = evaluate(linear(tmp_path / "m.onnx", (0.0,) * 6, 50.0), features).to_document()
    assert (document["plcc"], document["srocc"], document["krocc"]) == (None, None, None)
    assert document["rmse"] == pytest.approx(np.sqrt(np.square(some["mos"] - 50).mean()))
    assert document["notes"] == [
        "all predictions or all ratings are the same, so there is no correlation",
        "4 samples are too few for confidence intervals and mapped figures, which need 10",
    ]
    assert set(document["ci95"].values()) == {None}


def test_another_scale_than_the_ratings_is_told(
    tmp_path: Path, model: Path, features: Path, table: dict[str, Any]
) -> None:
    assert not [note for note in evaluate(model, features).notes if "two scales" in note]
    stars = {**table, "mos": 1 + np.asarray(table["mos"]) / 25}
    found = evaluate(model, write(tmp_path / "stars.parquet", stars))
    assert len([note for note in found.notes if "if these are two scales, rmse says nothing" in note]) == 1


@pytest.mark.parametrize("count", [0, 1])
def test_a_split_with_fewer_than_two_samples(tmp_path: Path, model: Path, count: int) -> None:
    table = {**columns(3 + count), "key": some_keys("train", 3) + some_keys("test", count)}
    features = write(tmp_path / "t.parquet", table)
    for call in (lambda: evaluate(model, features), lambda: compare([model], features)):
        with pytest.raises(EvaluationError) as caught:
            call()
        assert str(caught.value) == f"split 'test' has {count} samples — need ≥2 to compute correlations"


def test_rankings_and_failures(tmp_path: Path, features: Path) -> None:
    good = linear(tmp_path / "good.onnx", SUM)
    same = linear(tmp_path / "same.onnx", tuple(2 * w for w in SUM), 5.0)
    bad = linear(tmp_path / "bad.onnx", (1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    flat = linear(tmp_path / "flat.onnx", (0.0,) * 6)
    wide = linear(tmp_path / "wide.onnx", SUM, outputs=2)
    wild = linear(tmp_path / "wild.onnx", (float("inf"),) * 6)
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no model")
    gone = tmp_path / "gone.onnx"
    models = [wide, bad, broken, flat, good, wild, same, gone, good]
    document = compare(models, features).to_document()
    assert [Path(entry["model"]).stem for entry in document["ranked"]][2:] == ["bad", "flat"]
    assert {Path(entry["model"]).stem for entry in document["ranked"][:2]} == {"good", "same"}
    assert [Path(entry["model"]).stem for entry in document["errors"]] == ["wide", "broken", "wild", "gone"]
    words = (
        "model output shape (30, 2) does not",
        "broken.onnx",
        "predicts inf for row 0",
        "gone.onnx",
    )
    assert all(said in entry["error"] for said, entry in zip(words, document["errors"], strict=True))
    first, second, third, last = document["ranked"]
    assert first["plcc"] == pytest.approx(second["plcc"], abs=1e-6)
    assert (first["better_than_next"], first["to_next"]["p_value"]) == (False, 1.0)
    assert first["to_best"] is None
    assert second["better_than_next"] is True
    assert second["to_next"]["p_value"] < 0.05
    low, high = second["to_next"]["ci95"]
    assert 0 < low <= second["to_next"]["difference"] <= high
    assert third["to_best"]["difference"] == pytest.approx(first["plcc"] - third["plcc"])
    assert (third["better_than_next"], third["to_next"], last["to_best"]) == (None, None, None)
    assert {"n", "plcc", "srocc", "rmse", "krocc", "split", "columns"} <= set(first)
    assert "good.onnx' is in the list twice, and was evaluated once" in document["notes"][0]
    assert "are not distinguishable on these 30 samples (p = 1)" in document["notes"][1]
    json.dumps(document, allow_nan=False)


@pytest.mark.parametrize("models", [[], "m.onnx", None, {"a": 1}])
def test_no_models(tmp_path: Path, models: Any) -> None:
    with pytest.raises(EvaluationError) as caught:
        compare(models, tmp_path / "t.parquet")
    assert str(caught.value) == "'models' must be a non-empty list of paths"


def test_models_that_cannot_read_tables(tmp_path: Path, features: Path) -> None:
    path = save(ConvNet().model(), tmp_path / "picture.onnx")
    with pytest.raises(ModelError, match=r"reads pictures .*: 'acuity evaluate' scores tables that name"):
        evaluate(path, features)
    lacking = linear(tmp_path / "m.onnx", (1.0,), sidecar={"features": ["no_such_feature"]})
    with pytest.raises(EvaluationError, match="has no column 'no_such_feature'"):
        evaluate(lacking, features)
    other = write(tmp_path / "u.parquet", {"mos": [1.0, 2.0]})
    with pytest.raises(EvaluationError, match="has none of the expected feature columns"):
        evaluate(linear(tmp_path / "six.onnx", SUM), other)
    changed = linear(tmp_path / "changed.onnx", SUM, sidecar={"sha256": "0" * 64})
    with pytest.raises(ModelError, match="SHA-256"):
        evaluate(changed, features)


def test_a_large_table_streams(tmp_path: Path, model: Path) -> None:
    """300,000 rows with 40 columns, of which 7 are read: 96 MB as doubles, of which a tenth is a batch."""
    rows, clips_ = 300_000, 300
    random = np.random.default_rng(3)
    table = {name: random.uniform(0, 1, rows).astype(np.float32) for name in SIX}
    table |= {f"more{number}": table["adm2"] for number in range(33)}
    table["mos"] = np.repeat(np.arange(clips_, dtype=np.float64), 1000)
    table["key"] = np.repeat([f"clip{number}" for number in range(clips_)], 1000)
    path = write(tmp_path / "large.parquet", table, row_group_size=30_000, compression="none")
    evaluate(model, path, "val")  # what is imported and cached once doesn't count
    before = pa.default_memory_pool().bytes_allocated()
    tracemalloc.start()
    try:
        found = evaluate(model, path, "all")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (found.rows, found.figures.n) == (rows, clips_)
    # Of this the rows that are kept take 24 bytes each, and sorting them as much again.
    assert peak < 60 << 20
    assert pa.default_memory_pool().bytes_allocated() - before < 8 << 20
