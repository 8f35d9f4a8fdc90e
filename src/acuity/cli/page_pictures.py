"""The option --pictures: how many frames a page shows, and drawing them after scoring."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from acuity.cli.progress import for_people

if TYPE_CHECKING:
    from acuity.comparison.report import CompareReport
    from acuity.frames.progress import Listener, WorstProgress
    from acuity.report.page.page_document import Picture
    from acuity.scoring.report import ScoreReport
    from acuity.scoring.request import Request

Shown: TypeAlias = "tuple[list[Picture], str | None]"  # and why there are none
PAGE: Final = "html"  # the format that shows pictures
DEFAULT: Final = 6
MOST: Final = 32
HELP: Final = f"worst frames that an .html report shows, at most {MOST} (default: {DEFAULT}; 0: none)"
COMPARE_DEFAULT: Final = 4
COMPARE_HELP: Final = (
    "frames that an .html report shows: the worst of the worst encode, and where two encodes differ most, at "
    f"most {MOST} (default: {COMPARE_DEFAULT}; 0: none)"
)
_NONE_WANTED: Final = "No pictures were asked for: --pictures {} shows some."


def drawn_pictures(
    request: Request, report: ScoreReport, count: int | None, format: str, *, quiet: bool
) -> Shown:
    """The pictures of a score's page."""

    def draw(count: int, progress: Listener) -> Shown:
        from acuity.frames.page_pictures import page_pictures

        return page_pictures(request, report, count, progress=progress)

    return _for_page(draw, count, DEFAULT, format, quiet)


def drawn_comparison(
    report: CompareReport, scoring: Request, count: int | None, format: str, *, quiet: bool
) -> Shown:
    """The pictures of a comparison's page."""

    def draw(count: int, progress: Listener) -> Shown:
        from acuity.comparison.pictures import compare_pictures

        return compare_pictures(report, scoring, count, progress)

    return _for_page(draw, count, COMPARE_DEFAULT, format, quiet)


def _for_page(
    draw: Callable[[int, Listener], Shown], count: int | None, usual: int, format: str, quiet: bool
) -> Shown:
    """What is drawn while progress is shown; other formats have no place for pictures."""
    if format != PAGE:
        return [], None
    if count == 0:
        return [], _NONE_WANTED.format(usual)
    display = for_people(sys.stderr, quiet)

    def shown(progress: WorstProgress) -> None:
        if display is not None:
            display.frame(progress.done, progress.total, None)

    try:
        return draw(usual if count is None else count, shown)
    finally:
        if display is not None:
            display.done()
