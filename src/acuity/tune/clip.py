"""Clip: the source of an encode, whole or in parts."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, NamedTuple

from acuity.errors import InputError, NoFramesError, TuneError, to_give
from acuity.tune.encoders.hdr10 import Hdr10, read_hdr10
from acuity.video.local_file import DigestCache, file_digest
from acuity.video.pairs.convert import Turn
from acuity.video.picture import Picture
from acuity.video.readers.open import OpenOptions, RawGeometry, open_as
from acuity.video.readers.reader import BaseReader, RgbTarget, VideoInfo

_RATE_DIGITS: Final = 10_000  # the largest denominator of an average rate: encoders take no larger ones


class Part(NamedTuple):
    """A run of frames, from `start` up to but without `end`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Clip:
    """A source video, and the frames of it that are selected for an encode."""

    path: str
    info: VideoInfo = field(compare=False, repr=False)  # of the whole file
    geometry: RawGeometry = field(default_factory=RawGeometry)
    fps: Fraction | None = None  # of raw video and images
    stream: int | None = None
    parts: tuple[Part, ...] | None = None  # None: all frames
    hdr10: Hdr10 = field(default_factory=Hdr10, compare=False, repr=False)
    led: bool = False  # its first frame is scored as in the whole video: see points/point.py

    @property
    def rate(self) -> Fraction:
        """Frames a second, on average over the whole file if they are shown for unequal times."""
        assert self.info.rate is not None  # open_clip() has seen to it
        return self.info.rate

    @property
    def frames(self) -> int | None:
        """The number of frames; for a whole container, what it claims."""
        return self.info.frames if self.parts is None else sum(end - start for start, end in self.parts)

    @property
    def seconds(self) -> float | None:
        return None if self.frames is None else float(self.frames / self.rate)

    def of(self, *parts: Part) -> Clip:
        """The same source with only these frames selected."""
        for part in parts:
            known = self.info.frames if self.info.frames_exact else None
            if not 0 <= part.start < part.end or (known is not None and part.end > known):
                raise NoFramesError(f"'{self.path}' has no frames {part.start} to {part.end}")
        return replace(self, parts=parts, led=False)

    def shot(self, part: Part) -> Clip:
        """One part of the source, whose figures are to be those that it has within the whole."""
        return replace(self.of(part), led=True)

    def reader(self, *, luma_only: bool = False) -> ClipReader:
        """The selected frames, in order, as one stream at an even rate."""
        options = OpenOptions(fps=self.fps, guess=True, luma_only=luma_only, stream=self.stream)
        return ClipReader(open_as(self.path, self.geometry, options), self)

    def digest(self, memory: DigestCache | None = None) -> str:
        """SHA-256 of the file's bytes and of the settings that select its frames.

        `memory` knows the digests of large files that other processes have read.
        """
        about = (
            file_digest(self.path, memory) if os.path.isfile(self.path) else _folder_digest(self.path),
            str(self.geometry),
            str(self.fps),
            str(self.stream),
            str(self.parts and [tuple(part) for part in self.parts]),
            str(self.led),
            *([f"on average {self.rate}"] if self.info.variable_rate else []),
        )
        return hashlib.sha256("\n".join(about).encode()).hexdigest()


class Times:
    """The times of a clip's frames in its source, in seconds, as far as it was read.

    With a variable rate all times are kept; with an even rate they follow from the first.
    """

    def __init__(self, rate: Fraction, *, variable: bool) -> None:
        self._rate = rate
        self._variable = variable
        self._stamps: list[float] = []

    def note(self, time: float | None) -> None:
        if time is not None and (self._variable or not self._stamps):
            self._stamps.append(time)

    @property
    def even(self) -> bool:
        return not self._variable

    def rate(self, frames: int) -> Fraction:
        """Frames a second, on average over the first `frames` frames."""
        if not self._variable or len(self._stamps) < frames:
            return self._rate
        shown = self.at(frames) - self.at(0)
        return (frames / shown).limit_denominator(_RATE_DIGITS) if shown > 0 else self._rate

    def at(self, frame: int) -> Fraction:
        """The time of a frame; before the first one and after the last, times go on evenly."""
        stamps = self._stamps
        if self._variable and stamps and frame >= 0:
            last = min(frame, len(stamps) - 1)
            return Fraction(stamps[last]) + (frame - last) / self._rate
        start = Fraction(stamps[0]) if stamps else Fraction(0)
        return start + frame / self._rate


