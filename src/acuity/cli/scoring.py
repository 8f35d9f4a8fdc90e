"""The parts that commands share: scoring with progress, checks of the output, and the pictures of a page."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from acuity.cli.exits import OK, STRICT
from acuity.errors import OutputError

if TYPE_CHECKING:
    from acuity.cli.exits import Interruptible
    from acuity.cli.terminal.progress import ProgressDisplay
    from acuity.comparison.report import CompareReport
    from acuity.errors import Remedy
    from acuity.frames.request import Listener, WorstProgress
    from acuity.measure import Measurement
    from acuity.report.page.page_document import PagePicture
    from acuity.scoring.report import ScoreReport
    from acuity.scoring.request import Request
    from acuity.scoring.run import AttachCallback, StartCallback, WatchCallback
    from acuity.scoring.watched import WatchedRun
    from acuity.video.notes import Note


def score_with(
    progress: ProgressDisplay | None,
    request: Request,
    started: StartCallback | None = None,
    attach: AttachCallback | None = None,
    watch: WatchCallback | None = None,
) -> ScoreReport:
    from acuity.scoring.run import run_request

    if progress is None:
        return run_request(request, started=started, attach=attach, watch=watch)
    shown = progress

    def attach_and_show(measurement: Measurement, watched: WatchedRun) -> None:
        assert attach is not None
        measurement.gate.on_wait(shown.paused)
        attach(measurement, watched)

    def watch_and_show(measurement: Measurement) -> None:
        shown.known = measurement.restored
        if watch is not None:
            watch(measurement)

    try:
        return run_request(
            request,
            progress=progress.frame,
            running_mean=progress.wants_mean,
            started=started,
            attach=attach_and_show if attach is not None else None,
            watch=watch_and_show,
        )
    finally:
        progress.done()


def say(program: str, notes: Iterable[Note], spell: Callable[[Remedy], str]) -> None:
    from acuity.text import one_line

    for note in notes:
        word = "note" if note.level == "info" else note.level
        print(f"{program}: {word}: {one_line(note.spelled(spell))}", file=sys.stderr)


def exit_code(report: ScoreReport, *, strict: bool) -> int:
    """The exit code of a score: with --strict, a warning is no success."""
    return STRICT if strict and report.warnings else OK


def check_target(output: str, inputs: Sequence[str]) -> None:
    """Refuse an output that can't be written or would overwrite an input, before scoring starts."""
    from acuity.report import check_output

    for path in inputs:
        spare(output, path, "the report would overwrite the video")
    check_output(output)


def spare(output: str, path: str, what: str) -> None:
    """Refuse an output that is a file which is read."""
    if os.path.exists(output) and os.path.exists(path) and os.path.samefile(output, path):
        raise OutputError(f"{what} '{path}': name another file")


# ---- pictures of a page ----------------------------------------------------------------------------

Shown: TypeAlias = "tuple[list[PagePicture], str | None]"  # the pictures, or why there are none
Watch: TypeAlias = "Callable[[Interruptible], None]"  # gets the work that a signal should end
PAGE: Final = "html"  # the format that shows pictures
DEFAULT: Final = 6
MOST: Final = 32
HELP: Final = f"worst frames that an .html report shows, at most {MOST} (default: {DEFAULT}; 0: none)"
COMPARE_DEFAULT: Final = 4
COMPARE_HELP: Final = (
    "frames that an .html report shows: the worst of the worst encode, and where two encodes differ most, at "
    f"most {MOST} (default: {COMPARE_DEFAULT}; 0: none)"
)
WITHOUT_PAGE: Final = "they are a page's: pass -o FILE.html too"
_NONE_WANTED: Final = "No pictures were asked for: --pictures {} shows some."
_INTERRUPTED: Final = "there are no pictures: drawing them was interrupted"


class _Interrupted(Exception):
    """Ends drawing."""


class _Drawing:
    """Shows how far drawing is, and ends it when a signal asks for that."""

    def __init__(self, display: ProgressDisplay | None) -> None:
        self._display = display
        self._over = self._asked = False

    def interrupt(self) -> bool:
        """End at the next frame, so that the page is written; a signal handler may call it."""
        if self._over:
            return False
        self._asked = True
        return True

    def passed(self, progress: WorstProgress) -> None:
        if self._asked:
            raise _Interrupted
        if self._display is not None:
            self._display.frame(progress.done, progress.total, None)

    def end(self) -> None:
        self._over = True
        if self._display is not None:
            self._display.done()


def drawn_entries(
    request: Request, report: ScoreReport, count: int | None, format: str, watch: Watch, quiet: bool
) -> dict[str, Any]:
    """The entries of a score's page about its pictures: `pictures`, and why there are none, `no_pictures`."""

    def draw(count: int, progress: Listener) -> Shown:
        from acuity.frames.page_pictures import page_pictures

        return page_pictures(request, report, count, progress=progress)

    found, why = _for_page(draw, count, DEFAULT, format, watch, quiet)
    return {"pictures": found, "no_pictures": why}


def drawn_comparison(
    report: CompareReport, scoring: Request, count: int | None, format: str, watch: Watch, quiet: bool
) -> Shown:
    def draw(count: int, progress: Listener) -> Shown:
        from acuity.comparison.page import compare_pictures

        return compare_pictures(report, scoring, count, progress)

    return _for_page(draw, count, COMPARE_DEFAULT, format, watch, quiet)


def _for_page(
    draw: Callable[[int, Listener], Shown],
    count: int | None,
    usual: int,
    format: str,
    watch: Watch,
    quiet: bool,
) -> Shown:
    """Draws the pictures of a page, with progress; other formats have no place for pictures.

    A signal ends the drawing, not the command, which has scores to write.
    """
    if format != PAGE:
        return [], None
    if count == 0:
        return [], _NONE_WANTED.format(usual)
    from acuity.cli.terminal.progress import for_people  # --help needs none of it

    drawing = _Drawing(for_people(sys.stderr, quiet))
    watch(drawing)
    try:
        return draw(usual if count is None else count, drawing.passed)
    except _Interrupted:
        return [], _INTERRUPTED
    finally:
        drawing.end()
