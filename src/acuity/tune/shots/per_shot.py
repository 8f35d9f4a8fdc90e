"""Plans a quality for each shot: the target met in each, or bits divided among them at equal slopes.

Each shot is probed as it is encoded in the end: alone, by an encoder of its own that begins with its first
frame, with the same settings. So what is predicted is what comes out, up to two things: the stitched file
has a container around it, and a score that looks at neighbouring frames (motion) sees the neighbours across
a cut only in the whole file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.errors import AcuityError, TuneError, UnreachableError
from acuity.scoring.bd_rate import pchip_slopes
from acuity.tune.clip import Clip, Part
from acuity.tune.encoders import Encoder
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.material import part_notes
from acuity.tune.points.point import Point
from acuity.tune.points.workbench import Workbench
from acuity.tune.search.searching import search
from acuity.tune.search.target import Target
from acuity.tune.shots.allocation import Allocation, Curve, ShotChoice, best_score, least_bits
from acuity.tune.shots.detect import Detection, known_shots
from acuity.tune.shots.plan import Division, PlannedShot, ShotPlan
from acuity.tune.shots.stitch import for_stitching, stitchable_range

_REACH: Final = 8  # whole values that a curve is believed beyond what was measured of it
_HALVES: Final = 6.0  # whole values in which bits halve, as long as one point is all that is known

Floats = NDArray[np.float64]
_NEAR: Final = 0.004  # of the bits: a plan of measured points this near to the best believed is taken

# Pools of the whole clip that are sums over frames, as the summand of a frame; better is more.
_SUMMANDS: Final[Mapping[str, Callable[[np.ndarray], np.ndarray]]] = {
    "mean": lambda values: values,
    "harmonic_mean": lambda values: -1.0 / (values + 1.0),
}


def plan_per_shot(
    bench: Workbench,
    clip: Clip,
    settings: EncoderSettings,
    *,
    target: Target | None = None,
    bitrate_kbps: float | None = None,
    division: Division | None = None,
    detection: Detection | None = None,
    quality_range: tuple[float, float] | None = None,
    max_encodes: int = 8,
) -> ShotPlan:
    """The plan of a clip.

    With division "each" every shot meets the target; with "mean" the clip does, with the fewest bits;
    "bitrate" is the best that a given `bitrate_kbps` allows. `max_encodes` is the limit for one shot.
    A target that can't be reached gives the best there is, with `met` False and a note.
    """
    division = "bitrate" if bitrate_kbps is not None else division or "each"
    target = target or Target(0.0)
    if bitrate_kbps is not None and not bitrate_kbps > 0:
        raise TuneError(f"a bitrate of {bitrate_kbps:g} kbit/s can't be kept: it must be above 0")
    found = known_shots(bench.cache, clip, detection or Detection(), progress=bench.check)
    parts = [shot.part for shot in found]
    quality_range = stitchable_range(settings.encoder, quality_range)
    job = _Job(bench, clip, for_stitching(settings), target, parts, quality_range, max_encodes)
    before = bench.encodes
    points, met, notes = job.each() if division == "each" else job.divided(bitrate_kbps)
    shots = tuple(
        PlannedShot(part, point, target.figure(point), target.met(target.figure(point)))
        for part, point in zip(parts, points, strict=True)
    )
    plan = ShotPlan(
        clip,
        job.settings,
        bench.scoring,
        division,
        target,
        bitrate_kbps,
        shots,
        bench.encodes - before,
        job.measured,
        met,
        (
            *part_notes(clip),
            *notes,
            *_gathered(dict(enumerate(point.notes for point in points)), len(points)),
        ),
    )
    bench.tally.set_best(
        f"{len(parts)} shot{'s' * (len(parts) > 1)}: {target.shown(plan.predicted)} "
        f"at {plan.bitrate_kbps:,.0f} kbit/s"
    )
    return plan


def _gathered(notes: Mapping[int, Sequence[str]], shots: int) -> list[str]:
    """Notes of shots, each once, with the numbers of the shots that it is about unless these are all."""
    about: dict[str, list[str]] = {}
    for number in sorted(notes):
        for note in notes[number]:
            about.setdefault(note, []).append(str(number + 1))
    return [
        note if len(which) == shots else f"shot{'s' * (len(which) > 1)} {', '.join(which)}: {note}"
        for note, which in about.items()
    ]


@dataclass(slots=True)
class _Job:
    bench: Workbench
    clip: Clip
    settings: EncoderSettings
    target: Target
    parts: list[Part]
    quality_range: tuple[float, float]
    max_encodes: int
    known: list[dict[int, Point]] = field(default_factory=list)  # of each shot, by step

    @property
    def encoder(self) -> Encoder:
        return self.settings.encoder

    @property
    def measured(self) -> int:
        return sum(len(points) for points in self.known)

    def each(self) -> tuple[list[Point], bool, list[str]]:
        """The point of each shot that meets the target with the fewest bits."""
        missed: list[int] = []
        unfinished: dict[int, list[str]] = {}

        def one(number: int) -> tuple[Point, Sequence[Point]]:
            try:
                found = search(
                    self.bench,
                    self.clip.shot(self.parts[number]),
                    self.settings,
                    self.target,
                    quality_range=self.quality_range,
                    max_encodes=self.max_encodes,
                )
            except UnreachableError as error:
                if error.best is None:
                    raise
                missed.append(number)
                return error.best, error.points
            unfinished[number] = found.notes
            return found.point, found.points

        with ThreadPoolExecutor(self.bench.cores, thread_name_prefix="tune-shots") as pool:
            futures = [pool.submit(one, number) for number in range(len(self.parts))]
            try:
                results = [future.result() for future in futures]
            except BaseException as error:
                for future in futures:
                    future.cancel()
                if not isinstance(error, AcuityError):
                    self.bench.stop()  # an interrupt, which must not wait for the searches under way
                raise
        self.known = [{self.encoder.step(point.quality): point for point in points} for _, points in results]
        notes = [
            f"shot {number + 1} (frames {self.parts[number].start} to {self.parts[number].end - 1}) "
            f"can't reach {self.target}: the best is "
            f"{self.target.shown(self.target.figure(results[number][0]))}"
            for number in sorted(missed)
        ]
        return [point for point, _ in results], not missed, notes + _gathered(unfinished, len(self.parts))

    def divided(self, bitrate_kbps: float | None) -> tuple[list[Point], bool, list[str]]:
        """A point for each shot, at equal slopes.

        The curve of a shot is what was measured of it, and what is believed between and a little beyond.
        Bits are divided by the curves, the choices measured, and so on, until all choices are measured
        ones.
        """
        if self.target.pool not in _SUMMANDS:
            raise TuneError(
                f"bits can't be divided among shots by the {self.target.pool} of all frames: "
                f"use {' or '.join(_SUMMANDS)}, or the division 'each'"
            )
        lengths = [part.end - part.start for part in self.parts]
        budget = None if bitrate_kbps is None else bitrate_kbps * 1000 * sum(lengths) / float(self.clip.rate)

        def divide(curves: Sequence[Curve]) -> Allocation:
            if budget is not None:
                return best_score(curves, budget)
            return least_bits(curves, self._worth(np.array([self.target.value])))

        low, high = sorted(self.encoder.step(value) for value in self.quality_range)
        fineness = round(1 / self.encoder.stride)
        trials = self.encoder.trials[1:3] or (self.encoder.default,)
        first = sorted({min(max(self.encoder.step(value), low), high) for value in trials})
        self.known = [{} for _ in self.parts]
        self._measure([(number, step) for number in range(len(self.parts)) for step in first])
        while True:
            known = [self._measured(number) for number in range(len(self.parts))]
            shots = [(*one, self.encoder.quality) for one in zip(lengths, known, strict=True)]
            sure = divide([measured_curve(*one) for one in shots])
            believed = divide([believed_curve(*one, (low, high), fineness) for one in shots])
            missing = self._missing(believed)
            if not missing or self._as_good(sure, believed, budget):
                break
            self._measure(missing)
        chosen = [self.encoder.step(choice.quality) for choice in sure.choices]
        points = [known[step] for known, step in zip(self.known, chosen, strict=True)]
        return points, sure.met, [] if sure.met else [self._missed(budget, sure)]

    def _missing(self, believed: Allocation) -> list[tuple[int, int]]:
        """The choices that were not measured yet, of shots that may have another encode."""
        steps = [self.encoder.step(choice.quality) for choice in believed.choices]
        return [
            (number, step)
            for number, step in enumerate(steps)
            if step not in self.known[number] and len(self.known[number]) < self.max_encodes
        ]

    def _as_good(self, sure: Allocation, believed: Allocation, budget: float | None) -> bool:
        """Whether the measured points alone come near enough to what more encodes may give."""
        if not sure.met or not believed.met:
            return False
        if budget is None:
            return sure.bits <= believed.bits * (1 + _NEAR)
        # The slope turns the score that is still missing into the bits that it is worth.
        left = (believed.score - sure.score) / believed.slope * 1e6 if believed.slope else math.inf
        return left <= budget * _NEAR

    def _missed(self, budget: float | None, sure: Allocation) -> str:
        if budget is None:
            return f"the clip can't reach {self.target} with {self.encoder.name} in this range of qualities"
        kbps = sure.bits * float(self.clip.rate) / sum(part.end - part.start for part in self.parts) / 1000
        return (
            f"{self.encoder.name} can't keep this bitrate in this range of qualities: the least is "
            f"{kbps:,.0f} kbit/s"
        )

    def _measured(self, number: int) -> dict[int, MeasuredShot]:
        return {
            step: MeasuredShot(point.bytes * 8.0, self._worth(point.scores[self.target.column]))
            for step, point in self.known[number].items()
        }

    def _worth(self, values: Floats) -> float:
        """The mean worth of frames' figures: more is better."""
        worth = float(np.mean(_SUMMANDS[self.target.pool](values)))
        return -worth if self.target.lower_is_better else worth

    def _measure(self, wanted: Sequence[tuple[int, int]]) -> None:
        self.bench.tally.plan(len(wanted))
        asked = [
            (self.clip.shot(self.parts[number]), self.settings, self.encoder.quality(step))
            for number, step in wanted
        ]
        for (number, step), point in zip(wanted, self.bench.points(asked), strict=True):
            if isinstance(point, AcuityError):
                raise point
            self.known[number][step] = point


