"""A request as a record, as a document, and as the table that the ways in are made from; metrics by name."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest

import acuity
from acuity.errors import (
    GEOMETRY,
    TO_LIST_FEATURES,
    TO_LIST_MODELS,
    TO_OMIT_GEOMETRY,
    FeatureError,
    InputError,
    JobFailed,
    PairingError,
    Remedy,
    to_give,
    to_omit,
    to_set,
)
from acuity.features import make_extractor
from acuity.jobs.config import JobsConfig
from acuity.jobs.service import Jobs
from acuity.jobs.tasks.score import score_payload
from acuity.models import load_model
from acuity.models.choose import AUTO
from acuity.scoring.fronts import ACUITY, EMBEDDED, FRONTS, RAW, VMAF, sentence
from acuity.scoring.metrics import METRICS, Headline, Metric, find_metrics, headlines
from acuity.scoring.python_request import OPTIONS, python_request
from acuity.scoring.request import SETTINGS, Request
from acuity.video.pairs.pair_options import WORDS, PairOptions
from longwire.work import JobSpec
from scoring_clips import raw


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
    given = {"model": "auto", "pixfmt": "420", "width": 576.0, "frame_cnt": 3, "no_prediction": True}
    wanted = {"models": ["auto"], "pixel_format": "420", "width": 576, "frames": 3, "predict": False}
    assert RAW.fields({**given, "other": 1}) == wanted
    assert EMBEDDED.fields({"pixel_format": "422", "metrics": []}) == {"pixel_format": "422", "metrics": []}


def test_the_table_is_light() -> None:
    """`vmaf --version` reads it."""
    program = "import sys, acuity.scoring.fronts; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def names(*given: str) -> list[str]:
    return [metric.name for metric in find_metrics(given)]


def test_names_are_taken_as_people_write_them() -> None:
    assert names("vmaf,psnr", "ssim", "psnr") == ["vmaf", "psnr", "ssim"]
    assert names("MS-SSIM, ms_ssim , Psnr") == ["ms-ssim", "psnr"]
    assert names() == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("vmff", "unknown metric 'vmff': did you mean 'vmaf'? there are vmaf, "),
        ("float_ssim", "did you mean 'ssim'?"),
        ("motion", "'motion' is an extractor and no metric: ask for it as a feature"),
        ("loudness", "unknown metric 'loudness': use one of vmaf, "),
        ("", "unknown metric ''"),
        ("vmaf,,psnr", "unknown metric ''"),
    ],
)
def test_unknown_names_are_explained(name: str, words: str) -> None:
    with pytest.raises(FeatureError) as caught:
        find_metrics([name])
    assert words in str(caught.value)
    assert "speed-temporal" in str(caught.value)


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS.keys())
def test_every_metric_is_measured_by_one_thing(metric: Metric) -> None:
    assert bool(metric.feature) != bool(metric.model)
    assert metric.help
    assert bool(metric.key) == (metric.model != AUTO)
    if metric.model and metric.model != AUTO:
        assert load_model(metric.model).output_names() == [metric.key]


EXTRACTED = [metric for metric in METRICS.values() if metric.feature]


@pytest.mark.parametrize("metric", EXTRACTED, ids=lambda metric: metric.name)
def test_the_figure_that_counts_is_one_of_the_extractors(metric: Metric) -> None:
    extractor = make_extractor(metric.spec(Fraction(50)))
    assert metric.key in extractor.keys(late=False)


def test_headlines_are_in_the_order_asked() -> None:
    psnr, vmaf, neg = find_metrics(["psnr,vmaf,vmaf-neg"])
    models = {"vmaf": "vmaf_v0.6.1", "other": "/models/other.json", "vmaf_neg": "vmaf_v0.6.1neg"}
    assert headlines([psnr, vmaf, neg], models) == [
        Headline(psnr, "psnr_y", "psnr"),
        Headline(vmaf, "vmaf", "vmaf_v0.6.1"),
        Headline(vmaf, "other", "/models/other.json"),
        Headline(neg, "vmaf_neg", "vmaf_v0.6.1neg"),
    ]


def test_some_are_told_the_frame_rate() -> None:
    metric = METRICS["xpsnr"]
    assert metric.spec(Fraction(60000, 1001)) == "xpsnr=frame_rate=59.9401"
    assert metric.spec(None) == "xpsnr"
    assert METRICS["vif"].spec(Fraction(60)) == "vif=debug=true"
    assert METRICS["vif"]._replace(rate_option="r").spec(Fraction(50)) == "vif=debug=true:r=50"


def test_the_worst_is_on_the_bad_side() -> None:
    assert METRICS["psnr"].worst == ("min", "p5")
    assert METRICS["cambi"].worst == ("max", "p95")


# ---- Remedies in the spelling of every way into Acuity; names of files stay what they ----


PATIENCE = 60.0

# A remedy as it is said in Python, and by the fronts in NAMES.
SPELLINGS = [
    (to_set("scale", "force"), "scale='force'", "--scale force", "--scale force", *["scale=force"] * 3),
    (
        to_set("allow_damaged", True),
        "allow_damaged=True",
        "--allow-damaged",
        "--allow_damaged",
        *["allow_damaged=true"] * 3,
    ),
    (to_set("frames", "9"), "frames=9", "--frames 9", "--frame_cnt 9", *["frame_cnt=9"] * 2, None),
    (
        to_give("pixel_format", "bitdepth", verb="say which with"),
        "say which with pixel_format= and bitdepth=",
        "say which with --pixel-format and --bitdepth",
        "say which with --pixel_format and --bitdepth",
        "say which with pixfmt= and bitdepth=",
        "score the pair with vmaf_score, which takes width, height, pixfmt and bitdepth",
        "give width, height, pixel_format and bitdepth",
    ),
    (
        TO_OMIT_GEOMETRY,
        *["leave out the geometry"] * 3,
        "score the pair with vmaf_score_encoded",
        "leave out the geometry",
        "leave out width, height, pixel_format and bitdepth",
    ),
    (
        to_omit("tiny_codec", "no_reference"),
        "leave out tiny_codec and no_reference",
        *["leave out --tiny-codec and --no-reference"] * 2,
        *["leave out tiny_codec and no_reference"] * 3,
    ),
    (TO_LIST_MODELS, *["run 'acuity models'"] * 3, *["call list_models"] * 3),
    (TO_LIST_FEATURES, *["run 'acuity features'"] * 3, *["call list_extractors"] * 2, "call list_features"),
]
NAMES = ("acuity", "vmaf", "vmaf_score", "vmaf_score_encoded", "compute_vmaf")


@pytest.mark.parametrize(("remedy", "python", "said"), [(row[0], row[1], row[2:]) for row in SPELLINGS])
def test_every_front_spells_a_remedy(remedy: Remedy, python: str, said: tuple[str | None, ...]) -> None:
    error = InputError("'pixfmt=.yuv': ", remedy, " or 'scale='force''")
    assert str(error) == f"'pixfmt=.yuv': {python} or 'scale='force''"
    for name, words in zip(NAMES, said, strict=True):
        if words is not None:
            assert sentence(error, name) == f"'pixfmt=.yuv': {words} or 'scale='force''"
    assert Remedy.from_document([*remedy]) == remedy


def test_a_tool_without_a_front_of_its_own_describes_no_raw_video() -> None:
    error = InputError(to_give(*GEOMETRY))
    assert sentence(error, "list_videos") == sentence(error, "vmaf_score_encoded")
    assert "vmaf.request_model_swap" in FRONTS


@pytest.fixture(params=["pixfmt_test.yuv", "--width.yuv", "scale='force'_rate=match.yuv"])
def clip(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A raw video whose name looks like a setting, and says nothing about its size."""
    return raw(tmp_path / str(request.param))


@pytest.mark.usefixtures("prepared_workers")
def test_remedies_travel_from_a_worker(clip: Path) -> None:
    request = Request(str(clip), str(clip), guess=True)
    config = JobsConfig(workers=1, queue=4, time_limit=PATIENCE, kept=9, data=None)
    remedies = {
        "vmaf_score": "pass width= and height=",
        "vmaf_score_encoded": "score the pair with vmaf_score, which takes width, height, pixfmt "
        "and bitdepth",
        "compute_vmaf": "give width, height, pixel_format and bitdepth",
    }

    async def main() -> None:
        async with Jobs(config) as jobs:
            for tool, remedy in remedies.items():
                said = f"'{clip}' is raw video and its name gives no size: {remedy}"
                with pytest.raises(JobFailed) as caught:
                    await jobs.run(JobSpec("score", score_payload(request), tool, "a score"), client="a")
                found, _ = await jobs.list()
                assert str(caught.value) == found[0].error == said

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
