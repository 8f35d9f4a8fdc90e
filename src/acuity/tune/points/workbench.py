"""Workbench: makes points from the cache or by encoding, several side by side, with progress and a stop."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, NamedTuple

from acuity.cache_file import engine_build
from acuity.errors import AcuityError
from acuity.models.choose import model_digests
from acuity.scoring.metrics import find_metrics
from acuity.tune.clip import Clip
from acuity.tune.encoders.encoded_reader import Sink
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.encoders.versions import encoder_version
from acuity.tune.points.point import Cache, Point, PointScoring, measure
from acuity.tune.progress import Listener, Stopped, Tally

# Pictures of so many pixels, and the cores that one encode of them uses well. Small pictures have too little
# to divide, so several encodes at once are faster; large ones also need memory for the encoder's lookahead.
_USEFUL: Final = ((640 * 360, 1), (1280 * 720, 2), (1920 * 1080, 4))
_LARGEST: Final = 8
_NOTES: Final = 2  # which notes points are kept with: a point without those of today is measured anew
_LOOK: Final = 0.1  # seconds between looks at whether to stop


class WantedPoint(NamedTuple):
    clip: Clip
    settings: EncoderSettings
    quality: float

    def key(self, scoring: PointScoring) -> str:
        return point_keys(self.clip, self.settings, [self.quality], scoring)[0]

    @property
    def title(self) -> str:
        encoder = self.settings.encoder
        size = "" if self.settings.size is None else " {}x{}".format(*self.settings.size)
        return f"{encoder.name}{size} {encoder.knob} {self.quality}"


class Made(NamedTuple):
    """A point, with the encoder that made it and the size it was encoded at."""

    encoder: str
    size: tuple[int, int] | None  # None: the source's
    point: Point


class Workbench:
    """Makes points for searches, comparisons and ladders; any thread may ask, and the cores are shared.

    Points that were made are in the cache, so asking again costs nothing, in this process or another.
    """

    def __init__(
        self,
        scoring: PointScoring,
        *,
        cache: Cache | None = None,
        listener: Listener | None = None,
        cores: int | None = None,
    ) -> None:
        """`cache` is one in memory unless it is given; `cores` are those of the process."""
        self.scoring = scoring
        self.cache = Cache(None) if cache is None else cache
        self.cores = cores or len(os.sched_getaffinity(0))
        self.tally = Tally(listener)
        self._shares = CoreShares(self.cores)
        self._stopped = False
        self._lock = threading.Lock()
        self._stops: set[threading.Event] = set()  # of the callers who wait for points

    @property
    def encodes(self) -> int:
        return self.tally.made

    def check(self, *_: object) -> None:
        """Raise Stopped after stop()."""
        if self._stopped:
            raise Stopped

    def stop(self) -> None:
        """End the encodes under way, within a second; all callers, now or later, get Stopped."""
        with self._lock:
            self._stopped = True
            for event in self._stops:
                event.set()
        self._shares.wake()

    def point(self, clip: Clip, settings: EncoderSettings, quality: float) -> Point:
        """The point, from the cache or made now; raises AcuityError, and Stopped after stop()."""
        with self._stoppable() as stop:
            return self._point(WantedPoint(clip, settings, quality), stop)

    def points(self, wanted: Iterable[tuple[Clip, EncoderSettings, float]]) -> Iterator[Point | AcuityError]:
        """The points in order, made side by side as cores allow; a failed one is its error.

        A stop or an interrupt ends those under way; the finished ones are in the cache.
        """
        todo = [WantedPoint(*each) for each in wanted]
        if not todo:
            return
        with (
            self._stoppable() as stop,
            ThreadPoolExecutor(min(len(todo), self.cores), thread_name_prefix="tune") as pool,
        ):
            futures = {each: pool.submit(self._point_or_error, each, stop) for each in dict.fromkeys(todo)}
            try:
                for each in todo:
                    yield futures[each].result()
            finally:  # a caller who reads no further wants no more encodes
                stop.set()
                for future in futures.values():
                    future.cancel()

    def encode(self, clip: Clip, settings: EncoderSettings, quality: float, sink: Sink) -> Point:
        """Encode now, whatever the cache has, and hand the packets to `sink`, in decoding order."""
        wanted = WantedPoint(clip, settings, quality)
        with self._stoppable() as stop:
            return self._made(wanted, wanted.key(self.scoring), stop, sink)

    def known(
        self, clip: Clip, settings: EncoderSettings, qualities: Iterable[float]
    ) -> Mapping[float, Point]:
        asked = list(qualities)
        clip.digest(self.cache)
        found = map(self.cache.get, point_keys(clip, settings, asked, self.scoring))
        return {quality: point for quality, point in zip(asked, found, strict=True) if point is not None}

    def made_of(self, clip: Clip) -> list[Made]:
        """The points that are known of a clip, by whatever encoder, of this process and of earlier ones."""
        clip.digest(self.cache)
        found = self.cache.of_source(_digest(_source(clip, self.scoring)))
        makers = [json.loads(maker) for _, maker, _ in found]
        return [
            Made(encoder, size and (size[0], size[1]), point)
            for (encoder, size), (_, _, point) in zip(makers, found, strict=True)
        ]

    @contextmanager
    def _stoppable(self) -> Iterator[threading.Event]:
        """An event that ends the encodes of one caller; stop() sets it too."""
        event = threading.Event()
        with self._lock:
            self.check()
            self._stops.add(event)
        try:
            yield event
        finally:
            with self._lock:
                self._stops.discard(event)

    def _point_or_error(self, wanted: WantedPoint, stop: threading.Event) -> Point | AcuityError:
        try:
            return self._point(wanted, stop)
        except Stopped:
            raise
        except AcuityError as error:
            return error

    def _point(self, wanted: WantedPoint, stop: threading.Event) -> Point:
        wanted.clip.digest(self.cache)  # is known from here on
        key = wanted.key(self.scoring)
        if (point := self.cache.get(key)) is None:
            return self._made(wanted, key, stop)
        self.tally.add_cached(wanted.title)
        return point

    def _made(self, wanted: WantedPoint, key: str, stop: threading.Event, sink: Sink | None = None) -> Point:
        clip, settings, quality = wanted
        size = settings.size or (clip.info.width, clip.info.height)
        with self._shares.share(size, stop) as threads, self.tally.encode(wanted.title) as frames:
            scoring = replace(
                self.scoring, threads=self.scoring.threads or threads, share=-(-self.cores // threads)
            )
            settings = _with_threads(settings, threads)
            point = measure(clip, settings, quality, scoring, frames=frames, stop=stop, sink=sink)
        maker = json.dumps([settings.encoder.name, settings.size])
        self.cache.put(key, point, source=_digest(_source(clip, self.scoring)), maker=maker)
        return point


def _with_threads(settings: EncoderSettings, threads: int) -> EncoderSettings:
    """The settings with that many threads, unless they are set or would change the encoder's bytes."""
    if settings.threads is not None:
        return settings
    limited = replace(settings, threads=threads)
    return limited if limited.document() == settings.document() else settings


