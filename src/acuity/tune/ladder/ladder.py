"""Builds a bitrate ladder: samples sizes and qualities, takes the hull, and chooses the rungs.

Every sample is scored at the source's size, or at that of Scoring.display, scaled up as a player would: so
a small rung's score says what a viewer sees of it. Samples are encoded with the keyframes that the segments
will need, so a rung's final encode is the sample that it was chosen for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np

from acuity import __version__
from acuity.errors import TuneError
from acuity.tune.clip import Clip
from acuity.tune.encoders import Encoder
from acuity.tune.encoders.encode import PictureForm
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.ladder.codec_string import EncodedStream, codec_string, stream_head
from acuity.tune.ladder.playlists import (
    MediaSegment,
    SegmentTimes,
    Variant,
    rendition_name,
)
from acuity.tune.ladder.rungs import RungChoice, choose_rungs, convex_hull, unreached
from acuity.tune.ladder.sweep import CLOSE, Size, Sweep
from acuity.tune.points.point import Point
from acuity.tune.points.workbench import Workbench

SCHEMA: Final = "vmaf-tune-ladder/v1"
GRID: Final = (20, 25, 30, 35, 40)  # of a quality from 0 to 51
_GRID_END: Final = 51
SEGMENT_SECONDS: Final = 4.0
_SAME_SHAPE: Final = 0.01


@dataclass(frozen=True, eq=False)
class LadderSample:
    """One encode of the clip at one size and quality, or why there is none."""

    settings: EncoderSettings  # with the size
    segment: int  # frames of a segment
    width: int
    height: int
    crf: float | None  # the value of the quality setting; None: a size that can't be encoded at all
    point: Point | None
    vmaf: float  # not a number if it failed
    error: str | None = None

    @property
    def bitrate_kbps(self) -> float:
        return float("nan") if self.point is None else self.point.bitrate_kbps

    @property
    def name(self) -> str:
        return rendition_name(self.width, self.height, self.bitrate_kbps)

    @cached_property
    def timeline(self) -> SegmentTimes:
        """The segments that the sample would make, without a container around them."""
        assert self.point is not None
        length, sizes = self.segment, self.point.sizes
        starts = range(0, len(sizes), length)
        ticks, timescale = self.point.rate.denominator, self.point.rate.numerator
        sums = np.add.reduceat(sizes, list(starts))
        frames = [min(length, len(sizes) - start) for start in starts]
        return SegmentTimes(
            timescale, tuple(MediaSegment(n * ticks, int(size)) for n, size in zip(frames, sums, strict=True))
        )

    def document(self) -> dict[str, Any]:
        point, timeline = self.point, None if self.point is None else self.timeline
        return {
            "width": self.width,
            "height": self.height,
            "bitrate_kbps": None if point is None else round(point.bitrate_kbps, 3),
            "bandwidth_bps": None if timeline is None else timeline.peak_bps,
            "vmaf": None if point is None else round(self.vmaf, 6),
            "crf": self.crf,
            **({"error": self.error} if point is None else {}),
        }


@dataclass(frozen=True, eq=False)
class Ladder:
    """The rungs of a ladder, by rising bitrate, and everything that was measured for them."""

    clip: Clip
    encoder: Encoder
    targets: tuple[float, ...]
    spacing: str
    renditions: list[LadderSample]
    hull: list[LadderSample]
    samples: list[LadderSample]  # failed ones too
    encodes: int  # that were made; points from the cache aren't counted
    notes: list[str] = field(default_factory=list)

    @property
    def error(self) -> str | None:
        """Why the highest target is missed; None if it is met, and the lower ones with it."""
        return unreached(self.renditions[-1].vmaf, max(self.targets))

    @cached_property
    def variants(self) -> list[Variant]:
        """The rungs as playlists describe them; raises TuneError for a codec that they have no name for."""
        return [self._planned(sample) for sample in self.renditions]

    def _planned(self, sample: LadderSample) -> Variant:
        assert sample.crf is not None
        head = stream_head(self.clip, sample.settings, sample.crf, sample.bitrate_kbps)
        return variant(self.name(sample), self.clip, sample, head, sample.timeline, planned=True)

    def name(self, sample: LadderSample) -> str:
        """The rung's name, with its quality at the end if another rung has the same name."""
        same = [other for other in self.renditions if other.name == sample.name]
        return sample.name if len(same) < 2 else f"{sample.name}_{sample.crf}"

    def document(self) -> dict[str, Any]:
        rungs = [
            {**sample.document(), "codecs": variant.codecs, "uri": f"{variant.name}.m3u8"}
            for sample, variant in zip(self.renditions, self.variants, strict=True)
        ]
        point = self.renditions[-1].point
        assert point is not None
        on_hull = {id(sample) for sample in self.hull}
        return {
            "schema": SCHEMA,
            "src": self.clip.path,
            "ok": self.error is None,
            "error": self.error,
            "encoder": self.encoder.name,
            "encoder_version": point.encoder_version,
            "model": point.model,
            "target_vmafs": list(self.targets),
            "spacing": self.spacing,
            "renditions": rungs,
            "rungs": rungs,
            "samples": [{**sample.document(), "on_hull": id(sample) in on_hull} for sample in self.samples],
            "encodes": self.encodes,
            "notes": self.notes,
            "tool_version": f"acuity {__version__}",
        }


