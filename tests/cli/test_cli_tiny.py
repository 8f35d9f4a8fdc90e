"""Tiny models and --no-reference on the command line: both commands from the options to the report."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest

import acuity
from acuity.cli.main import main
from cli_helpers import GEOMETRY, Cli
from rated_tables import SIX, columns, linear, some_keys, write
from tiny_clip_models import full_reference, no_reference
from tune_clips import write_y4m


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    full_reference(folder / "fr.onnx")
    no_reference(folder / "nr.onnx")
    return folder


def test_vmaf_scores_with_a_tiny_model(cli: Cli, clips: Path, models: Path, tmp_path: Path) -> None:
    videos = ["-r", str(clips / "ref.yuv"), "-d", str(clips / "dis.yuv"), *GEOMETRY]
    tiny = ["--tiny-model", str(models / "fr.onnx"), "--tiny_device", "cpu", "--dnn-ep", "cpu"]
    report = tmp_path / "report.json"
    ran = cli.vmaf(*videos, *tiny, "--tiny-threads=1", "--json", "-o", str(report))
    assert ran.code == 0, ran.err
    found = json.loads(report.read_text())
    assert set(found["pooled_metrics"]) >= {"vmaf", "fr"}
    assert list(found["frames"][0]["metrics"])[-2:] == ["vmaf", "fr"]
    assert (found["tiny_model"]["kind"], found["tiny_model"]["threads"]) == ("fr", 1)
    mean = found["pooled_metrics"]["fr"]["mean"]
    assert f"{models / 'fr.onnx'}: {mean:.6f}\n" in ran.err
    plain = tmp_path / "plain.json"
    cli.vmaf(*videos, "--json", "-o", str(plain))
    assert json.loads(plain.read_text())["pooled_metrics"]["vmaf"] == found["pooled_metrics"]["vmaf"]


def test_vmaf_without_a_reference(cli: Cli, clips: Path, models: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    tiny = ["--no-reference", "--tiny_model", str(models / "nr.onnx")]
    alone = ["-d", str(clips / "dis.yuv"), *GEOMETRY, *tiny]
    ran = cli.vmaf(*alone, "-o", str(report))
    assert ran.code == 0, ran.err
    tree = ElementTree.parse(report).getroot()
    assert [metric.get("name") for metric in tree.iter("metric")] == ["nr"]
    about = tree.find("acuity")
    assert about is not None
    assert about.get("no_reference") == "true"
    assert about.find("tiny_model").get("kind") == "nr"  # type: ignore[union-attr]
    assert about.findall("note") == []
    named = cli.vmaf("-r", str(clips / "no such.yuv"), *alone)  # which isn't read
    assert named.code == 0, named.err
    assert named.err == ran.err


def test_acuity_score_without_a_reference(cli: Cli, clips: Path, models: Path, tmp_path: Path) -> None:
    dis, tiny = str(clips / "dis.y4m"), ["--tiny-model", str(models / "nr.onnx")]
    ran = cli.acuity("score", dis, "--no-reference", *tiny)
    assert ran.code == 0, ran.err
    assert re.search(
        r"^  nr  \d+\.\d\d   tiny model .*nr\.onnx, scored at 8 bit, without a reference$", ran.out, re.M
    )
    assert "reference" not in ran.err
    assert "distorted  dis.y4m" in ran.err
    quiet = cli.acuity("score", *tiny, "--no-reference", dis, "-q", "--skip", "1")
    assert re.fullmatch(r"-?\d+\.\d{6}\n", quiet.out)
    both = cli.acuity("score", str(clips / "ref.y4m"), *tiny, dis, "--no-reference", "-q", "--skip", "1")
    assert both.out == quiet.out
    document = json.loads(cli.acuity("score", dis, "--no-reference", *tiny, "--json").out)
    assert (document["no_reference"], document["input"]["reference"]) == (True, None)


def test_acuity_score_shows_both(cli: Cli, clips: Path, models: Path) -> None:
    videos = [str(clips / "ref.y4m"), str(clips / "dis.y4m")]
    ran = cli.acuity("score", *videos, "--tiny-model", str(models / "fr.onnx"))
    assert re.search(
        r"^  VMAF  +\d+\.\d\d   vmaf_v0\.6\.1, .*\n  fr    +\d+\.\d\d   tiny model ", ran.out, re.M
    )
    quiet = cli.acuity("score", *videos, "--tiny-model", str(models / "fr.onnx"), "--metrics", "psnr", "-q")
    assert re.fullmatch(r"psnr \d+\.\d{6}\nfr -?\d+\.\d{6}\n", quiet.out)
    quiet = cli.acuity("score", *videos, "--tiny-model", str(models / "fr.onnx"), "-q")
    assert re.fullmatch(r"vmaf \d+\.\d{6}\nfr -?\d+\.\d{6}\n", quiet.out)
    without = cli.acuity("score", *videos, "--metrics", "vmaf,psnr", "-q")
    assert re.fullmatch(r"(\d+\.\d{6}\n){2}", without.out)


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (["--no-reference"], 1, "--no-reference requires --tiny-model; no classic NR scorer exists"),
        (["--tiny-resize", "nearest"], 1, "--tiny-resize has no effect without --tiny-model"),
        (["--tiny-model", "no_such_model"], None, "no tiny model named 'no_such_model'"),
        (["--tiny-model", "none.onnx"], None, "'none.onnx' could not be read: No such file"),
        (["--tiny-model", "{nr}", "--tiny-device", "cuda"], 100, "CUDAExecutionProvider"),
        (["--tiny-model", "{nr}", "--tiny-model", "{fr}"], 1, "--tiny-model is given twice"),
        (["--tiny-model", "m", "--tiny-crf", "1", "--tiny-crf", "1"], 1, "--tiny-crf is given twice"),
        (["--tiny-model", "{nr}", "--tiny-codec", "x264"], None, "reads no codec: leave out --tiny-codec"),
        (["--tiny-model", "{nr}", "--tiny-device", "rocm"], 100, ": --tiny-device rocm needs the ROCM"),
        (["--tiny-model", "{nr}", "--tiny-fp16"], None, "export it in float16, or leave out --tiny-fp16"),
        (["--tiny-model", "{fr}", "--no-reference"], None, "reference model, or leave out --no-reference"),
        (["--tiny-model", "acuity_fr_v1", "--tiny-model-verify"], None, "leave out --tiny-model-verify;"),
        (["-m", "path={nr}"], None, "is a tiny model (ONNX), not a VMAF model: name it with --tiny-model"),
    ],
)
def test_refusals(
    command: str, cli: Cli, clips: Path, models: Path, options: list[str], code: int | None, sentence: str
) -> None:
    given = [word.format(nr=models / "nr.onnx", fr=models / "fr.onnx") for word in options]
    videos = [str(clips / "ref.y4m"), str(clips / "dis.y4m")]
    ran = cli.score(command, *videos, *given)
    assert sentence in ran.err
    assert ran.out == ""
    assert ran.refused if code is None else ran.code == code
    assert len([line for line in ran.err.splitlines() if line.startswith(f"{command}: ")]) == 1


def test_two_names_of_the_device_must_agree(cli: Cli, clips: Path) -> None:
    videos = ["-r", str(clips / "ref.y4m"), "-d", str(clips / "dis.y4m"), "--tiny-model", "m"]
    ran = cli.vmaf(*videos, "--tiny-device", "cpu", "--dnn-ep", "cuda")
    assert ran.code == 1
    assert "--tiny-device cpu and --dnn-ep cuda are the same option and name two devices" in ran.err
    alone = cli.vmaf(*videos[:4], "--dnn_ep", "cpu")
    assert "--tiny-device has no effect without --tiny-model" in alone.err


def test_one_video_is_missing(cli: Cli, clips: Path, models: Path) -> None:
    ran = cli.acuity("score", str(clips / "dis.y4m"), "--tiny-model", str(models / "nr.onnx"))
    assert ran.code == 1
    assert "required: DIS; one video alone is scored with --no-reference and --tiny-model\n" in ran.err
    ran = cli.vmaf("-d", str(clips / "dis.y4m"), "--tiny-model", str(models / "nr.onnx"))
    assert ran.code == 1
    assert "the reference video is missing: name it with -r/--reference, or pass --no-reference\n" in ran.err


def test_without_the_extra(
    command: str, cli: Cli, clips: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    dis, tiny = str(clips / "dis.y4m"), ["--tiny-model", str(models / "nr.onnx"), "--no-reference"]
    ran = cli.vmaf("-d", dis, *tiny) if command == "vmaf" else cli.acuity("score", dis, *tiny)
    assert ran.code == 1
    assert ran.err == f"{command}: tiny models need the extra 'tiny': pip install 'acuity-vmaf[tiny]'\n"


# ---- `acuity evaluate`, and `acuity features-table`, which makes the table that it re ----


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
    weights = {"bad": (1.0, 0, 0, 0, 0, 0), "good": SUM}
    models = [str(linear(tmp_path / f"{name}.onnx", given)) for name, given in weights.items()]
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
        ("ref,dis,mos\nref.y4m,dis0.y4m,5\nref.y4m,dis0.y4m,6\n", "lines 2 and 3 of '{list}' have the same"),
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
    said = f"and the table is written as parquet: name it '{folder / 'wrong.parquet'}'"
    assert said in capsys.readouterr().err
    assert not output.exists()