# ---- keys ----------------------------------------------------------------------------------------
# The key of a point in the cache: a digest of all that decides its bytes and its scores.


def point_keys(
    clip: Clip, settings: EncoderSettings, qualities: Iterable[float], scoring: PointScoring
) -> list[str]:
    """The keys of encodes of a clip and their scores, whatever the file's name and the number of threads."""
    made = {"encoder": encoder_version(settings.encoder), "settings": settings.document()}
    common = {**_source(clip, scoring), **made}
    return [_digest({**common, "quality": quality}) for quality in qualities]


def _source(clip: Clip, scoring: PointScoring) -> dict[str, Any]:
    specs = [scoring.model, *(metric.model for metric in find_metrics(scoring.metrics))]
    return {
        "engine": engine_build(),
        "notes": _NOTES,
        "clip": clip.digest(),
        "scoring": scoring.document(),
        "models": model_digests(filter(None, specs), scoring.viewing),
    }


def _digest(document: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


# ---- shares of the cores -------------------------------------------------------------------------
# Divides cores among encodes that run side by side.


class CoreShares:
    """The cores of a process, lent to one encode after another in the order of asking."""

    def __init__(self, cores: int) -> None:
        self._free = cores
        self._cores = cores
        self._waiting: list[object] = []
        self._changed = threading.Condition()

    @contextmanager
    def share(self, size: tuple[int, int], stop: threading.Event) -> Iterator[int]:
        """Wait for cores and give their number; raises Stopped if `stop` is set meanwhile."""
        pixels = size[0] * size[1]
        useful = next((count for limit, count in _USEFUL if pixels <= limit), _LARGEST)
        threads = self._take(min(useful, self._cores), stop)
        try:
            yield threads
        finally:
            with self._changed:
                self._free += threads
                self._changed.notify_all()

    def wake(self) -> None:
        """Let those who wait look at the stop at once."""
        with self._changed:
            self._changed.notify_all()

    def _take(self, useful: int, stop: threading.Event) -> int:
        turn = object()
        with self._changed:
            self._waiting.append(turn)
            try:
                while self._waiting[0] is not turn or self._free < useful:
                    self._changed.wait(_LOOK)
                    if stop.is_set():
                        raise Stopped()
                # One that is alone gets the cores that nobody else asked for.
                threads = self._free if len(self._waiting) == 1 and self._free == self._cores else useful
                self._free -= threads
                return threads
            finally:
                self._waiting.remove(turn)
                self._changed.notify_all()
