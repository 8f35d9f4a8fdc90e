"""The pictures show the frames that were scored, whatever was skipped, scaled, cropped or left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from acuity.frames.request import WorstRequest
from acuity.frames.worst import find_worst
from acuity.scoring.request import Request
from acuity.scoring.run import run_request
from acuity.video.pairs.open_pair import open_pair
from acuity.video.pairs.pairing import pair_videos
from acuity.video.picture import Picture
from acuity.video.rgb import to_rgb8
from numbered_clips import DAMAGED, FRAMES, clip, container, number_of, pair, read_png, y4m

X264 = partial(container, codec="libx264", crf="18", bf="3", g="8")
Clips = Callable[[Path], tuple[Path, Path]]


def of_two(ref: Any, dis: Any, **settings: Any) -> Clips:
    """A writer of two clips in containers, by the arguments of clip()."""
    return lambda folder: (
        container(folder / "ref.mkv", clip(**ref), settings.get("rate_ref", 25)),
        container(folder / "dis.mkv", clip(damaged=DAMAGED, worn=True, **dis), settings.get("rate_dis", 25)),
    )


class Case(NamedTuple):
    """Two clips, the options, and the number of the frames that are compared as pair k: first + k * step."""

    clips: Clips
    options: dict[str, Any]
    first: int = 0
    step: int = 1


CASES = {
    "y4m": Case(pair, {}),
    "b-frames": Case(partial(pair, write=X264, suffix="mkv"), {}),
    "skip": Case(pair, {"skip_ref": 3, "skip_dis": 3}, 3),
    "late start": Case(of_two({}, {"numbers": range(2, FRAMES)}), {"skip_ref": 2}, 2),
    "subsample": Case(pair, {"subsample": 2}),
    "limit": Case(pair, {"frames": 8}),
    "crop": Case(pair, {"crop": "120:90:4:2"}),
    "scaled": Case(of_two({}, {"half": True}), {}),
    # One frame of that size takes a while.
    "display": Case(pair, {"display": "1080p", "skip_ref": 4, "skip_dis": 4, "frames": 1}, 4),
    "viewing": Case(pair, {"viewing": "phone", "skip_ref": 9, "skip_dis": 9, "frames": 1}, 9),
    "rates": Case(of_two({}, {"numbers": range(0, FRAMES, 2)}, rate_ref=50), {"rate": "match"}, step=2),
    "no rate": Case(pair, {"align": "off"}),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_the_pictures_are_the_frames(case: Case, tmp_path: Path) -> None:
    ref, dis = case.clips(tmp_path)
    request = Request(ref, dis, threads=1, **case.options)
    found = find_worst(WorstRequest(request, tmp_path / "out", n=2, apart=0))
    scores = dict(run_request(request).worst(FRAMES))
    assert [frame.score for frame in found.frames] == sorted(scores.values())[:2]
    compared = pictures_of(request)
    for frame in found.frames:
        assert frame.score == scores[frame.index]
        shown = read_png(frame.reference), read_png(frame.distorted)
        assert [number_of(png) for png in shown] == [case.first + frame.index * case.step] * 2
        for png, picture in zip(shown, compared[frame.index], strict=True):
            np.testing.assert_array_equal(png, to_rgb8(picture, "smpte170m", centred=ref.suffix == ".y4m"))


def pictures_of(request: Request, *, luma_only: bool = False) -> list[tuple[Picture, Picture]]:
    shown = replace(request, display="1080p" if request.viewing else request.display)
    opening = replace(request.opening, luma_only=luma_only)
    readers = open_pair(request.reference, request.distorted, request.geometry, opening)
    with pair_videos(*readers, options=shown.pairing) as pairing:
        return list(pairing)


@pytest.mark.parametrize("name", ["b-frames", "crop", "scaled", "display", "deinterlaced"])
def test_luma_is_the_same_with_chroma(name: str, tmp_path: Path) -> None:
    """Scoring reads luma alone where that is enough, and drawing reads chroma too."""
    case = CASES.get(name) or Case(of_two({}, {}), {"deinterlace": "bwdif"})
    request = Request(*case.clips(tmp_path), **case.options)
    scored, drawn = pictures_of(request, luma_only=True), pictures_of(request)
    assert len(scored) == len(drawn) > 0
    for one, other in zip(scored, drawn, strict=True):
        for luma, whole in zip(one, other, strict=True):
            assert (len(luma.planes), len(whole.planes)) == (1, 3)
            np.testing.assert_array_equal(luma.luma, whole.luma)


def test_frames_that_one_video_lacks_are_left_out(tmp_path: Path) -> None:
    """With align=auto pairs after a lost frame are one apart in their files."""
    numbers = [*range(40)]
    lost = 12
    ref = y4m(tmp_path / "ref.y4m", clip(numbers))
    dis = y4m(tmp_path / "dis.y4m", clip([n for n in numbers if n != lost], damaged=(4, 30)))
    request = Request(ref, dis, threads=1, align="auto")
    found = find_worst(WorstRequest(request, tmp_path / "out", n=2, apart=0))
    assert {frame.index for frame in found.frames} == {4, 29}
    for frame in found.frames:
        wanted = frame.index if frame.index < lost else frame.index + 1
        assert number_of(read_png(frame.reference)) == number_of(read_png(frame.distorted)) == wanted
