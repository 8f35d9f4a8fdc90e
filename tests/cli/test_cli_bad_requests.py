"""Models, features and options that make no sense, for both commands; refused as bad input is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_helpers import Runner
from small_model import small_document


def test_unknown_model(score: Runner, clips: Path) -> None:
    ran = score(clips / "ref.y4m", clips / "dis.y4m", "-m", "version=vmaf_v0.6.9")
    assert ran.code == 1
    assert "vmaf_v0.6.9" in ran.err
    assert "vmaf_v0.6.1" in ran.err


@pytest.mark.parametrize("spec", ["", "version=", "path=", ":", "name=only", "version=vmaf_v0.6.1:what=ever"])
def test_malformed_model_option(score: Runner, clips: Path, spec: str) -> None:
    assert score(clips / "ref.y4m", clips / "dis.y4m", "-m", spec).code == 1


def _changed(**changes: object) -> str:
    document = small_document()
    document["model_dict"].update(changes)
    return json.dumps(document)


def _without(key: str) -> str:
    document = small_document()
    del document["model_dict"][key]
    return json.dumps(document)


BAD_MODELS = {
    "not json": "{",
    "text": "this is no model",
    "empty": "",
    "a list": "[]",
    "nothing in it": "{}",
    "no model": _without("model"),
    "no features": _without("feature_names"),
    "no kind": _without("model_type"),
    "slopes are words": _changed(slopes=["a", "b", "c"]),
    "names are numbers": _changed(feature_names=[1, 2]),
    "model is a number": _changed(model=3),
    "slopes not finite": _changed(slopes=[float("nan"), 1.0, 1.0]),
    "intercepts infinite": _changed(intercepts=[float("inf"), 1.0, 1.0]),
    "unknown option": _changed(feature_opts_dicts=[{"adm_gain": 1}, {}]),
    "unknown feature": _changed(feature_names=["VMAF_feature_magic_score", "integer_vif_scale0"]),
}


@pytest.mark.parametrize("text", BAD_MODELS.values(), ids=BAD_MODELS.keys())
def test_malformed_model_file(score: Runner, clips: Path, tmp_path: Path, text: str) -> None:
    model = tmp_path / "bad.json"
    model.write_text(text)
    ran = score(clips / "ref.y4m", clips / "dis.y4m", "-m", f"path={model}")
    assert ran.code == 1
    assert "bad.json" in ran.err


@pytest.mark.parametrize(
    ("feature", "words"),
    [
        ("vifff", "vifff"),
        ("vif=vif_gain=1", "vif_gain"),
        ("vif=vif_enhn_gain_limit=1000", "1000"),
        ("vif=vif_enhn_gain_limit=many", "many"),
        ("vif=debug", "debug"),
        ("", "feature"),
    ],
)
def test_unknown_feature_or_option(score: Runner, clips: Path, feature: str, words: str) -> None:
    ran = score(clips / "ref.y4m", clips / "dis.y4m", "--feature", feature)
    assert ran.code == 1
    assert words in ran.err


@pytest.mark.parametrize(
    "option", ["--frobnicate", "--threads=many", "--threads=-1", "--subsample=x", "--width=x", "--backend"]
)
def test_wrong_options(score: Runner, clips: Path, option: str) -> None:
    ran = score(clips / "ref.y4m", clips / "dis.y4m", option)
    assert ran.code == 1
    assert "--help" in ran.err


def test_more_threads_than_any_machine_has(score: Runner, clips: Path) -> None:
    ran = score(clips / "ref.y4m", clips / "dis.y4m", "--threads", "4000000000")
    assert ran.code == 1
    assert "threads 4000000000" in ran.err


def test_backend_that_is_not_here(score: Runner, clips: Path) -> None:
    ran = score(clips / "ref.y4m", clips / "dis.y4m", "--backend", "cuda")
    assert ran.code == 100
    assert "cuda" in ran.err
