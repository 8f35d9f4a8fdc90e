"""acuity.write_page(): the page of a report, with pictures of its worst frames."""

from __future__ import annotations

import os
from collections.abc import Callable

from acuity.errors import InputError, OutputError
from acuity.frames.page_pictures import DEFAULT_PICTURES, page_pictures
from acuity.frames.progress import WorstProgress
from acuity.frames.request import MAX_FRAMES
from acuity.report.write import WRITERS, check_output
from acuity.scoring.report import ScoreReport

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
