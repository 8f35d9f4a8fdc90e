"""The part that both commands share: checks that the report can be written, and shows progress."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from acuity.errors import OutputError

if TYPE_CHECKING:
    from acuity.cli.progress import ProgressDisplay
    from acuity.measure import Measurement
    from acuity.scoring.report import ScoreReport
    from acuity.scoring.request import Request
    from acuity.scoring.run import AttachCallback, StartCallback, WatchCallback


def score_with(
    progress: ProgressDisplay | None,
    request: Request,
    started: StartCallback | None = None,
    attach: AttachCallback | None = None,
    watch: WatchCallback | None = None,
) -> ScoreReport:
    """Score, and show progress if a display is given."""
    from acuity.scoring.run import run_request

    if progress is None:
        return run_request(request, started=started, attach=attach, watch=watch)
    shown = progress

    def attach_and_show(measurement: Measurement, total: int | None) -> None:
        assert attach is not None
        measurement.gate.on_wait(shown.paused)
        attach(measurement, total)

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


def check_target(output: str, inputs: Sequence[str]) -> None:
    """Refuse an output that can't be written or would overwrite an input, before scoring starts."""
    from acuity.report import check_output

    for path in inputs:
        if os.path.exists(output) and os.path.exists(path) and os.path.samefile(output, path):
            raise OutputError(f"the report would overwrite the video '{path}': name another file")
    check_output(output)
