"""Groups: pairs with one reference, scored in step, with a thread for each pair and shared worker threads.

Memory is bounded by the group: for each pair some pictures of its encode (read ahead, under way, looked back
at) and a decoder with few threads; once, a window of the reference's pictures.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from acuity.comparison.request import ComparePair, ComparisonRequest
from acuity.errors import AcuityError, ClosedError
from acuity.measure.crew import Crew
from acuity.measure.measurement import Measurement
from acuity.scoring.report import ScoreReport
from acuity.scoring.request import Request
from acuity.scoring.run import SharedRun, run_request
from acuity.video.pairs.pair_options import AUTO
from acuity.video.readers.open import OpenOptions, RawGeometry, open_as, says_its_size
from acuity.video.readers.reader import BaseReader
from acuity.video.readers.shared import SharedReader

Place = str | os.PathLike[str]

# Threads that decode a reference: each holds a picture, and the encodes need cores too.
_MOST_THREADS: Final = 8


def _picture_bytes(path: str, scoring: Request) -> int | None:
    """The bytes of a reference's picture; None for what can't be opened, or only once."""
    if not (os.path.isfile(path) or os.path.isdir(path)):
        return None
    try:
        said = RawGeometry() if says_its_size(path) else scoring.geometry
        with open_as(path, said, replace(scoring.opening, stream=scoring.streams[0], threads=1)) as reader:
            return reader.info.format.frame_bytes(reader.info.width, reader.info.height)
    except (AcuityError, OSError):  # scoring has the sentence for it
        return None


class SharedReference:
    """One reading of a reference for all pairs of a group, each of which opens it or leaves."""

    def __init__(self, pairs: int, threads: int) -> None:
        self._threads = min(threads, _MOST_THREADS)
        self._shared = SharedReader(pairs)
        self._lock = threading.Lock()
        self._way: tuple[RawGeometry, OpenOptions] | None = None  # in which the first pair opened it
        self._here: set[int] = set()  # pairs that have opened it

    def open(self, pair: int, path: Place, said: RawGeometry, options: OpenOptions) -> BaseReader:
        """A tap; a reader that isn't shared for a pair that opens it in another way."""
        with self._lock:
            self._way = self._way or (said, options)
            same = self._way == (said, options)
        if same:
            few = options if options.allow_damaged else replace(options, threads=self._threads)
            reader: BaseReader = self._shared.tap(lambda: open_as(path, said, few))
        else:
            reader = open_as(path, said, options)
            self._shared.give_up()  # only now: a pair that can't open it gives its place up when it leaves
        self._here.add(pair)
        return reader

    def leave(self, pair: int) -> None:
        """Let the others go on if the pair hasn't opened it; a reader leaves when it is closed."""
        if pair not in self._here:
            self._shared.give_up()


MOST_PAIRS: Final = 8  # that are scored at once
_LEAST_PAIRS: Final = 2  # however large their pictures are
# Of all pairs at once: 8 of 2160p at 8 bit, 4 at 10 bit.
_MOST_BYTES: Final = 1 << 30
_PICTURES: Final = 10  # that a pair was seen to hold, with its decoder's
_GRACE: Final = 2.0  # seconds after an interruption in which queued frames are still computed
_EVERY: Final = 0.1  # seconds between two reports of a pair's progress


class Interrupted(Exception):
    """The comparison was asked to end."""


@dataclass(eq=False)
class PairRun:
    """One pair, while it is scored and afterwards."""

    index: int
    pair: ComparePair
    copy: bool = False  # of the reference
    done: int = 0  # frames
    total: int | None = None
    report: ScoreReport | None = None
    failure: Exception | None = None
    finished: bool = False  # with a report, which may be partial, or a failure; otherwise it was interrupted


def reads_twice(request: ComparisonRequest) -> bool:
    """Whether each pair goes back in its reference, so that it can't be decoded in step with others."""
    return request.scoring.align == AUTO or request.scoring.crop == AUTO


def most_pairs(request: ComparisonRequest, reference: str, wanted: int) -> int:
    """How many pairs of a reference are scored at once, so that memory stays bounded for large pictures."""
    size = None if wanted <= _LEAST_PAIRS else _picture_bytes(reference, request.scoring)
    if size is None:
        return min(MOST_PAIRS, wanted)
    return max(_LEAST_PAIRS, min(MOST_PAIRS, wanted, _MOST_BYTES // (_PICTURES * size)))


@dataclass(eq=False)
class ReferenceGroup:
    """Scores pairs that have one reference; `finished` is called for each in the thread that scored it."""

    request: ComparisonRequest
    runs: Sequence[PairRun]
    stop: threading.Event
    finished: Callable[[PairRun], None]
    _error: BaseException | None = None  # an error of Acuity itself, not of a pair

    def run(self, wait: Callable[[], None]) -> None:
        """Score all; calls `wait`, which returns after a moment, until every pair has ended."""
        with Crew(self.request.scoring.threads) as crew:
            shared = SharedReference(len(self.runs), crew.threads)
            threads = []
            try:
                for run in self.runs:
                    name, work = f"acuity-pair-{run.index}", (run, shared, crew)
                    threads.append(threading.Thread(target=self._work, args=work, name=name, daemon=True))
                    threads[-1].start()
                since: float | None = None
                while any(thread.is_alive() for thread in threads):
                    wait()
                    if not self.stop.is_set():
                        continue
                    since = since or time.monotonic()
                    if self._error is not None or time.monotonic() - since > _GRACE:
                        crew.close()  # drops the frames that are queued, and waits for one of each thread
            except BaseException:
                self.stop.set()
                crew.close()
                raise
            finally:
                for thread in threads:
                    if thread.ident is not None:
                        thread.join()
        if self._error is not None:
            raise self._error

    def _work(self, run: PairRun, shared: SharedReference, crew: Crew) -> None:
        def watch(measurement: Measurement) -> None:
            def end(_: object = None) -> None:
                # A measurement with frames ends with a report on them, one without any ends at once.
                if self.stop.is_set() and not (measurement.interrupt() or measurement.finished):
                    raise Interrupted

            measurement.boundary.on_frame(end)
            measurement.boundary.on_idle(end)

        def progress(done: int, total: int | None, _: float | None) -> None:
            run.done, run.total = done, total

        # A decoder with many threads is a decoder with many pictures; of damaged frames they may differ.
        few = 0 if self.request.scoring.allow_damaged else max(1, crew.threads // len(self.runs))

        def open_distorted(path: Place, said: RawGeometry, options: OpenOptions) -> BaseReader:
            return open_as(path, said, replace(options, threads=few))

        open_reference = open_as if reads_twice(self.request) else partial(shared.open, run.index)
        try:
            if self.stop.is_set():
                raise Interrupted
            run.report = run_request(
                self.request.of(run.pair),
                progress=progress,
                running_mean=False,
                every=_EVERY,
                watch=watch,
                beside=SharedRun(crew, (open_reference, open_distorted)),
                share=len(self.runs),
            )
            run.finished = True
        except Interrupted:
            pass
        except (AcuityError, OSError) as error:
            if not (self.stop.is_set() and isinstance(error, ClosedError)):
                run.failure = _bare(error)
                run.finished = True
        except BaseException as error:
            self._fail(error)
        finally:
            shared.leave(run.index)
        try:
            if run.finished:
                self.finished(run)
        except BaseException as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error
        self.stop.set()


def _bare(error: Exception) -> Exception:
    """The error without its stack frames, which would keep pictures in memory for as long as its row."""
    found: BaseException | None = error
    while found is not None:
        found = found.with_traceback(None).__context__
    return error
