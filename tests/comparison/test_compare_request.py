"""Names of pairs, and requests that can't be carried out."""

from __future__ import annotations

import pytest

from acuity.comparison.request import ComparePair, CompareRequest
from acuity.errors import InputError
from acuity.scoring.request import Request


def _names(*given: ComparePair) -> list[str]:
    return [pair.name for pair in CompareRequest(given).pairs]


def test_a_pair_is_named_for_its_file():
    assert _names(ComparePair("ref.mkv", "out/a.mp4"), ComparePair("ref.mkv", "b.mp4", "best")) == [
        "a.mp4",
        "best",
    ]


def test_files_of_one_name_get_their_folders():
    pairs = [
        ComparePair("ref.mkv", path) for path in ("x/low/a.mp4", "x/high/a.mp4", "y/high/a.mp4", "x/b.mp4")
    ]
    assert _names(*pairs) == ["low/a.mp4", "x/high/a.mp4", "y/high/a.mp4", "b.mp4"]


def test_a_file_that_comes_twice_is_numbered():
    assert _names(*[ComparePair("ref.mkv", "a.mp4")] * 3) == ["a.mp4", "a.mp4 (2)", "a.mp4 (3)"]
    given = [ComparePair("r", "a", "one"), ComparePair("r", "b", "one"), ComparePair("r", "c", "one (2)")]
    assert len(set(_names(*given))) == 3


@pytest.mark.parametrize(
    ("pairs", "scoring", "why"),
    [
        ([], Request("", ""), "nothing to compare"),
        ([ComparePair("-", "a.mp4")], Request("", ""), "standard input"),
        ([ComparePair("ref.mkv", "a.mp4")], Request("", "", resume="part.json"), "resume"),
    ],
)
def test_what_cannot_be_compared_is_refused(pairs, scoring, why):
    with pytest.raises(InputError, match=why):
        CompareRequest(pairs, scoring)


def test_each_pair_is_scored_as_the_template_says():
    request = CompareRequest([ComparePair("ref.mkv", "a.mp4")], Request("", "", subsample=3, align="warn"))
    assert request.of(request.pairs[0]) == Request("ref.mkv", "a.mp4", subsample=3, align="warn")
