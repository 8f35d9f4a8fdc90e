"""Compares many encodes with their references: one row for each, whatever happens to the others."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from acuity.compare.file_facts import file_facts
from acuity.compare.report import CompareReport, CompareRow, with_rate
from acuity.errors import AcuityError, InputError
from acuity.scoring.run import run_request

if TYPE_CHECKING:
    from acuity.compare.request import ComparePair, CompareRequest
    from acuity.measure.feed import ProgressCallback
    from acuity.measure.measurement import Measurement


class Interruptible(Protocol):
    """What a signal handler can end, so that what is finished is kept."""

    def interrupt(self) -> bool:
        """Ask it to end; returns whether there is a result to keep."""
        ...


WatchCallback = Callable[[Interruptible], None]


def compare_videos(
    request: CompareRequest,
    *,
    progress: ProgressCallback | None = None,
    watch: WatchCallback | None = None,
) -> CompareReport:
    """Score all pairs; what goes wrong with one is in its row.

    `progress` is called with the frames of all pairs that are done, the number of all if known, and None.
    `watch` gets the comparison when it begins, to interrupt it: pairs that are finished are kept.
    """
    comparison = Comparison(request, progress)
    if watch is not None:
        watch(comparison)
    return comparison.run()


class Comparison:
    """A comparison under way."""

    def __init__(self, request: CompareRequest, progress: ProgressCallback | None) -> None:
        self._request = request
        self._progress = progress
        self._measurement: Measurement | None = None
        self._interrupted = False
        self._done = 0  # frames of the pairs that are finished

    def interrupt(self) -> bool:
        """End at the next frame; a signal handler may call it."""
        self._interrupted = True
        if self._measurement is not None:
            self._measurement.interrupt()
        return True

    def run(self) -> CompareReport:
        begin = time.monotonic()
        rows = [self._row(pair) for pair in self._request.pairs]
        return CompareReport(rows, time.monotonic() - begin, interrupted=self._interrupted)

    def _row(self, pair: ComparePair) -> CompareRow:
        row = CompareRow(
            pair.name, pair.reference, pair.distorted, pair.encoder, **file_facts(pair.distorted)
        )
        try:
            if self._interrupted:
                raise InputError(f"'{pair.distorted}' was not scored: the comparison was interrupted")
            report = run_request(
                self._request.of(pair), progress=self._tell, running_mean=False, every=0.1, watch=self._watch
            )
            if report.partial is not None:
                raise InputError(
                    f"'{pair.distorted}' was not scored to its end: the comparison was interrupted"
                )
            self._done += report.pairs
            return with_rate(replace(row, report=report))
        except (AcuityError, OSError) as error:
            return replace(row, failure=error)

    def _watch(self, measurement: Measurement) -> None:
        self._measurement = measurement

    def _tell(self, done: int, total: int | None, _: float | None) -> None:
        if self._progress is not None:
            self._progress(self._done + done, None, None)
