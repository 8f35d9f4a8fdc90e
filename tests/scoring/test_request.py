"""A request as a record, as a document, and as the table that the ways in are made from."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest

import acuity
from acuity.errors import PairingError
from acuity.scoring.fronts import ACUITY, EMBEDDED, RAW, VMAF
from acuity.scoring.python_request import OPTIONS, python_request
from acuity.scoring.request import SETTINGS, Request
from acuity.video.pairs.pair_options import WORDS, PairOptions


def test_a_document_brings_the_request_back() -> None:
    request = Request(
        Path("a.yuv"),
        "b.yuv",
        models=("version=x", "auto"),
        metrics=["psnr"],
        fps=Fraction(30000, 1001),
        width=64,
        predict=False,
        scale="force",
        excluded_backends={"cuda"},
    )
    document = json.loads(json.dumps(request.to_document()))
    assert document == {
        "reference": "a.yuv",
        "distorted": "b.yuv",
        "models": ["version=x", "auto"],
        "metrics": ["psnr"],
        "fps": "30000/1001",
        "width": 64,
        "predict": False,
        "scale": "force",
        "excluded_backends": ["cuda"],
    }
    again = Request.from_document(document)
    assert again.to_document() == document
    assert (again.fps, again.pairing) == (request.fps, PairOptions(scale="force"))
    plain = Request("a", "b")
    assert Request.from_document(plain.to_document()) == plain


def test_what_cannot_travel_is_refused() -> None:
    with pytest.raises(TypeError, match="models of a request"):
        Request("a", "b", models=[acuity.load_model("vmaf_v0.6.1")]).to_document()
    with pytest.raises(TypeError, match="no_such_field"):
        Request.from_document({"reference": "a", "distorted": "b", "no_such_field": 1})


def test_a_word_that_is_unknown_is_refused_at_once() -> None:
    with pytest.raises(PairingError, match=r"scale='may be' is unknown: use one of auto, never, force"):
        Request("a", "b", scale="may be")


def test_defaults_are_those_of_the_parts() -> None:
    assert Request("a", "b").pairing == PairOptions()
    for name, words in WORDS.items():
        assert SETTINGS[name].default == (None if name == "display" else words[0])


def test_python_has_every_option_of_the_command_by_its_name() -> None:
    assert OPTIONS ^ {ACUITY.name(name).replace("-", "_") for name in ACUITY.settings} == {"skip", "guess"}
    assert python_request("a", "b") == Request("a", "b", guess=True)
    with pytest.raises(TypeError, match="unexpected keyword argument 'frame'"):
        acuity.score("a", "b", frame=1)


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting_makes_an_argument(setting: str) -> None:
    assert SETTINGS[setting].group
    argument = RAW.argument(setting)
    jsonschema.Draft202012Validator.check_schema(argument)
    assert argument["description"][0].isupper() or setting in ("models", "hdr")
    assert "{" not in ACUITY.help(setting) + VMAF.help(setting) + argument["description"]


def test_arguments_become_fields() -> None:
    given = {
        "model": "auto",
        "pixfmt": "420",
        "width": 576.0,
        "frame_cnt": 3,
        "no_prediction": True,
        "other": 1,
    }
    assert RAW.fields(given) == {
        "models": ["auto"],
        "pixel_format": "420",
        "width": 576,
        "frames": 3,
        "predict": False,
    }
    assert EMBEDDED.fields({"pixel_format": "422", "metrics": []}) == {"pixel_format": "422", "metrics": []}


def test_the_table_is_light() -> None:
    """`vmaf --version` reads it."""
    program = "import sys, acuity.scoring.fronts; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
