"""The worst frames of a comparison as pictures for pages: small files within a budget, as data: URLs.

    reference, distorted   as a viewer sees them
    difference             the two compared, four times as bright
    heat                   where the loss is, over the reference in grey

Differences and heat maps are made of the frames as they were scored; then all four are made smaller, by the
same size and quality, until they fit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from acuity.errors import AcuityError, InputError, OutputError
from acuity.foreign_json import parse_json
from acuity.frames.artefacts.cells import Box
from acuity.frames.colours import PairColours, Rgb8
from acuity.frames.compared import check_unchanged, identities
from acuity.frames.drawing import Drawing
from acuity.frames.heat_map import Drawn, difference_picture
from acuity.frames.pick import Pick, pick_worst
from acuity.frames.previews import FrameFiles, compressed, decoded, rgb_samples
from acuity.frames.report import SCHEMA
from acuity.frames.request import DEFAULT_APART, MAX_FRAMES, Listener, WorstProgress
from acuity.report.page.page_document import PagePicture
from acuity.report.write import WRITERS, check_output
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
) -> tuple[list[PagePicture], str | None]:
    """Pictures of at most `count` worst frames, the worst first, and why there are none, if so.

    The frames with the numbers `also` come after them, also if they are among the worst.
    `request` is the one that was scored. Both videos are read once more. What keeps their frames from being
    drawn is no error but a reason: the report is as good without pictures. What `progress` raises ends the
    work.
    """
    if count == 0 and not also:
        return [], None
    if reason := _without(report):
        return [], reason
    tell = progress or (lambda _: None)
    try:
        return _drawn(request, report, min(count, MAX_FRAMES), also, budget, tell)
    except AcuityError as error:
        return [], f"there are no pictures: {error}"


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
) -> tuple[list[PagePicture], str | None]:
    before = identities(request, report)
    check_unchanged(request, before)  # before both are read in vain
    picks: list[Pick] = []
    if count:
        picks, about = pick_worst(request, report, count, _apart(report, count), tell)
        if not picks and not also:
            return [], about[0].text
    results = report.results
    scores = dict(zip(results.frames, results.columns[results.models[0]].tolist(), strict=True))
    picks += [Pick(frame, report.time_of(frame), scores[frame]) for frame in also]
    frames = {found.frame: found for found in picks}
    files: dict[int, FrameFiles] = {}

    def take(found: Pick, drawn: Drawn, colours: PairColours) -> None:
        shown = frame_pictures(drawn.reference, drawn.distorted, drawn.heat)
        files[found.frame] = compressed(shown, share_of(budget, len(frames)), colours.aspect)

    drawing = Drawing(request, report, list(frames.values()), take, tell)
    drawing.run()
    check_unchanged(request, before)
    width, height = results.width, results.height
    regions = {frame: shares(where.region, width, height) for frame, where in drawing.where.items()}
    return [
        page_picture(found, files[found.frame], drawing.described(found.frame)[0], regions[found.frame])
        for found in picks
    ], None


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


def page_picture(found: Pick, files: FrameFiles, description: str, region: Shares | None) -> PagePicture:
    """The record of a frame for pages."""
    urls: dict[str, Any] = files.urls()
    about = found.frame, found.score, description, files.width, files.height
    return PagePicture(*about, **urls, time=found.time, region=region)


def share_of(budget: int, frames: int) -> int:
    """The bytes that each of so many frames may take."""
    return min(budget // max(frames, 1), _MOST)


def shares(region: Box, width: int, height: int) -> Shares:
    """A part of a picture, as shares of its width and height: left, top, width, height."""
    return region.x / width, region.y / height, region.width / width, region.height / height


_LIST: Final = "worst.json"
_LARGEST_LIST: Final = 16 << 20  # bytes
_FILES: Final = {"reference": "reference_png", "distorted": "png", "heat": "heat_png"}
_SLACK: Final = 0.005  # of scores, which reports round


def folder_pictures(
    folder: str | os.PathLike[str],
    scores: Mapping[int, float] | None = None,
    *,
    budget: int = BUDGET,
) -> list[PagePicture]:
    """The pictures of the frames in a folder, the worst first; raises InputError.

    `scores` are those of the report by frame: pictures of another clip's frames are refused.
    """
    place = Path(folder)
    document = _document(place)
    entries = document["frames"][:MAX_FRAMES]
    if scores is not None:
        for entry in entries:
            frame, score = entry["frame_index"], entry["vmaf"]
            if frame not in scores or abs(scores[frame] - score) > _SLACK:
                has = f"scores {scores[frame]:.2f}" if frame in scores else "has no score"
                raise InputError(
                    f"the pictures in '{place}' are of other videos than the report: frame {frame} scores "
                    f"{score:.2f} there and {has} in the report; name the folder that shows this pair"
                )
    return [_picture(place, document, entry, share_of(budget, len(entries))) for entry in entries]


def _document(folder: Path) -> dict[str, Any]:
    path = folder / _LIST
    needed = f"name a folder that `acuity worst` wrote: it has the file {_LIST}"
    try:
        if path.stat().st_size > _LARGEST_LIST:
            raise InputError(f"'{path}' is too large to be a list of frames: {needed}")
        document = parse_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"'{path}' can't be read ({error.strerror or error}): {needed}") from error
    except ValueError as error:
        raise InputError(f"'{path}' is no JSON: {needed}") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise InputError(f"'{path}' is no document {SCHEMA}: {needed}")
    try:
        document["frames"] = [_entry(entry) for entry in document["frames"]]
        return {**document, "width": int(document["width"]), "height": int(document["height"])}
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"'{path}' is no complete document {SCHEMA} ({error!r}): {needed}") from error


def _entry(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of the document, with the kinds of values it should have; raises KeyError and the like."""
    return {
        "frame_index": int(entry["frame_index"]),
        "time": None if entry["time"] is None else float(entry["time"]),
        "vmaf": float(entry["vmaf"]),
        "region": Box(**{name: int(value) for name, value in entry["region"].items()}),
        "description": str(entry["description"]),
        "narration": entry.get("narration"),
        # Names, because the folder may have been moved since.
        **{name: os.path.basename(str(entry[name])) for name in _FILES.values()},
    }


