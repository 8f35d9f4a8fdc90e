"""Encodes a plan's shots one after the other into one video file, and scores it on the way.

Each shot has an encoder of its own, so its first frame is a keyframe, no frame refers to another shot's, and
its packets are those of its probe. The packets go to the file with times that go on, and to a decoder, whose
pictures are scored against the source: nothing is encoded twice and nothing is kept.
"""

from __future__ import annotations

import os
from bisect import bisect
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Final

from acuity.errors import EncodeFailed, TuneError
from acuity.measure.pooling import pool
from acuity.tune.clip import Times
from acuity.tune.encoders import Encoder, Options
from acuity.tune.encoders.encoded_reader import EncodedReader, Sink
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.encoders.encoding import Encoding, Packet
from acuity.tune.encoders.output import video_file
from acuity.tune.points.point import score_encode, scores_of
from acuity.tune.shots.plan import ShotPlan, Stitched, delay
from acuity.video.picture import Picture
from acuity.video.readers.reader import BaseReader


def encode_shots(plan: ShotPlan, out: str | os.PathLike[str], *, overwrite: bool = False) -> ShotPlan:
    """Make the file of a plan, with sound and subtitles of the source; returns it with what was measured.

    The file is written beside and renamed when it is complete; one that exists is replaced only if
    `overwrite` says so.
    """
    with video_file(out, plan.clip, plan.settings.encoder, overwrite=overwrite) as file:
        reader = StitchedReader(plan, file)
        report = score_encode(plan.clip, reader, plan.scoring)
    notes = [*(note.text for note in report.warnings), *file.notes]
    if reader.bytes != plan.bytes:
        notes.append(
            f"the shots' probes had {plan.bytes:,} bytes and the file has {reader.bytes:,}: the encoder "
            "doesn't give the same bytes every time"
        )
    sizes = os.path.getsize(out), reader.bytes, float(reader.bytes * 8 * plan.clip.rate / plan.frames / 1000)
    figure = pool(scores_of(report)[plan.target.column], plan.target.pool)
    frames = reader.packets, tuple(sorted(reader.keyframes))
    return replace(plan, stitched=Stitched(os.fspath(out), *sizes, figure, *frames, tuple(notes)))


class StitchedReader(BaseReader):
    """The shots of a plan as they come out of their encoders, as one video to score.

    `sink` gets every packet in decoding order, with its times in the whole stream.
    """

    def __init__(self, plan: ShotPlan, sink: Sink) -> None:
        super().__init__()
        self._plan = plan
        self._sink = sink
        self._shot = 0
        self._start = 0  # of the shot under way, in frames of the stream
        self._given = 0
        self._times = _StitchedTimes(plan.clip.rate)
        self._configuration: tuple[float, bytes] | None = None  # of the first shot, with its quality
        self.bytes = 0
        self.packets = 0
        self.keyframes: list[int] = []
        self._closed = False
        self._reader = self._opened()
        self.info = replace(self._reader.info, frames=plan.frames, frames_exact=True)

    def read(self) -> Picture | None:
        while True:
            picture = self._reader.read()
            if picture is not None:
                picture.pts = float(self._given / self._plan.clip.rate)
                self._given += 1
                return picture
            part, made = self._plan.shots[self._shot].part, self._given - self._start
            if made != part.end - part.start:
                name = self._plan.settings.encoder.name
                raise EncodeFailed(f"{name} made {made} frames of a shot of {part.end - part.start}")
            if self._shot + 1 == len(self._plan.shots):
                return None
            self._reader.close()
            self._start = self._given
            self._shot += 1
            self._reader = self._opened()

    def close(self) -> None:
        self._closed = True
        self._reader.close()

    def begin(self, encoding: Encoding, times: Times) -> None:
        quality = self._plan.shots[self._shot].quality
        first, configuration = self._configuration or (quality, encoding.extradata)
        self._configuration = first, configuration
        if quality != first:
            check_one_configuration(self._plan.settings, {first: configuration, quality: encoding.extradata})
        self._times.add(self._start, times)
        self._sink.begin(encoding, self._times)

    def __call__(self, packet: Packet) -> None:
        """Pass on a packet of the shot under way, with its times in the whole stream."""
        retime(packet, self._plan.settings, self._start, self.packets)
        if self.packets == self._start and not (packet.is_keyframe and packet.pts == self._start):
            raise EncodeFailed(f"{self._plan.settings.encoder.name} didn't begin a shot with a keyframe")
        self.packets += 1
        self.bytes += packet.size
        if packet.is_keyframe and packet.pts is not None:
            self.keyframes.append(packet.pts)
        self._sink(packet)

    def _opened(self) -> EncodedReader:
        plan, shot = self._plan, self._plan.shots[self._shot]
        reader = EncodedReader(plan.clip.of(shot.part), plan.settings, shot.quality, sink=self)
        if self._closed:  # by another thread, while the encoder was opened
            reader.close()
        return reader


