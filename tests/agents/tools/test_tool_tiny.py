"""Tiny models and no_reference in the scoring tools, and in list_models and describe_model."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import acuity
from acuity.agents.tools import models
from product_server import environment, stdio
from scoring_clips import FORK_HELP, GEOMETRY, fake_vmaf, raw, runs_of
from scoring_room import (
    OWN_GEOMETRY,
    Ask,
    Asked,
    ThreadJobs,
    ask_once,
    encoded_arguments,
    playing,
    raw_arguments,
)
from tiny_clip_models import full_reference, no_reference
from tool_results import sentence_of

ALONE = {"no_reference": True}
NR = {"tiny_model": "{}/nr.onnx"}


@pytest.fixture(scope="module", autouse=True)
def models_beside(clips: Path) -> None:
    full_reference(clips / "fr.onnx")
    no_reference(clips / "nr.onnx")


async def test_a_tiny_model_scores_beside_the_default(ask: Ask, clips: Path) -> None:
    tiny = str(clips / "fr.onnx")
    asked = raw_arguments(clips, tiny_model=tiny, tiny_device="cpu", precision="max")
    found = await ask("vmaf_score", **asked)
    models = {"model": "vmaf_v0.6.1", "tiny_model": tiny}
    expected = acuity.score(clips / "ref.yuv", clips / "dis.yuv", **OWN_GEOMETRY, **models)
    assert [model["name"] for model in found["models"]] == ["vmaf", "fr"]
    assert found["score"] == expected.score
    assert found["pooled_metrics"]["fr"]["mean"] == expected.pool("fr")
    assert (found["tiny_model"]["path"], found["tiny_model"]["kind"]) == (tiny, "fr")
    plain = await ask("vmaf_score", **raw_arguments(clips))
    assert "tiny_model" not in plain


async def test_no_reference_reads_one_video(ask: Ask, thread_jobs: ThreadJobs, clips: Path) -> None:
    tiny = str(clips / "nr.onnx")
    found = await ask("vmaf_score", **raw_arguments(clips, ref=None, tiny_model=tiny, **ALONE))
    assert (found["no_reference"], found["model"], found["score"]) == (True, tiny, found["models"][0]["mean"])
    assert list(found["pooled_metrics"]) == ["nr"]
    assert "reference" not in found["acuity"]["input"]
    given = await ask("vmaf_score", **raw_arguments(clips, tiny_model=tiny, **ALONE))
    assert given["score"] == found["score"]
    encoded = await ask("vmaf_score_encoded", **encoded_arguments(clips, tiny_model=tiny, **ALONE))
    assert encoded["no_reference"] is True
    assert encoded["acuity"]["input"]["distorted"]["path"] == str(clips / "dis.mp4")
    assert all("reference" not in spec.payload["request"] for spec in thread_jobs.specs)
    assert thread_jobs.specs[0].title == "dis.yuv without a reference"


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({**ALONE}, "no_reference requires tiny_model; no classic NR scorer exists"),
        ({**ALONE, "ref": None}, "no_reference requires tiny_model; no classic NR scorer exists"),
        ({"ref": None}, "tool 'vmaf_score' missing required argument: 'ref'"),
        ({"tiny_codec": "libx264"}, "tiny_codec has no effect without tiny_model"),
        ({"tiny_model": "{}/nr.onnx", "tiny_crf": 64}, "invalid tiny_crf 64: should be 63 or less"),
        ({**NR, "tiny_device": "tpu"}, "invalid tiny_device 'tpu': use one of 'auto', 'cpu'"),
        ({"tiny_model": "{}/nr.onnx", "tiny_device": "coreml"}, "CoreMLExecutionProvider"),
        ({"tiny_model": "/etc/passwd"}, "'/etc/passwd' is no tiny model: name an .onnx file, or one that"),
        ({"tiny_model": "/etc/net.onnx"}, "path /etc/net.onnx not under an allowlisted root"),
        ({"tiny_model": "{}/../net.onnx"}, "not under an allowlisted root"),
        ({"tiny_model": "{}/none.onnx"}, "no such file under the allowed folders"),
        ({"tiny_model": "http://example.org/a.onnx"}, "only local files are read"),
        ({"tiny_model": "nothing"}, "'nothing' is no tiny model"),
        ({"tiny_model": "{}/fr.onnx", **ALONE}, "needs the reference: name a no-reference model"),
        ({**NR, **ALONE, "ref": "/etc/passwd"}, "path /etc/passwd not under an allowlist"),
        ({**NR, **ALONE, "model": "auto", "viewing": "tv"}, "viewing has no effect with no_"),
        ({**NR, **ALONE, "model": "version=vmaf_v0.6.1"}, "leave out model, or no_reference"),
        ({**NR, **ALONE, "frame_skip_ref": 1}, "frame_skip_ref has no effect with no_refer"),
        ({**NR, **ALONE, "aom_ctc": "v1.0"}, "a classic model needs the reference"),
        ({**NR, **ALONE, "disable_clip": True}, "takes no disable_clip"),
        ({**NR, **ALONE, "feature": ["psnr"]}, "psnr compares with the reference"),
        ({"model": "path={}/nr.onnx"}, "is a tiny model (ONNX), not a VMAF model: pass it as tiny_model"),
    ],
)
async def test_refusals(ask: Ask, clips: Path, changed: dict[str, Any], sentence: str) -> None:
    given = {
        name: value.format(clips) if isinstance(value, str) else value for name, value in changed.items()
    }
    assert sentence in (await ask("vmaf_score", **raw_arguments(clips, **given)))["error"]


async def test_another_binary_gets_no_tiny_model(clips: Path, tmp_path: Path) -> None:
    binary = fake_vmaf(tmp_path / "vmaf", help=FORK_HELP, scoring="report()")
    async with playing(clips, binary=binary) as ask:
        found = await ask("vmaf_score", **raw_arguments(clips, tiny_model=str(clips / "nr.onnx")))
        assert found["error"] == (
            "tiny_model is scored by Acuity's own engine, and VMAF_BIN names another: leave it out, or unset "
            "VMAF_BIN"
        )
    assert not any("-r" in argv for argv in runs_of(binary))


async def test_names_are_those_of_the_list(
    thread_jobs: ThreadJobs, clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full_reference(tmp_path / "mine.onnx")
    monkeypatch.setenv("ACUITY_MODEL_PATH", str(tmp_path))
    async with playing(clips, jobs=thread_jobs) as ask:
        for name in ("acuity_fr_v1", "mine", "mine.onnx"):
            found = await ask("vmaf_score", **raw_arguments(clips, tiny_model=name))
            assert [model["name"] for model in found["models"]][1] in ("acuity_fr_v1", "mine")
    asked = [spec.payload["request"]["tiny_model"] for spec in thread_jobs.specs]
    assert asked == ["acuity_fr_v1", *[str(tmp_path / "mine.onnx")] * 2]


def test_tiny_models_are_listed_and_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held_out = {"test": {"plcc": 0.9}}
    (tmp_path / "shelf").mkdir()
    made = full_reference(tmp_path / "shelf" / "mine.onnx", license="MIT", held_out=held_out)
    monkeypatch.setenv("ACUITY_MODEL_PATH", str(made.parent))
    asked = Asked(models.tools, roots=[tmp_path])
    listed = [model for model in asked.ask("list_models")["models"] if model["format"] == "onnx"]
    assert [model["name"] for model in listed] == ["acuity_fr_v1", "acuity_nr_v1", "mine"]
    assert all(model["usable"] for model in listed)
    others = [model["name"] for model in asked.ask("list_models")["models"] if model["format"] == "json"]
    assert not {"mine", "registry"} & {*others}
    found = asked.ask("describe_model", name="mine")
    assert (found["model_type"], found["feature_names"], found["model_argument"]) == (None, None, None)
    assert (found["usable"], found["problem"], found["tiny_model_argument"]) == (True, None, "mine")
    tiny = found["tiny"]
    assert (tiny["kind"], tiny["license"], tiny["held_out"]) == ("fr", "MIT", held_out)
    assert (tiny["features"][0], len(tiny["sha256"])) == ("adm2", 64)
    by_path = asked.ask("describe_model", name=str(made))
    assert by_path["tiny"] == tiny
    own = asked.ask("describe_model", name="acuity_nr_v1")
    assert (own["tiny"]["kind"], own["intended_use"][:31]) == ("nr", "reads the distorted video alone")
    assert own["tiny"]["held_out"]


def test_a_description_is_short_whatever_the_sidecar_says(tmp_path: Path) -> None:
    asked = Asked(models.tools, roots=[tmp_path])
    for name in ("acuity_fr_v1", "acuity_nr_v1"):
        own = asked.ask("describe_model", name=name)
        assert list(own)[:6] == ["name", "usable", "problem", "tiny_model_argument", "intended_use", "tiny"]
        assert list(own["tiny"])[:5] == ["name", "kind", "inputs", "input_shape", "outputs"]
        assert "by_content" not in json.dumps(own)
        assert own["tiny"]["held_out"]["real"]["clips"]["plcc"] > 0.7
        assert len(json.dumps(own)) < 4096
    figures = {f"set-{number}": {"plcc": 0.9} for number in range(10_000)}
    said = {"license": "MIT\n\x1b[31m" + "x" * 5000, "notes": "a\nb" * 2000, "held_out": figures}
    made = full_reference(tmp_path / "mine.onnx", **said)
    found = asked.ask("describe_model", name=str(made))
    assert len(json.dumps(found)) < 4096
    assert found["tiny"]["license"].startswith("MIT [31mxxx")
    for text in (found["tiny"]["license"], found["tiny"]["notes"]):
        assert len(text) <= 300
        assert text.isprintable()
    raw(tmp_path / "ref.yuv")
    raw(tmp_path / "dis.yuv", worse=True)
    block = ask_once(tmp_path, "vmaf_score", **raw_arguments(tmp_path, tiny_model=str(made)))["tiny_model"]
    assert (block["license"], block["notes"]) == (found["tiny"]["license"], found["tiny"]["notes"])


def test_files_outside_the_model_folders_are_described_by_what_was_checked(tmp_path: Path) -> None:
    allowed, secret = tmp_path / "allowed", tmp_path / "secret.json"
    allowed.mkdir()
    made = no_reference(allowed / "mine.onnx")
    asked = Asked(models.tools, roots=[allowed])
    assert asked.ask("describe_model", name=str(made))["tiny_model_argument"] == str(made)
    secret.write_text(json.dumps({"id": "secret", "kind": "nr"}))
    beside = made.with_suffix(".json")
    beside.unlink()
    beside.symlink_to(secret)
    assert "not under an allowlisted root" in asked.ask("describe_model", name=str(made))["error"]
    beside.unlink()
    for said, problem in (
        ({"kind": "filter"}, "is a filter"),
        ({"sha256": "0" * 64}, "its SHA-256 is another"),
    ):
        beside.write_text(json.dumps({"id": "mine", **said}))
        assert problem in asked.ask("describe_model", name=str(made))["problem"]


async def test_workers_check_what_is_beside_the_model(tmp_path: Path) -> None:
    """On the real server: the sidecar leads out of the allowed folders; then the extra is missing there."""
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps({"id": "secret", "kind": "nr"}))
    linked = no_reference(allowed / "linked.onnx")
    linked.with_suffix(".json").unlink()
    linked.with_suffix(".json").symlink_to(secret)
    dis = raw(allowed / "dis.yuv", worse=True)
    given = {"dis": str(dis), **GEOMETRY, **ALONE}

    async with stdio(allowed, "2026-07-28") as client:
        bad = await client.call_tool("vmaf_score", {**given, "tiny_model": str(linked)})
        named = {**given, "tiny_model": "acuity_nr_v1", "tiny_resize": "bilinear"}
        good = await client.call_tool("vmaf_score", named)
    assert "not under an allowlisted root" in sentence_of(bad)
    assert good.structured_content["tiny_model"]["name"] == "acuity_nr_v1", good


async def test_workers_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "absent").mkdir()
    (tmp_path / "absent" / "onnxruntime.py").write_text("raise ImportError('not here')")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'absent'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    assert "absent" in environment(tmp_path)["PYTHONPATH"]
    dis = raw(tmp_path / "dis.yuv", worse=True)
    given = {"dis": str(dis), **GEOMETRY, **ALONE, "tiny_model": "acuity_nr_v1"}
    async with stdio(tmp_path, "2026-07-28") as client:
        answer = await client.call_tool("vmaf_score", given)
    assert sentence_of(answer) == "tiny models need the extra 'tiny': pip install 'acuity-vmaf[tiny]'"
