"""The part that both commands share: checks that the report can be written, and shows progress."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from acuity.cli.exits import OK, STRICT
from acuity.errors import OutputError

if TYPE_CHECKING:
    from acuity.cli.terminal.progress import ProgressDisplay
    from acuity.errors import Remedy
    from acuity.measure import Measurement
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
