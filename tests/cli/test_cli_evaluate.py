"""`acuity evaluate`: one model, a ranking, JSON, and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acuity.cli.main import main
from rated_tables import SIX, columns, linear, some_keys, write

SUM = (100 / 6,) * 6


@pytest.fixture
def features(tmp_path: Path) -> str:
    table = {**columns(40), "key": some_keys("test", 20) * 2}
    return str(write(tmp_path / "rated.parquet", table))


def test_one_model(tmp_path: Path, features: str, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(linear(tmp_path / "good.onnx", SUM))
    assert main(["evaluate", model, "--features", features]) == 0
    text = capsys.readouterr().out
    assert "20 clips (40 rows)" in text
    for word in ("PLCC", "SROCC", "KROCC", "RMSE", "95 % interval", "by row instead of clip", *SIX):
        assert word in text
    assert main(["evaluate", model, "--features", features, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "acuity.evaluation/1"
    assert (document["n"], document["rows"], document["pooling"]) == (20, 40, "per_clip")
    assert f"{document['plcc']:.4f}" in text


def test_a_ranking(tmp_path: Path, features: str, capsys: pytest.CaptureFixture[str]) -> None:
    models = [
        str(linear(tmp_path / "bad.onnx", (1.0, 0, 0, 0, 0, 0))),
        str(linear(tmp_path / "good.onnx", SUM)),
    ]
    assert main(["evaluate", *models, "--features", features, "--pooling", "none"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "40 rows" in lines[0]
    assert [line.split()[1] for line in lines[2:4]] == models[::-1]
    assert "better (p = " in lines[2] or "not distinguishable (p = " in lines[2]
    assert main(["evaluate", *models, str(tmp_path / "gone.onnx"), "--features", features, "--json"]) == 1
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert [entry["model"] for entry in document["ranked"]] == models[::-1]
    assert document["errors"][0]["model"].endswith("gone.onnx")
    assert printed.err.startswith("acuity: ")
    assert printed.err.count("\n") == 1


def test_bad_input(tmp_path: Path, features: str, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(linear(tmp_path / "good.onnx", SUM))
    for arguments, sentence in (
        ([model, "--features", str(tmp_path / "none.parquet")], "can't be opened: No such file"),
        ([model, "--features", features, "--split", "foo"], "--split"),
        ([model], "--features"),
        ([model, "--features", features, "--split", "val"], "split 'val' has 0 samples"),
        ([str(tmp_path / "x.onnx"), str(tmp_path / "y.onnx"), "--features", features], "x.onnx"),
    ):
        assert main(["evaluate", *arguments]) == 1
        printed = capsys.readouterr()
        assert sentence in printed.err
        assert "Traceback" not in printed.err


def test_a_small_set_is_told_of_the_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(linear(tmp_path / "good.onnx", SUM))
    table = {**columns(6), "key": some_keys("train", 6)}
    small = str(write(tmp_path / "small.parquet", table))
    for models in ([model], [model, model]):
        assert main(["evaluate", *models, "--features", small]) == 1
        assert capsys.readouterr().err == (
            "acuity: split 'test' has 0 samples — need ≥2 to compute correlations; "
            "pass --split all to use every clip\n"
        )
        assert main(["evaluate", *models, "--features", small, "--split", "all"]) == 0
        capsys.readouterr()
    one = str(write(tmp_path / "one.parquet", {name: values[:1] for name, values in table.items()}))
    assert main(["evaluate", model, "--features", one, "--split", "all"]) == 1
    assert "--split" not in capsys.readouterr().err
