"""The sentence and the list of a frame's artefacts: order, words, comparison with the clip."""

from __future__ import annotations

import json

import pytest

from acuity.frames.artefacts.cells import Box
from acuity.frames.artefacts.findings import ArtefactFinding, Examination, Typical, artefacts, describe


def _found(*findings: tuple[str, float], where: str = "whole picture", note: str = "") -> Examination:
    box = Box(0, 0, 64, 48)
    return Examination(
        {name: ArtefactFinding(name, severity, severity, where, box, note) for name, severity in findings}
    )


def test_the_worst_comes_first_and_at_most_three() -> None:
    found = _found(("blur", 0.35), ("blocking", 0.7), ("noise", 0.15), ("ringing", 0.5))
    assert describe(found, Typical()) == (
        "Blocking, severe, whole picture; ringing, visible, whole picture; blur, visible, whole picture."
    )


@pytest.mark.parametrize(
    ("typical", "words"),
    [
        ({"blocking": 0.2}, "Blocking, severe, mostly lower left (3.0 times the clip's median)."),
        ({"blocking": 0.55}, "Blocking, severe, mostly lower left (as in most of the clip)."),
        ({"blocking": 0.0}, "Blocking, severe, mostly lower left (none in most of the clip)."),
        ({}, "Blocking, severe, mostly lower left."),
    ],
)
def test_compared_with_the_clip(typical: dict[str, float], words: str) -> None:
    assert describe(_found(("blocking", 0.6), where="lower left"), Typical(typical)) == words


def test_what_some_frames_have_is_not_called_absent() -> None:
    frames = [_found(("blocking", severity)) for severity in (0.45, 0.45, 0, 0.45, 0.45, 0, 0, 0, 0, 0)]
    assert describe(frames[0], Typical.of(frames)).endswith("(in less than half of the clip).")
    rarely = Typical.of([*frames, *frames[5:] * 4])
    assert describe(frames[0], rarely).endswith("(none in most of the clip).")


@pytest.mark.parametrize(
    ("severities", "typical", "first"),
    [
        ((0.42, 0.40), (0.4, 0.1), "Noise"),
        ((0.42, 0.40), (0.1, 0.4), "Blur"),
        ((0.61, 0.58), (0.6, 0.0), "Blur, severe"),  # a milder word never comes first
    ],
)
def test_close_severities_are_ordered_by_what_is_unusual(
    severities: tuple[float, float], typical: tuple[float, float], first: str
) -> None:
    found = _found(("blur", severities[0]), ("noise", severities[1]))
    assert describe(found, Typical({"blur": typical[0], "noise": typical[1]})).startswith(first)


def test_what_all_have_is_said_once() -> None:
    found = _found(("blur", 0.7), ("noise", 0.4))
    assert describe(found, Typical({"blur": 0.7, "noise": 0.4})) == (
        "Blur, severe, whole picture; noise, visible, whole picture (all as in most of the clip)."
    )


@pytest.mark.parametrize(
    ("severity", "score", "word"),
    [
        (0.7, 82.6, "visible"),
        (0.7, 50, "severe"),
        (0.5, 97, "slight"),
        (0.15, 28, "severe"),
        (0.15, 60, "visible"),
        (0.15, 95, "slight"),
    ],
)
def test_the_word_goes_with_the_score(severity: float, score: float, word: str) -> None:
    found = _found(("blur", severity), ("noise", severity / 4)).in_keeping(score)
    assert describe(found, Typical()).startswith(f"Blur, {word}")
    assert found.severity("noise") == pytest.approx(found.severity("blur") / 4)


def test_a_score_says_nothing_about_what_vmaf_does_not_see() -> None:
    colours = _found(("colour shift", 0.7), ("blur", 0.15))
    assert colours.in_keeping(98).severity("colour shift") == 0.7
    assert colours.in_keeping(30) == colours  # the colours may be why it is low
    nothing = _found(("blur", 0.01))
    assert nothing.in_keeping(20) == nothing


def test_boxes_meet_and_have_places() -> None:
    box = Box(0, 0, 20, 20)
    assert box.meets(Box(5, 5, 4, 4))
    assert box.meets(Box(10, 0, 20, 20))
    assert not box.meets(Box(11, 0, 20, 20))
    assert not box.meets(Box(40, 40, 20, 20))
    places = ((0, 0, 25, 25), (0, 40, 100, 20), (40, 0, 20, 100))
    words = [Box(*place).words(100, 100) for place in places]
    assert words == ["upper left", "across the middle", "down the middle"]


def test_the_list_has_the_figures() -> None:
    listed = artefacts(_found(("blocking", 0.6), ("blur", 0.3)), Typical({"blocking": 0.2, "blur": 0.0}))
    place = {"where": "whole picture", "region": {"x": 0, "y": 0, "width": 64, "height": 48}}
    assert json.loads(json.dumps(listed)) == [
        {"name": "blocking", "severity": 0.6, "typical": 0.2, "ratio": 3.0, **place},
        {"name": "blur", "severity": 0.3, "typical": 0.0, "ratio": None, **place},
    ]


def test_typical_is_the_median_of_each_artefact() -> None:
    clip = [_found(("blur", value), ("noise", 0.1)) for value in (0.1, 0.9, 0.2)]
    assert Typical.of(clip).medians == {"blur": 0.2, "noise": 0.1}
    assert Typical.of([]).medians == {}
