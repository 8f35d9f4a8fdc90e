"""The worst frames of a comparison as pictures for pages: small files within a budget, as data: URLs.

    reference, distorted   as a viewer sees them
    difference             the two compared, four times as bright
    heat                   where the loss is, over the reference in grey

Differences and heat maps are made of the frames as they were scored; then all four are made smaller, by the
same size and quality, until they fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from acuity.errors import AcuityError
from acuity.frames.artefacts.box import Box
from acuity.frames.colours import PairColours, Rgb8
from acuity.frames.compared import Identity, check_unchanged
from acuity.frames.compressed import FrameFiles, compressed
from acuity.frames.drawing import Drawing
from acuity.frames.pick import Pick
from acuity.frames.picked import picked_frames
from acuity.frames.pictures import Drawn, difference_picture
from acuity.frames.progress import Listener, WorstProgress
from acuity.frames.request import DEFAULT_APART, MAX_FRAMES
from acuity.report.page.page_document import Picture
from acuity.scoring.report import ScoreReport
from acuity.scoring.request import Request

Shares: TypeAlias = tuple[float, float, float, float]

DEFAULT_PICTURES: Final = 6  # frames
BUDGET: Final = 3_400_000  # bytes of all files: as data: URLs they take a third more
_MOST: Final = 300_000  # bytes of a frame: a page with few frames should be small as well


def page_pictures(
    request: Request,
    report: ScoreReport,
    count: int,
    *,
    also: Sequence[int] = (),
    budget: int = BUDGET,
    progress: Listener | None = None,
) -> tuple[list[Picture], str | None]:
    """Pictures of at most `count` worst frames, the worst first, and why there are none, if so.

    The frames with the numbers `also` come after them, also if they are among the worst.
    `request` is the one that was scored. Both videos are read once more. What keeps their frames from being
    drawn is no error but a reason: the report is as good without pictures. What `progress` raises ends the
    work.
    """
    if count == 0 and not also:
        return [], None
    reason = _without(report)
    if reason is not None:
        return [], reason
    try:
        return _drawn(request, report, min(count, MAX_FRAMES), also, budget, progress or _nobody)
    except AcuityError as error:
        return [], f"there are no pictures: {error}"


def _nobody(_: WorstProgress) -> None:
    """Listens to progress where nobody does."""


def _without(report: ScoreReport) -> str | None:
    """Why a report can't have pictures, whatever its videos are."""
    if report.no_reference:
        return "there are no pictures: the video was scored alone, so there is nothing to compare it with"
    if not report.results.models:
        return "there are no pictures: no model was scored, so no frame is the worst"
    if report.partial is not None:
        return "there are no pictures: the measurement was interrupted"
    return None


def _drawn(
    request: Request, report: ScoreReport, count: int, also: Sequence[int], budget: int, tell: Listener
) -> tuple[list[Picture], str | None]:
    before = Identity.of(request, report)
    check_unchanged(request, before)  # before both are read in vain
    picks, reason = _picks(request, report, count, tell)
    picks += _named(report, also)
    if not picks:
        return [], reason
    frames = {found.frame: found for found in picks}
    files: dict[int, FrameFiles] = {}

    def take(found: Pick, drawn: Drawn, colours: PairColours) -> None:
        files[found.frame] = compressed(
            frame_pictures(drawn.reference, drawn.distorted, drawn.heat),
            share_of(budget, len(frames)),
            colours.aspect,
        )

    drawing = Drawing(request, report, list(frames.values()), take, tell)
    drawing.run()
    check_unchanged(request, before)
    width, height = report.results.width, report.results.height
    pictures = [
        page_picture(
            found,
            files[found.frame],
            drawing.described(found.frame).description,
            shares(drawing.where[found.frame].region, width, height),
        )
        for found in picks
    ]
    return pictures, None


def _picks(
    request: Request, report: ScoreReport, count: int, tell: Listener
) -> tuple[list[Pick], str | None]:
    """The worst frames, and why there are none, if so."""
    if not count:
        return [], None
    picked, about = picked_frames(request, report, count, _apart(report, count), tell)
    return list(picked.picks), None if picked.picks else about[0].text


def _named(report: ScoreReport, frames: Sequence[int]) -> list[Pick]:
    """The frames with these numbers."""
    results = report.results
    scores = dict(zip(results.frames, results.columns[results.models[0]].tolist(), strict=True))
    return [Pick(frame, report.time_of(frame), scores[frame]) for frame in frames]


def _apart(report: ScoreReport, count: int) -> float:
    """Seconds between two frames: fewer in a clip that is too short for so many."""
    frames = report.results.frames
    start, end = report.time_of(frames[0]), report.timeline.at(frames[-1] + 1)
    if start is None or end is None:
        return DEFAULT_APART
    return min(DEFAULT_APART, (end - start) / (2 * count))


def frame_pictures(reference: Rgb8, distorted: Rgb8, heat: Rgb8) -> dict[str, Rgb8]:
    """The pictures of a frame by the names that pages have for them."""
    difference = difference_picture(reference, distorted)
    return {"reference": reference, "distorted": distorted, "difference": difference, "heat": heat}


def page_picture(found: Pick, files: FrameFiles, description: str, region: Shares | None) -> Picture:
    """The record of a frame for pages."""
    urls = files.urls()
    return Picture(
        frame=found.frame,
        score=found.score,
        description=description,
        width=files.width,
        height=files.height,
        reference=urls["reference"],
        distorted=urls["distorted"],
        difference=urls["difference"],
        heat=urls["heat"],
        time=found.time,
        region=region,
    )


def share_of(budget: int, frames: int) -> int:
    """The bytes that each of so many frames may take."""
    return min(budget // max(frames, 1), _MOST)


def shares(region: Box, width: int, height: int) -> Shares:
    """A part of a picture, as shares of its width and height: left, top, width, height."""
    return region.x / width, region.y / height, region.width / width, region.height / height
