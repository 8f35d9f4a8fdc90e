"""The engine's sentences in the words of the scoring tools."""

from __future__ import annotations

import pytest

from acuity.jobs.tasks.remedies import as_arguments


def test_a_container_given_as_raw_is_sent_to_the_other_tool() -> None:
    sentence = "'a.mp4' is MP4 or MOV, which says its own size: leave out the geometry"
    assert as_arguments(sentence, geometry=True).endswith(": score the pair with vmaf_score_encoded")


@pytest.mark.parametrize(
    "remedy",
    [
        "pass width=, height=, pixel_format= and bitdepth=",
        "pass width= and height=",
        "say which with pixel_format= and bitdepth=",
    ],
)
def test_raw_video_without_geometry_is_sent_to_the_other_tool(remedy: str) -> None:
    told = as_arguments(f"'a.yuv' is raw video: {remedy}", geometry=False)
    assert told == (
        "'a.yuv' is raw video: score the pair with vmaf_score, which takes width, height, pixfmt and bitdepth"
    )


def test_lists_are_tools() -> None:
    told = as_arguments("no such thing; run 'acuity models' for a list, or 'acuity features'", geometry=True)
    assert told == "no such thing; call list_models for a list, or call list_extractors"


@pytest.mark.parametrize("geometry", [True, False])
def test_names_of_files_stay(geometry: bool) -> None:
    sentence = "'pixel_format=.yuv' and '/clips/allow_damaged=True.mp4' have no frame in common"
    assert as_arguments(sentence, geometry=geometry) == sentence


def test_pairing_words_are_arguments_already() -> None:
    sentence = "dimensions do not match, so pass scale=force to scale the distorted video"
    assert as_arguments(sentence, geometry=False) == sentence
    assert "allow_damaged=true" in as_arguments("or pass allow_damaged=True", geometry=False)


def test_a_sentence_that_repeats_megabytes_is_cut_before_it_is_read() -> None:
    sentence = f"'m.json' has the model_type '{'x' * 3_000_000}', which nobody knows: run 'acuity models'"
    told = as_arguments(sentence, geometry=True)
    assert len(told) < 9000
    assert told.startswith("'m.json' has the model_type 'xxx")
    assert told.endswith("x', which nobody knows: call list_models")