class ClipReader(BaseReader):
    """Reads the frames of a clip, upright: its parts one after the other, with even times."""

    def __init__(self, video: BaseReader, clip: Clip) -> None:
        super().__init__()
        self.notes = video.notes
        self._video = video
        self._rate = clip.rate
        self._turn = Turn(video.info.rotation) if video.info.rotation else None
        self.times = Times(clip.rate, variable=video.info.variable_rate)
        self._pictures = iter(video) if clip.parts is None else self._selected(clip.parts)
        self._next = 0
        self.info = replace(
            upright(video.info),
            rate=clip.rate,
            variable_rate=False,
            frames=clip.frames,
            frames_exact=video.info.frames_exact or clip.parts is not None,
            seekable=False,
        )

    def read(self) -> Picture | None:
        picture = next(self._pictures, None)
        if picture is None:
            return None
        self.times.note(picture.pts)
        if self._turn is not None:
            picture = self._turn(picture)
        picture.pts = float(self._next / self._rate)
        self._next += 1
        return picture

    def _selected(self, parts: tuple[Part, ...]) -> Iterator[Picture]:
        for part in parts:
            self._video.seek(part.start)
            yield from (self._there(part) for _ in range(*part))

    def _there(self, part: Part) -> Picture:
        if (picture := self._video.read()) is None:
            raise NoFramesError(f"'{self.info.path}' ends before frame {part.end - 1}")
        return picture

    def prepare(self, *, chroma: bool = False, rgb: RgbTarget | None = None) -> None:
        self._video.prepare(chroma=chroma, rgb=rgb)

    def close(self) -> None:
        self._video.close()


def open_clip(
    path: str | os.PathLike[str],
    *,
    geometry: RawGeometry | None = None,
    fps: Fraction | None = None,
    stream: int | None = None,
) -> Clip:
    """Look at a source; raises InputError or TuneError in one sentence."""
    name, geometry = os.fspath(path), geometry or RawGeometry()
    with open_as(name, geometry, OpenOptions(fps=fps, guess=True, stream=stream)) as video:
        info = video.info
    if fps is not None and info.rate != fps:
        if info.kind in ("container", "y4m"):
            raise InputError(f"'{name}' says its own frame rate: leave out fps={fps}")
        info = replace(info, rate=fps)
    if not info.rate:
        raise InputError(f"'{name}' doesn't say its frame rate: ", to_give("fps"))
    if not info.seekable:
        raise TuneError(f"'{name}' can be read only once, and an encode reads its source twice: pass a file")
    if info.frames == 0:
        raise NoFramesError(f"'{name}' has no frames")
    if info.interlaced:
        raise TuneError(f"'{name}' is interlaced: deinterlace it first, since the encodes are progressive")
    if "flipped" in info.extra:
        raise TuneError(f"'{name}' is to be shown mirrored: encode it mirrored first, or remove the mark")
    if info.rotation % 180 and info.format.layout == "422":
        raise TuneError(f"'{name}' is 4:2:2 on its side, which can't be turned upright: turn it first")
    if info.variable_rate:
        info = _averaged(info, stream)
    hdr10 = read_hdr10(name, stream) if info.kind == "container" and info.hdr else Hdr10()
    return Clip(name, upright(info), geometry, fps, stream, hdr10=hdr10)


def _averaged(info: VideoInfo, stream: int | None) -> VideoInfo:
    """The description of a video of variable rate, with its number of frames and its average rate.

    Containers often give the rate of the shortest frames instead, so the packets are counted.
    """
    from acuity.video.readers.decoder import Decoder
    from acuity.video.source import open_source

    shown: list[tuple[int, int]] = []  # when packets begin and end
    with closing(Decoder(open_source(info.path), stream=stream)) as decoder:
        base = decoder.stream.time_base
        with suppress(InputError):  # damage is reported when frames are decoded
            for packet in decoder.demux():
                if packet.pts is not None and packet.size and not packet.is_discard:
                    shown.append((packet.pts, packet.pts + (packet.duration or 0)))
    lasts = max(end for _, end in shown) - min(start for start, _ in shown) if shown else 0
    if base is None or lasts <= 0:
        return info
    rate = (len(shown) / (lasts * base)).limit_denominator(_RATE_DIGITS)
    return replace(info, rate=rate, frames=len(shown)) if rate > 0 else info


def upright(info: VideoInfo) -> VideoInfo:
    """The description of a video after it is turned as its container says."""
    if not info.rotation % 180:
        return replace(info, rotation=0)
    aspect = info.aspect and 1 / info.aspect
    return replace(info, width=info.height, height=info.width, aspect=aspect, rotation=0)


def _folder_digest(path: str) -> str:
    from acuity.video.readers.image_names import find_images

    return hashlib.sha256("".join(map(file_digest, find_images(path).paths)).encode()).hexdigest()
