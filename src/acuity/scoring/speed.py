"""How fast this machine scores: frames a second of models and features on each backend, and their figures.

Frames are made up and lie in memory, so neither decoding nor a disk counts. Every backend first measures the
same few frames, whose figures are compared bit for bit, and then as many as it can in its time.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from acuity.devices import (
    AUTO,
    Device,
    available_threads,
    chosen_card,
    describe_backend,
    describe_engine,
    open_backend,
    start_backend,
)
from acuity.devices import BACKENDS as KNOWN
from acuity.errors import BackendError, UnfitPictureError
from acuity.features.extractor import Geometry
from acuity.measure import Measurement, Results
from acuity.scoring.fronts import sentence
from acuity.video.made_up import moving_pairs
from acuity.video.picture import Picture, PixelFormat

Pairs = Sequence[tuple["Picture", "Picture"]]

SIZES: Final = {"1080p": (1920, 1080), "2160p": (3840, 2160)}
BACKENDS: Final = ("cpu", "cuda")  # those that are measured unless some are named
_PAIRS: Final = 6  # pictures that differ; they are shown in turn
_COMPARED: Final = 4  # frames of every backend, whose figures have to be equal
_LEAST: Final = 0.4  # seconds that a card is measured
_WARM_UP: Final = 0.3  # seconds in which a card's memory and clocks settle


class Workload(NamedTuple):
    name: str
    models: tuple[str, ...] = ()
    features: tuple[str, ...] = ()


WORKLOADS: Final = (
    Workload("v0.6.1", ("version=vmaf_v0.6.1",)),
    Workload("v0.6.1 + NEG", ("version=vmaf_v0.6.1", "version=vmaf_v0.6.1neg:name=vmaf_neg")),
    Workload("v1 (3d0h)", ("version=vmaf_v1.0.16_3d0h",)),
    Workload("psnr", features=("psnr",)),
)


class SpeedTarget(NamedTuple):
    """A place to measure: some threads of the CPU, or one card with the CPU beside it."""

    backend: str
    threads: int
    devices: Sequence[Device]
    number: int | None = None  # of a card

    @property
    def name(self) -> str:
        if self.number is not None:
            return f"{self.backend}:{self.number}"
        return f"{self.backend}, {self.threads} thread{'s' if self.threads > 1 else ''}"

    @property
    def card(self) -> str | None:
        found = self.devices[0].describe().get("card")
        return None if found is None else str(found)


class Unusable(NamedTuple):
    """A backend, one of its cards, or a workload that can't be measured."""

    name: str
    reason: str


@dataclass(frozen=True)
class Speed:
    place: SpeedTarget
    workload: Workload
    frames: int
    seconds: float
    scores: dict[
        str, float
    ]  # means of the compared frames: of the models, or of the features if there are none
    differences: tuple[str, ...] = ()  # sentences, where figures aren't those of the first place

    @property
    def fps(self) -> float:
        return self.frames / self.seconds


def find_places(backends: Sequence[str] = ()) -> tuple[list[SpeedTarget], list[Unusable]]:
    """The places of these backends, or of all there are; 'auto' is the backend that it would take.

    Raises BackendError for a name that no backend has, and if none of the named ones can be used.
    """
    found: list[SpeedTarget] = []
    unusable: list[Unusable] = []
    wanted = list(dict.fromkeys(map(_meant, backends or BACKENDS)))
    for backend in wanted:
        try:
            places, refused = _places(backend)
        except BackendError as error:
            why = error.__cause__ if isinstance(error.__cause__, BackendError) else error
            places, refused = [], [Unusable(backend, sentence(why, "acuity"))]
        found += places
        unusable += refused
    if not found:
        open_backend(wanted[0])  # raises the reason
    return found, unusable


def _meant(backend: str) -> str:
    """The backend that a name means; raises BackendError if none has it."""
    name, number = chosen_card(backend)
    if name == AUTO:
        return start_backend(AUTO)
    if name not in KNOWN:
        open_backend(name)  # raises the reason
    return name if number is None else f"{name}:{number}"


def _places(backend: str) -> tuple[list[SpeedTarget], list[Unusable]]:
    """The places of a backend, and what of it can't be used; raises BackendError for one card."""
    if backend == "cpu":
        devices = open_backend(backend).devices
        return [SpeedTarget(backend, threads, devices) for threads in sorted({1, available_threads()})], []
    if chosen_card(backend)[1] is not None:
        return [_card(backend)], []
    about = describe_backend(backend, probe=True)
    if not about.usable:
        return [], [Unusable(backend, about.init_status)]
    problems = {f"{backend}:{card['number']}": card["problem"] for card in about.cards}
    places = [_card(name) for name, problem in problems.items() if problem is None]
    return places, [Unusable(name, str(problem)) for name, problem in problems.items() if problem]


def _card(name: str) -> SpeedTarget:
    devices = open_backend(name).devices
    return SpeedTarget(devices[0].name, available_threads(), devices, chosen_card(name)[1])


