"""The lowest frames, spread out; requests for them."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acuity.errors import InputError
from acuity.frames.pick import FRAMES_A_SECOND, pick, spread
from acuity.frames.request import WorstRequest
from acuity.scoring.request import Request

ODD = st.sampled_from([math.nan, math.inf, -math.inf])
SCORES = st.lists(st.floats(0, 100) | ODD | st.integers(0, 3).map(float), max_size=60)


def timed(frame: int) -> float:
    return frame / 25


@given(scores=SCORES, n=st.integers(1, 32), apart=st.floats(0, 3), step=st.integers(1, 4))
def test_picks_are_the_lowest_that_are_apart(scores: list[float], n: int, apart: float, step: int) -> None:
    frames = [step * index for index in range(len(scores))]
    found = pick(frames, np.array(scores, float), n, apart, timed)
    by_frame = dict(zip(frames, scores, strict=True))
    picks = [(entry.frame, entry.score) for entry in found]
    assert len(picks) <= n
    assert all(by_frame[frame] == score for frame, score in picks)
    # What a plain reading of the rule gives, frame by frame.
    expected: list[int] = []
    for frame in sorted((f for f in frames if math.isfinite(by_frame[f])), key=lambda f: (by_frame[f], f)):
        if len(expected) < n and all(abs(timed(frame) - timed(other)) >= apart - 1e-6 for other in expected):
            expected.append(frame)
    assert [frame for frame, _ in picks] == expected


def test_a_second_without_a_rate() -> None:
    scores = np.arange(100, dtype=float)
    found = pick(range(100), scores, 3, 1.0, lambda _: None)
    assert [entry.frame for entry in found] == [0, FRAMES_A_SECOND, 2 * FRAMES_A_SECOND]
    assert found[0].time is None


@example(count=0, most=4)
@given(count=st.integers(1, 10_000), most=st.integers(1, 24))
def test_spread_frames_are_in_the_clip(count: int, most: int) -> None:
    found = spread(count, most)
    assert found == sorted(set(found))
    assert len(found) == min(count, most)
    assert set(found) <= set(range(count))
    assert spread(8, 4) == [1, 3, 5, 7]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        *(({"n": n}, "ask for 1 to 32 frames") for n in (0, 33, -1, 2.5, True, "5")),
        *(
            ({"apart": apart}, "seconds between two of the frames")
            for apart in (-1, float("nan"), float("inf"), 1e6, "1", True)
        ),
        ({"output": ""}, "has no name"),
        ({"start": 5.0, "end": 2.0}, "end=2 can't be: it has to be after 5 s"),
    ],
)
def test_what_a_request_refuses(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        WorstRequest(**{"scoring": Request("a.mkv", "b.mkv"), "output": "out", **changes})


def test_a_request_is_a_document() -> None:
    request = WorstRequest(Request("a.mkv", "b.mkv", subsample=2), "out", 7, 0.5, True, 5.0)
    assert WorstRequest.from_document(json.loads(json.dumps(request.to_document()))) == request