class _StitchedTimes(Times):
    """When the frames of all shots are shown in the source, as far as their encoders have begun."""

    def __init__(self, rate: Fraction) -> None:
        super().__init__(rate, variable=False)
        self._starts: list[int] = []
        self._shots: list[Times] = []

    def add(self, start: int, times: Times) -> None:
        self._starts.append(start)
        self._shots.append(times)

    @property
    def even(self) -> bool:
        return all(times.even for times in self._shots)

    def at(self, frame: int) -> Fraction:
        # Even times follow from the first frame's; those of later shots may be rounded by the container.
        place = 0 if self.even else max(bisect(self._starts, frame) - 1, 0)
        return self._shots[place].at(frame - self._starts[place])


# ---- one stream ------------------------------------------------------------------------------------
# A decoder gets its configuration (H.264's and H.265's parameter sets, AV1's sequence header) once, at the
# beginning of a file. So it must be the same in all shots, whatever their quality. It then holds for every
# packet, which is how MP4 and Matroska define it, and hardware decoders are not set up again in mid-stream.

# Options with which an encoder writes the same configuration at every quality. By itself x264 adapts its
# picture parameters to the quality.
_SAME_CONFIGURATION: Final[Mapping[str, Options]] = {"libx264": (("x264-params", "stitchable=1"),)}

# The best quality that has the configuration of all others: libx264's crf 0 is lossless, another profile.
_BEST: Final[Mapping[str, int]] = {"libx264": 1}

# NAL units that are no part of a configuration: supplemental information, as the encoder's settings in words.
_REMARKS: Final[Mapping[str, tuple[int, int, frozenset[int]]]] = {
    # codec: how a unit's type is found in its first byte (shift, mask), and the types
    "h264": (0, 0x1F, frozenset({6})),
    "hevc": (1, 0x3F, frozenset({39, 40})),
}


def for_stitching(settings: EncoderSettings) -> EncoderSettings:
    """The settings with the options that give the encodes of all qualities one configuration."""
    wanted = _SAME_CONFIGURATION.get(settings.encoder.name, ())
    return replace(settings, options=settings.options + tuple(o for o in wanted if o not in settings.options))


def stitchable_range(encoder: Encoder, asked: tuple[float, float] | None) -> tuple[float, float]:
    """The range of qualities without those that need a configuration of their own."""
    low, high = asked or (encoder.best, encoder.worst)
    for value in (low, high):
        encoder.check_quality(value)
    first = encoder.step(_BEST.get(encoder.name, encoder.best))
    steps = sorted(max(encoder.step(value), first) for value in (low, high))
    return encoder.quality(steps[0]), encoder.quality(steps[1])


def check_one_configuration(settings: EncoderSettings, configurations: Mapping[float, bytes]) -> None:
    """Raise TuneError if the encodes of these qualities have unlike configurations."""
    kinds: dict[bytes, float] = {}
    for quality, extradata in configurations.items():
        kinds.setdefault(essential(settings.encoder.codec, extradata), quality)
    if len(kinds) > 1:
        one, other, *_ = kinds.values()
        raise TuneError(
            f"{settings.label(one)} and {settings.label(other)} can't be in one stream, as their headers "
            "are unlike: leave out the options that depend on the quality, or narrow its range"
        )


def essential(codec: str, extradata: bytes) -> bytes:
    """The configuration without units of supplemental information."""
    if codec not in _REMARKS:
        return extradata
    shift, mask, remarks = _REMARKS[codec]
    units = [unit.rstrip(b"\0") for unit in extradata.split(b"\0\0\1")]
    return b"\0\0\1".join(unit for unit in units if unit and (unit[0] >> shift) & mask not in remarks)


def retime(packet: Packet, settings: EncoderSettings, start: int, number: int) -> None:
    """Give a packet of a shot the times that it has in the whole stream, in frames.

    `start` is the shot's first frame and `number` the packet's, both counted in the stream. All frames take
    equally long, so the nth packet is decoded at the nth frame's time, less the delay. What encoders say is
    not used: x265 says nonsense for a shot of one frame, and x264 has less delay in a short one.
    """
    lead = delay(settings.encoder.codec)
    if packet.pts is None:
        raise EncodeFailed(f"{settings.encoder.name} made a packet without a time")
    packet.pts += start
    packet.dts = number - lead
    if packet.dts > packet.pts:
        raise EncodeFailed(
            f"{settings.encoder.name} reorders more than {lead} frames, which can't be stitched: use fewer "
            "B-frames"
        )
