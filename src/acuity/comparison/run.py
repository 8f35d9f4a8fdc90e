"""Compares many encodes with their references: one row for each, whatever happens to the others.

Pairs with the same reference are scored in groups, in step, and decode it once for all (`group.py`).
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, NamedTuple

from acuity.cache_file import CacheFile, cache_path, engine_build
from acuity.comparison.group import PairRun, ReferenceGroup, most_pairs, reads_twice
from acuity.comparison.report import CompareReport
from acuity.comparison.request import ComparisonRequest
from acuity.comparison.row import CompareRow, is_part, with_rate
from acuity.errors import AcuityError
from acuity.measure.feed import ProgressCallback
from acuity.models.choose import model_digests
from acuity.scoring.kept_report import can_be_kept, packed, unpacked
from acuity.scoring.report import ScoreReport
from acuity.scoring.request import Request
from acuity.scoring.resume import asked
from acuity.scoring.run import WantedMetrics
from acuity.video.local_file import Identity, file_digest, identity, local_size


def _of_packets(path: str, scoring: Request) -> tuple[int, float] | None:
    """The bytes of a container's video packets and how long they last, read without decoding.

    Of a part, they are those of the frames that are scored, unless these are chosen by looking at them.
    """
    from acuity.video.readers.open import is_container

    if not is_container(path):
        return None
    from acuity.video.readers.decoder import measure_packets

    if not is_part(scoring):
        return measure_packets(path, scoring.streams[1])
    if scoring.align == "auto" or scoring.rate == "match":
        return None
    return measure_packets(path, scoring.streams[1], skip=scoring.skip_dis, frames=scoring.frames)


_MOMENT: Final = 0.1  # seconds between two reports of progress


WatchCallback = Callable[["Comparison"], None]


def compare_videos(
    request: ComparisonRequest,
    *,
    progress: ProgressCallback | None = None,
    watch: WatchCallback | None = None,
) -> CompareReport:
    """Score all pairs; what goes wrong with one is in its row.

    `progress` is called with the frames of all pairs that are done, the number of all as far as it is known
    or can be expected, and None. `watch` gets the comparison when it begins, to interrupt it: pairs that are
    finished are kept, those under way have the figures of their frames so far, the others have none.
    """
    comparison = Comparison(request, progress)
    if watch is not None:
        watch(comparison)
    return comparison.run()


class Comparison:
    def __init__(self, request: ComparisonRequest, progress: ProgressCallback | None) -> None:
        self._request = request
        self._progress = progress
        self._stop = threading.Event()
        self._news = threading.Event()  # a pair has ended
        self._runs = [PairRun(index, pair) for index, pair in enumerate(request.pairs)]
        self._rows: dict[int, CompareRow] = {}
        self._memory = ComparisonCache(cache_path("compare")) if request.remember else None
        self._keys: dict[int, PairKey | None] = {}  # under which rows are remembered

    def interrupt(self) -> bool:
        """End at the next frame, with the figures of those before; a signal handler may call it."""
        self._stop.set()
        return True

    def run(self) -> CompareReport:
        begin = time.monotonic()
        try:
            self._recall()
            for group in self._groups():
                if self._stop.is_set():
                    break
                ReferenceGroup(self._request, group, self._stop, self._finish).run(self._wait)
                self._tell()
        finally:
            if self._memory is not None:
                self._memory.close()
        rows = [self._rows.get(run.index) or replace(self._row(run), unfinished=True) for run in self._runs]
        return CompareReport(
            rows, time.monotonic() - begin, notes=list(self._notes()), interrupted=self._stop.is_set()
        )

    def _recall(self) -> None:
        """Take what was scored before, and make the keys of the others."""
        for run in self._runs:
            if self._memory is None or self._stop.is_set():
                break
            request = self._request.of(run.pair)
            key = self._memory.key(request)
            run.copy = key is not None and key.same
            run.report = self._memory.find(key, request)
            if run.report is None:
                self._keys[run.index] = key
                continue
            run.done = run.total = run.report.pairs
            run.finished = True
            self._rows[run.index] = with_rate(replace(self._row(run), report=run.report, remembered=True))

    def _groups(self) -> Iterator[list[PairRun]]:
        by_reference: dict[str, list[PairRun]] = {}
        for run in (run for run in self._runs if not run.finished):
            by_reference.setdefault(run.pair.reference, []).append(run)
        for reference, runs in by_reference.items():
            # As even as possible: two groups of 5 rather than one of 8 and one of 2.
            count = -(-len(runs) // most_pairs(self._request, reference, len(runs)))
            size = -(-len(runs) // count)
            yield from (runs[at : at + size] for at in range(0, len(runs), size))

    def _finish(self, run: PairRun) -> None:
        """Make the row of a pair; called in the thread that scored it."""
        row = replace(self._row(run), report=run.report, failure=run.failure)
        self._rows[run.index] = with_rate(row)
        if self._memory is not None and run.report is not None:
            self._memory.put(self._keys.get(run.index), run.report)
        self._news.set()

    def _row(self, run: PairRun) -> CompareRow:
        pair = run.pair
        row = CompareRow(pair.name, pair.reference, pair.distorted, pair.encoder, copy=run.copy)
        with suppress(AcuityError, OSError):  # scoring reports what can't be read
            row = replace(row, size=local_size(row.distorted))
            if row.size is not None and (found := _of_packets(row.distorted, self._request.scoring)):
                count, seconds = found
                row = replace(row, kbps=count * 8 / seconds / 1000, seconds=seconds)
        return row

    def _notes(self) -> Iterator[str]:
        yield from self._memory.notes if self._memory is not None else ()
        if reads_twice(self._request):
            yield "each pair reads its reference by itself: align=auto and crop=auto look at it before"

    def _wait(self) -> None:
        self._news.wait(_MOMENT)
        self._news.clear()
        self._tell()

    def _tell(self) -> None:
        """Report progress; in the calling thread only."""
        if self._progress is None:
            return
        # As many are expected of pairs that are still to come as of the longest.
        most = max((run.total for run in self._runs if run.total is not None), default=None)
        totals = [
            run.done if run.finished else most if run.total is None else run.total for run in self._runs
        ]
        total = None if most is None else sum(filter(None, totals))
        self._progress(sum(run.done for run in self._runs), total, None)


# ---- figures of earlier runs -----------------------------------------------------------------------
# A changed file never gets an old figure: a key has the digests of all bytes, and what is kept was measured
# on files that were the same before and after.


_DEFAULT: Final = "vmaf"  # the metric that is scored if none is named


class PairKey(NamedTuple):
    """The key of a pair, and the files as they were when it was made."""

    key: str
    files: tuple[Identity, Identity]
    same: bool = False  # whether both have the same content, and the same stream is read


class ComparisonCache(CacheFile):
    """The cache file of comparisons; trouble with it is noted and costs nothing but time."""

    def key(self, request: Request) -> PairKey | None:
        """The key of a pair; None for what isn't remembered, or can't be read."""
        if request.tiny_model is not None or request.allow_damaged:  # decoders may differ about damage
            return None
        try:
            names = [os.fspath(video) for video in request.pair if isinstance(video, str | os.PathLike)]
            if len(names) < 2 or None in map(local_size, names):
                return None
            files = identity(names[0]), identity(names[1])
            digests = [file_digest(name, self) for name in names]
            about: dict[str, Any] = {
                "engine": engine_build(),
                "libraries": _libraries(),
                "files": digests,
                "names": names,  # they are in the report, and tell the geometry of raw video
                "guess": request.guess,
                "order": request.sequential_first,
                "request": _asked(request),
                "models": model_digests(map(str, WantedMetrics.of(request).models), request.viewing),
            }
        except (AcuityError, OSError, TypeError, ValueError):  # scoring has the sentence for it
            return None
        text = json.dumps(about, sort_keys=True)
        same = digests[0] == digests[1] and request.streams[0] == request.streams[1]
        return PairKey(hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest(), files, same)

    def find(self, key: PairKey | None, request: Request) -> ScoreReport | None:
        return None if key is None else self.entry(key.key, partial(unpacked, request))

    def put(self, key: PairKey | None, report: ScoreReport) -> None:
        """Remember a report, if its files are still what they were."""
        if key is None or not can_be_kept(report):
            return
        with suppress(OSError):
            if all(identity(about[0]) == about for about in key.files):
                self.keep(key.key, *packed(report))


def _asked(request: Request) -> dict[str, Any]:
    """The settings that figures depend on, with one spelling of the default."""
    found = asked(request)
    if found.get("metrics") == [_DEFAULT]:
        del found["metrics"]
    return found


def _libraries() -> dict[str, str]:
    found = dict.fromkeys(("av", "numpy"), "")
    for name in found:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
