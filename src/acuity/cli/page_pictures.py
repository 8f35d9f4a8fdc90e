"""The option --pictures: how many worst frames a page shows, and drawing them after scoring."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from acuity.cli.progress import for_people

if TYPE_CHECKING:
    from acuity.frames.progress import WorstProgress
    from acuity.report.page.page_document import Picture
    from acuity.scoring.report import ScoreReport
    from acuity.scoring.request import Request

PAGE: Final = "html"  # the format that shows pictures
DEFAULT: Final = 6
MOST: Final = 32
HELP: Final = f"worst frames that an .html report shows, at most {MOST} (default: {DEFAULT}; 0: none)"
_NONE_WANTED: Final = "No pictures were asked for: --pictures 6 shows the six worst frames."


def drawn_pictures(
    request: Request, report: ScoreReport, count: int | None, format: str, *, quiet: bool
) -> tuple[list[Picture], str | None]:
    """The pictures of a page, and why there are none; other formats have no place for them."""
    if format != PAGE:
        return [], None
    if count == 0:
        return [], _NONE_WANTED
    from acuity.frames.page_pictures import page_pictures

    display = for_people(sys.stderr, quiet)

    def shown(progress: WorstProgress) -> None:
        if display is not None:
            display.frame(progress.done, progress.total, None)

    try:
        return page_pictures(request, report, DEFAULT if count is None else count, progress=shown)
    finally:
        if display is not None:
            display.done()