def _picture(folder: Path, document: dict[str, Any], entry: dict[str, Any], budget: int) -> PagePicture:
    files = {kind: folder / entry[name] for kind, name in _FILES.items()}
    samples = {kind: rgb_samples(path) for kind, path in files.items()}
    if len({picture.shape for picture in samples.values()}) > 1:
        raise InputError(
            f"the pictures of frame {entry['frame_index']} in '{folder}' have several sizes: "
            "write them once more with `acuity worst`"
        )
    made = compressed(frame_pictures(**samples), budget, decoded(files["reference"])[1])
    size = document["width"], document["height"]
    region = None if document.get("cropped") else shares(entry["region"], *size)
    said = entry["description"]
    if isinstance(entry["narration"], str):
        said = f"{said} {entry['narration']}"
    return page_picture(Pick(entry["frame_index"], entry["time"], entry["vmaf"]), made, said, region)


_KEPT = "there are no pictures: the report was read from where it was kept, without its videos"


def write_page(
    report: ScoreReport,
    path: str | os.PathLike[str],
    pictures: int = DEFAULT_PICTURES,
    *,
    progress: Callable[[int, int | None], None] | None = None,
) -> None:
    """Write a report as one HTML file, as `acuity score -o report.html` does.

        acuity.write_page(acuity.score("original.mp4", "encoded.mp4"), "report.html")

    It shows so many of the worst frames, at most 32, for which both videos are read once more; 0 reads
    nothing. If they can't be read again, or are other files by now, the page is written without pictures and
    says why. `progress` is called with the frames read so far and how many there are; what it raises ends the
    work, and leaves no file. Raises AcuityError.
    """
    if not isinstance(report, ScoreReport):
        raise InputError(
            f"a {type(report).__name__} is no report of acuity.score(): others write their pages themselves"
        )
    if isinstance(pictures, bool) or not isinstance(pictures, int) or not 0 <= pictures <= MAX_FRAMES:
        raise InputError(f"pictures={pictures!r} is no number of frames: give 0 to {MAX_FRAMES}")
    _check_name(path)
    check_output(path, "page")

    def passed(found: WorstProgress) -> None:
        if progress is not None:
            progress(found.done, found.total)

    if report.request is None:
        report.write(path, "html", no_pictures=_KEPT)
        return
    shown, why = page_pictures(report.request, report, pictures, progress=passed)
    report.write(path, "html", pictures=shown, no_pictures=why)


def _check_name(path: str | os.PathLike[str]) -> None:
    """Refuse a name that says another format."""
    ending = os.path.splitext(os.fspath(path))[1].lower().removeprefix(".")
    if ending in WRITERS and ending != "html":
        raise OutputError(
            f"'{os.fspath(path)}' is no name of a page: end it with .html, or call report.write()"
        )