def variant(
    name: str,
    clip: Clip,
    sample: LadderSample,
    head: EncodedStream,
    timeline: SegmentTimes,
    *,
    planned: bool = False,
) -> Variant:
    form = PictureForm.of(clip, sample.settings)
    shown = sample.width, sample.height, clip.rate
    tags = form.aspect or Fraction(1), form.transfer, form.colours
    return Variant(name, *shown, codec_string(head), timeline, planned, *tags)


def default_grid(encoder: Encoder) -> list[float]:
    """The qualities that are tried first: those of x264's scale, stretched to the encoder's."""
    return [encoder.quality(round(value / _GRID_END * encoder.last_step)) for value in GRID]


def build_ladder(
    bench: Workbench,
    clip: Clip,
    settings: EncoderSettings,
    resolutions: Sequence[Size],
    wanted: RungChoice,
    *,
    crf_sweep: Sequence[float] | None = None,
    quality_range: tuple[float, float] | None = None,
    segment_seconds: float = SEGMENT_SECONDS,
    pool: str = "mean",
) -> Ladder:
    """Build a ladder; raises TuneError if it can't have a single rung.

    `quality_range` limits the values of the quality setting that are tried. A size or sample that fails is
    kept, with its error, and the others go on.
    """
    encoder = settings.encoder
    grid = list(crf_sweep or default_grid(encoder))
    for quality in grid:
        encoder.check_quality(quality)
    low, high = sorted(map(encoder.step, quality_range or (encoder.best, encoder.worst)))
    settings, segment = _segmented(settings, clip, segment_seconds)
    sizes, samples, notes = _sizes(clip, settings, segment, resolutions)
    steps = [min(max(encoder.step(quality), low), high) for quality in grid]
    sweep = Sweep(list(sizes), steps, wanted, first_step=low, last_step=high)
    before = bench.encodes
    expected = len(sizes) * len(grid)
    bench.tally.plan(expected)
    try:
        samples += _measure(bench, clip, sizes, segment, sweep, pool)
    finally:
        bench.tally.plan(-expected)
    measured = [sample for sample in samples if sample.point is not None]
    if not measured:
        raise TuneError(next(sample.error for sample in samples if sample.error is not None))
    rungs, said = choose_rungs(measured, wanted)
    failed = [
        sample.error if sample.crf is None else f"{sample.width}x{sample.height}: {sample.error}"
        for sample in samples
        if sample.error is not None
    ]
    said += _above(rungs[0], wanted.targets, measured, encoder, high) + _without_rung(sizes, rungs, measured)
    told = [note for sample in rungs if sample.point is not None for note in sample.point.notes]
    return Ladder(
        clip=clip,
        encoder=encoder,
        targets=tuple(wanted.targets),
        spacing=wanted.spacing,
        renditions=rungs,
        hull=convex_hull(measured),
        samples=sorted(
            samples, key=lambda s: (-s.width * s.height, -1 if s.crf is None else encoder.step(s.crf))
        ),
        encodes=bench.encodes - before,
        notes=list(dict.fromkeys([*said, *notes, *failed, *told])),
    )