class SpeedRun:
    """Measures workloads at places, one after the other, in about `seconds` altogether."""

    def __init__(
        self, size: tuple[int, int], depth: int, seconds: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.size, self.depth = size, depth
        self._now = now
        self._deadline = now() + seconds
        self._pictures: dict[int, Pairs] = {}  # by the device that has allocated them
        self._first: dict[Workload, tuple[SpeedTarget, Results]] = {}
        self._interrupted = False

    def interrupt(self) -> bool:
        """End soon, with what was measured so far; a signal handler may call it."""
        self._interrupted = True
        return True

    def check(self, workload: Workload) -> None:
        """Raise an error for names in a workload that don't exist, and UnfitPictureError for its size."""
        luma, *chroma = PixelFormat("420", self.depth).plane_shapes(*self.size)
        geometry = Geometry(luma[1], luma[0], self.depth, (chroma[0][1], chroma[0][0]))
        with Measurement(1, backend="cpu") as measurement:
            _add(workload, measurement)
            for extractor in measurement.extractors:
                try:
                    extractor.check_size(geometry)
                except UnfitPictureError as error:
                    raise UnfitPictureError(f"{workload.name} can't be measured: ", *error.args) from error

    def measure(self, place: SpeedTarget, workload: Workload, left: int) -> Speed | None:
        """Measure one of `left` that are still to do in its share of the time; None if it was interrupted."""
        begun = self._now()
        deadline = begun + max(self._deadline - begun, 0.0) / left
        try:
            pairs = self._pairs(place.devices[0])
            compared, _ = self._run(place, workload, pairs, self._now())
            if place.number is not None:
                # Kernels may have been compiled meanwhile, which is no part of the speed.
                self._run(place, workload, pairs, self._now() + _WARM_UP)
                deadline = max(deadline, self._now() + _LEAST)
            long, seconds = self._run(place, workload, pairs, deadline)
        except _Interrupted:
            return None
        first = self._first.setdefault(workload, (place, compared))
        shown = compared.models or list(compared.columns)
        scores = {name: float(compared.columns[name].mean()) for name in shown}
        differing = tuple(_differences(workload, *first, place, compared))
        return Speed(place, workload, len(long.frames), seconds, scores, differing)

    def _pairs(self, device: Device) -> Pairs:
        allocate = device.allocate
        key = 0 if allocate is None else id(device)
        if key not in self._pictures:
            made = []
            for pair in moving_pairs(*self.size, self.depth, _PAIRS, allocate):
                self._check()
                made.append(pair)
            self._pictures[key] = made
        return self._pictures[key]

    def _check(self) -> None:
        if self._interrupted:
            raise _Interrupted

    def _run(
        self, place: SpeedTarget, workload: Workload, pairs: Pairs, deadline: float
    ) -> tuple[Results, float]:
        """Measure until the deadline, and a few frames at least; returns the figures and the seconds."""
        with Measurement(place.threads, backend=place.devices) as measurement:
            _add(workload, measurement)
            begin = self._now()
            for number, pair in enumerate(itertools.cycle(pairs)):
                if number >= _COMPARED and self._now() >= deadline:
                    break
                self._check()
                measurement.add(*pair)
            measurement.flush()
            return measurement.results(), self._now() - begin


def _add(workload: Workload, measurement: Measurement) -> None:
    for model in workload.models:
        measurement.add_model(model)
    for feature in workload.features:
        measurement.add_feature(feature)


class _Interrupted(Exception):
    """interrupt() was called."""


def _differences(
    workload: Workload, first: SpeedTarget, expected: Results, place: SpeedTarget, found: Results
) -> Iterable[str]:
    for name, column in expected.columns.items():
        other = found.columns.get(name)
        if other is None or column.tobytes() != other.tobytes():
            row = 0 if other is None else int((column.view("u8") != other.view("u8")).argmax())
            value = None if other is None else float(other[row])
            yield (
                f"{name} of {workload.name} differs in frame {row}: "
                f"{float(column[row])!r} on {first.name}, {value!r} on {place.name}"
            )


def as_document(
    run: SpeedRun, asked: float, speeds: Sequence[Speed], unusable: Sequence[Unusable]
) -> dict[str, Any]:
    differences = [text for speed in speeds for text in speed.differences]
    return {
        "engine": describe_engine(),
        "width": run.size[0],
        "height": run.size[1],
        "bitdepth": run.depth,
        "seconds": asked,
        "results": [_entry(speed) for speed in speeds],
        "unusable": [entry._asdict() for entry in unusable],
        "equal": bool(speeds) and not differences,
        "differences": differences,
    }


def _entry(speed: Speed) -> dict[str, Any]:
    place, workload = speed.place, speed.workload
    return {
        "backend": place.backend,
        "device": place.number,
        "card": place.card,
        "threads": place.threads,
        "measured": workload.name,
        "models": list(workload.models),
        "features": list(workload.features),
        "frames": speed.frames,
        "seconds": speed.seconds,
        "fps": speed.fps,
        "scores": speed.scores,
    }
