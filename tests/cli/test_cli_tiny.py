"""Tiny models and --no-reference on the command line: both commands from the options to the report."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cli_helpers import GEOMETRY, Cli
from tiny_clip_models import full_reference, no_reference


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
    alone = [
        "-d",
        str(clips / "dis.yuv"),
        *GEOMETRY,
        "--no-reference",
        "--tiny_model",
        str(models / "nr.onnx"),
    ]
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
