"""`acuity evaluate`, and `acuity features-table`, which makes the table that it reads."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import acuity
from acuity.cli.main import main
from rated_tables import SIX, columns, linear, some_keys, write
from tune_clips import write_y4m

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


FRAMES = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("rated")
    write_y4m(made / "ref.y4m", FRAMES)
    head, *pictures = (made / "ref.y4m").read_bytes().split(b"FRAME\n")
    for number in range(3):
        every = 50 - 15 * number  # samples between two that are changed
        worse = [
            bytes(value ^ 24 if place % every == 0 else value for place, value in enumerate(picture))
            for picture in pictures
        ]
        (made / f"dis{number}.y4m").write_bytes(b"FRAME\n".join([head, *worse]))
    return made


def test_a_table_that_can_be_evaluated(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"ref.y4m,dis{number}.y4m,{90 - 20 * number},libx264,{20 + number}" for number in range(3)]
    (folder / "list.csv").write_text("\n".join(["ref,dis,mos,codec,crf", *lines]) + "\n")
    table = folder / "table.parquet"
    assert main(["features-table", str(folder / "list.csv"), "-o", str(table)]) == 0
    printed = capsys.readouterr()
    assert "3 clips, 18 rows" in printed.out
    assert printed.err.splitlines()[-1] == "3 of 3: dis2.y4m"
    found = pq.read_table(table).to_pydict()
    assert list(found) == ["key", "frame", "mos", *SIX, "codec", "crf"]
    assert found["key"][::FRAMES] == ["dis0.y4m", "dis1.y4m", "dis2.y4m"]
    assert found["frame"] == [*range(FRAMES)] * 3
    assert found["mos"][::FRAMES] == [90.0, 70.0, 50.0]
    assert found["crf"][::FRAMES] == [20, 21, 22]
    report = acuity.score(folder / "ref.y4m", folder / "dis1.y4m", model=[], feature=["adm", "vif", "motion"])
    for name in SIX:
        expected = report.results.columns[f"integer_{name}"].tolist()
        assert found[name][FRAMES : 2 * FRAMES] == expected
    model = linear(folder / "m.onnx", (100.0, 0, 0, 0, 0, 0))
    assert main(["evaluate", str(model), "--features", str(table), "--split", "all", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["n"], document["rows"], document["pooling"]) == (3, 18, "per_clip")
    assert document["plcc"] > 0.5


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "has no column ref, dis, mos"),
        ("ref,dis\na,b\n", "has no column mos"),
        ("ref,dis,mos\n", "has no videos"),
        ("ref,dis,mos\nref.y4m,dis0.y4m,good\n", "line 2 of '{list}' has the mos 'good', which is no number"),
        ("ref,dis,mos\nref.y4m,dis0.y4m,nan\n", "has the mos 'nan', which is no number"),
        ("ref,dis,mos\nref.y4m,,5\n", "line 2 of '{list}' has no dis"),
        ("ref,dis,mos,crf\nref.y4m,dis0.y4m,5,1.5\n", "has the crf '1.5', which is no whole number"),
        (
            "ref,dis,mos\nref.y4m,dis0.y4m,5\nref.y4m,dis0.y4m,6\n",
            "lines 2 and 3 of '{list}' have the same key",
        ),
        ("ref,dis,mos\nref.y4m,dis0.y4m,5\nref.y4m,gone.y4m,6\n", "line 3 of '{list}': "),
        ('ref,dis,mos\n"ref.y4m,5\n', "is no CSV"),
    ],
)
def test_lists_that_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, sentence: str
) -> None:
    listed, table = folder / "bad.csv", folder / "none.parquet"
    listed.write_text(text)
    assert main(["features-table", str(listed), "-o", str(table), "-q"]) == 1
    printed = capsys.readouterr().err
    assert sentence.format(list=listed) in printed
    assert printed.count("\n") == 1
    assert not table.exists()


@pytest.mark.parametrize("ending", [".csv", ".JSON"])
def test_a_name_of_another_format(folder: Path, capsys: pytest.CaptureFixture[str], ending: str) -> None:
    output = folder / f"wrong{ending}"
    assert main(["features-table", str(folder / "list.csv"), "-o", str(output)]) == 1
    assert (
        f"and the table is written as parquet: name it '{folder / 'wrong.parquet'}'"
        in capsys.readouterr().err
    )
    assert not output.exists()
