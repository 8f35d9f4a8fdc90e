"""LoneVideo: one video without a reference, as a source of pictures for a measurement.

It takes the place of a Pairing. A measurement takes pairs, so every picture comes as its own reference, and
only features of the distorted picture alone may be measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from acuity.errors import InputError, NoFramesError, to_set
from acuity.video.notes import info, warning
from acuity.video.pairs.clock import PairTimes
from acuity.video.pairs.content import find_bars
from acuity.video.pairs.pair_options import AUTO, PairOptions
from acuity.video.pairs.pair_plan import PairPlan, Side
from acuity.video.pairs.planning import match_samples
from acuity.video.pairs.producer import Ahead, PictureSource, Producer
from acuity.video.pairs.shape import crop, upright
from acuity.video.picture import Picture
from acuity.video.readers.reader import BaseReader, RgbTarget, VideoInfo, VideoReader

if TYPE_CHECKING:
    from fractions import Fraction


class LoneVideo(PictureSource):
    """Iterates (picture, the same picture) once, in order, reading ahead in a thread."""

    info_ref: Final = None  # there is none

    def __init__(self, reader: VideoReader, options: PairOptions) -> None:
        """Takes over the reader: closing this closes it, and so does an error here."""
        try:
            plan = _plan(reader, options)
        except BaseException:
            reader.close()
            raise
        super().__init__((reader,), plan, options, list(dict.fromkeys(plan.notes)))
        self.info_dis: VideoInfo = reader.info
        self.length: int | None = self._length()
        self.length_exact: bool = reader.info.frames_exact
        self.rate: Fraction | None = reader.info.rate  # pictures a second
        skipped = options.skip_dis / self.rate if self.rate else None
        self.timeline = PairTimes(self.rate, skipped, variable=reader.info.variable_rate)

    @property
    def description(self) -> dict[str, Any]:
        """The description of the input for reports, besides the notes, as plain values for JSON."""
        return {
            "reference": None,
            "distorted": self.info_dis.to_dict(),
            "width": self.width,
            "height": self.height,
            "pixel_format": self.format.layout,
            "bitdepth": self.format.depth,
            "range": self._range(),
            "display": self.display,
            "filter": self.options.filter,
            "crop": list(self._plan.crop) if self._plan.crop else None,
            "conversions": list(dict.fromkeys(self._plan.conversions)),
            "frame_skip_dis": self.options.skip_dis,
            "pairs": self.pairs,
        }

    def __iter__(self) -> Iterator[tuple[Picture, Picture]]:
        if self._started:
            raise InputError("a video can be iterated only once: open it again")
        self._started = True
        try:
            while not self._enough():
                picture = self._reading().take()
                if picture is None:
                    break
                self.timeline.note(picture.pts)
                self.pairs += 1
                yield picture, picture
                del picture
        finally:
            self._gather_notes()
            self.close()
        if self.pairs == 0:
            raise NoFramesError(self._nothing())

    def ready(self, seconds: float) -> bool:
        """Wait at most that many seconds; returns whether the next picture or the end has come."""
        return self._enough() or self._reading().ready(seconds)

    def _reading(self) -> Ahead:
        """The thread that reads ahead; started at the first call."""
        if not self._prefetches:
            producer = Producer(self._readers[0], self._plan.dis, self.options.skip_dis)
            self._prefetches.append(producer.start(self.options.ahead, "dis"))
        return self._prefetches[0]

    def _length(self) -> int | None:
        """The number of pictures that will come, if known; notes what the caller left out."""
        frames, skip, limit = self.info_dis.frames, self.options.skip_dis, self.options.frames
        unknown = frames is None or (frames <= skip and not self.info_dis.frames_exact)
        length = None if frames is None or unknown else frames - skip
        if length is not None and length <= 0:
            self.close()
            raise NoFramesError(self._nothing())
        if skip:
            text = f"left out: the first {skip} of '{self.info_dis.path}'; frames are numbered from there on"
            self.notes.append(info("skipped", text))
        if limit and (length is None or limit < length):
            whole = "" if length is None else f" of {length}"
            self.notes.append(info("frame-limit", f"the first {limit}{whole} frames are scored"))
        return min((n for n in (length, limit or None) if n is not None), default=None)

    def _nothing(self) -> str:
        skip = self.options.skip_dis
        after = f" after skipping {skip}: skip fewer" if skip else ""
        return f"'{self.info_dis.path}' has no frame{after}"


def _plan(reader: VideoReader, options: PairOptions) -> PairPlan:
    """How the pictures are prepared, by those of the decisions about a pair that concern one video."""
    active = find_bars(reader) if options.crop == AUTO else None
    plan = PairPlan(Side.of(reader.info, active), Side.of(reader.info, active))
    side = plan.dis
    if reader.info.hdr:
        plan.warn("hdr", f"{side.name} is HDR, and models are usually made for SDR: take scores with care")
    filtered = reader.info.interlaced and options.deinterlace not in ("warn", "off")
    if reader.info.interlaced and options.deinterlace == "warn":
        bwdif = to_set("deinterlace", "bwdif")
        plan.notes.append(warning("interlaced", f"{side.name} is interlaced: pass ", bwdif))
    for each in plan.sides:
        if filtered:
            each.deinterlace = options.deinterlace
            plan.convert("deinterlaced", f"{each.name} is deinterlaced with the filter {options.deinterlace}")
        if reader.info.rgb:
            target = RgbTarget()
            each.rgb_target, each.matrix, each.full_range = target, *target
            plan.convert("rgb", f"{each.name} is taken from RGB to YUV")
        upright(plan, each)
    crop(plan, options)
    match_samples(plan, options)
    if isinstance(reader, BaseReader):
        reader.prepare(chroma=side.needs_chroma, rgb=side.rgb_target)
    return plan