def _above(
    bottom: LadderSample,
    targets: Sequence[float],
    measured: Sequence[LadderSample],
    encoder: Encoder,
    last: int,
) -> list[str]:
    """Why the lowest rung is clearly above the lowest target, if it is."""
    low = min(targets)
    if len(set(targets)) == 1 or bottom.crf is None or bottom.vmaf - low <= CLOSE:
        return []
    step = encoder.step(bottom.crf)
    size = bottom.width, bottom.height
    tried = {(one.width, one.height, one.crf): one.vmaf for one in measured}
    if step < last and tried.get((*size, encoder.quality(step + 1)), low) < low:
        return []  # as near as its steps allow
    why = (
        f"{encoder.knob} {bottom.crf} is the worst quality that may be tried, so ask for a smaller size"
        if step == last
        else "what was tried below it costs more bits for its score"
    )
    return [f"the lowest rung has VMAF {bottom.vmaf:.2f}, and {low:g} was asked for: {why}"]


def _without_rung(
    sizes: Iterable[Size], rungs: Sequence[LadderSample], measured: Sequence[LadderSample]
) -> list[str]:
    """Which of the sizes asked for have no rung, and why."""
    used = {(sample.width, sample.height) for sample in rungs}
    hull = {(sample.width, sample.height) for sample in convex_hull(measured)}
    why = {
        True: "its encodes that are worth their bits are beyond the targets, or too near to other rungs",
        False: "at its bitrates other sizes have higher scores",
    }
    return [f"no rung is {size[0]}x{size[1]}: {why[size in hull]}" for size in sizes if size not in used]


def _segmented(settings: EncoderSettings, clip: Clip, segment_seconds: float) -> tuple[EncoderSettings, int]:
    """The settings with keyframes at fixed places, and the frames of a segment: whole groups of pictures."""
    frames = round(segment_seconds * clip.rate)
    if frames < 1:
        raise TuneError(f"segments of {segment_seconds:g} s are shorter than a frame: use 2 to 10 s")
    group = min(frames, settings.keyframe_interval or frames)
    return replace(settings, keyframe_interval=group, fixed_keyframes=True), frames // group * group


def _sizes(
    clip: Clip, settings: EncoderSettings, segment: int, resolutions: Sequence[Size]
) -> tuple[dict[Size, EncoderSettings], list[LadderSample], list[str]]:
    """The settings of each size, samples that stand for sizes that can't be encoded, and notes."""
    if not resolutions:
        raise TuneError("a ladder needs sizes: name them, as 1920x1080,1280x720,640x360")
    sizes: dict[Size, EncoderSettings] = {}
    failed: list[LadderSample] = []
    notes: list[str] = []
    full = clip.info.width, clip.info.height
    for size in dict.fromkeys(resolutions):
        try:
            of_size = replace(settings, size=None if size == full else size)
            PictureForm.of(clip, of_size)
        except TuneError as error:
            failed.append(LadderSample(settings, segment, *size, None, None, float("nan"), str(error)))
            continue
        sizes[size] = of_size
        shape = Fraction(size[0] * full[1], size[1] * full[0])
        if abs(shape - 1) > _SAME_SHAPE:
            notes.append(
                f"{size[0]}x{size[1]} hasn't the shape of the source ({full[0]}x{full[1]}): "
                "players stretch its samples to show the whole picture"
            )
    if not sizes:
        raise TuneError(failed[0].error)
    return sizes, failed, notes


def _measure(
    bench: Workbench,
    clip: Clip,
    sizes: dict[Size, EncoderSettings],
    segment: int,
    sweep: Sweep,
    pool: str,
) -> Iterator[LadderSample]:
    while wishes := sweep.next():
        asked = [(sizes[size], sizes[size].encoder.quality(step)) for size, step in wishes]
        points = bench.points((clip, *each) for each in asked)
        for wish, (settings, quality), point in zip(wishes, asked, points, strict=True):
            about = settings, segment, *wish.size, quality
            if isinstance(point, Point):
                vmaf = point.pool(method=pool)
                sweep.add(*wish, point.bitrate_kbps, vmaf)
                yield LadderSample(*about, point, vmaf)
            else:
                yield LadderSample(*about, None, float("nan"), str(point))
