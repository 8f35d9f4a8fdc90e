"""Remedies in the spelling of every way into Acuity; names of files stay what they are."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from acuity.errors import (
    GEOMETRY,
    TO_LIST_FEATURES,
    TO_LIST_MODELS,
    TO_OMIT_GEOMETRY,
    InputError,
    JobFailed,
    Remedy,
    to_give,
    to_omit,
    to_set,
)
from acuity.jobs.config import JobsConfig
from acuity.jobs.service import Jobs
from acuity.jobs.tasks.score import score_payload
from acuity.scoring.fronts import FRONTS, sentence
from acuity.scoring.request import Request
from longwire.work import JobSpec
from scoring_clips import raw

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


@pytest.mark.parametrize(
    ("tool", "remedy"),
    [
        ("vmaf_score", "pass width= and height="),
        (
            "vmaf_score_encoded",
            "score the pair with vmaf_score, which takes width, height, pixfmt and bitdepth",
        ),
        ("compute_vmaf", "give width, height, pixel_format and bitdepth"),
    ],
)
def test_remedies_travel_from_a_worker(clip: Path, tool: str, remedy: str) -> None:
    request = Request(str(clip), str(clip), guess=True)
    config = JobsConfig(workers=1, queue=4, time_limit=PATIENCE, kept=9, data=None)

    async def main() -> None:
        async with Jobs(config) as jobs:
            spec = JobSpec("score", score_payload(request), tool, "a score")
            said = f"'{clip}' is raw video and its name gives no size: {remedy}"
            with pytest.raises(JobFailed) as caught:
                await jobs.run(spec, client="a")
            assert str(caught.value) == said
            found, _ = await jobs.list()
            assert found[0].error == said

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