# ---- beliefs -------------------------------------------------------------------------------------
# What is believed of a shot's curve between the qualities that were measured, and a little beyond.
# The logarithm of bits and the score follow a smooth curve through what was measured (PCHIP), and straight
# lines beyond. A belief is never the answer: it says which quality is worth an encode.


class MeasuredShot(NamedTuple):
    bits: float
    score: float  # more is better


def measured_curve(frames: int, known: Mapping[int, MeasuredShot], quality: Callable[[int], float]) -> Curve:
    return Curve(frames, tuple(ShotChoice(quality(step), *known[step]) for step in sorted(known)))


def believed_curve(
    frames: int,
    known: Mapping[int, MeasuredShot],
    quality: Callable[[int], float],
    limits: tuple[int, int],
    fineness: int = 1,
) -> Curve:
    """The curve of every step near those measured, within the limits; `fineness` steps are a whole value."""
    steps = np.array(sorted(known), dtype=np.float64)
    reach = _REACH * fineness
    asked = np.arange(max(limits[0], steps[0] - reach), min(limits[1], steps[-1] + reach) + 1)
    logs = _line(
        asked, steps, np.log([known[int(step)].bits for step in steps]), -math.log(2) / _HALVES / fineness
    )
    values = np.array([known[int(step)].score for step in steps])
    scores = _line(asked, steps, values, 0.0)
    believed = {
        int(step): MeasuredShot(math.exp(log), float(score))
        for step, log, score in zip(asked, logs, scores, strict=True)
    }
    return measured_curve(frames, {**believed, **known}, quality)


def _line(at: Floats, steps: Floats, values: Floats, slope: float) -> Floats:
    """Values between what is known along a smooth curve, and beyond along straight lines."""
    if len(steps) == 1:
        return np.asarray(values[0] + slope * (at - steps[0]))
    secants = np.diff(values) / np.diff(steps)
    slopes = pchip_slopes(steps, values) if len(steps) > 2 else np.repeat(secants, 2)
    place = np.clip(np.searchsorted(steps, at, side="right") - 1, 0, len(steps) - 2)
    width = steps[place + 1] - steps[place]
    t = np.clip((at - steps[place]) / width, 0, 1)
    inside: Floats = (
        values[place] * (1 + 2 * t) * (1 - t) ** 2
        + width * slopes[place] * t * (1 - t) ** 2
        + values[place + 1] * t**2 * (3 - 2 * t)
        + width * slopes[place + 1] * t**2 * (t - 1)
    )
    inside += np.minimum(at - steps[0], 0) * secants[0] + np.maximum(at - steps[-1], 0) * secants[-1]
    return inside
