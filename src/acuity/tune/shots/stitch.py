"""Encodes a plan's shots one after the other into one video file, and scores it on the way.

Each shot has an encoder of its own, so its first frame is a keyframe, no frame refers to another shot's, and
its packets are those of its probe. The packets go to the file with times that go on, and to a decoder, whose
pictures are scored against the source: nothing is encoded twice and nothing is kept.
"""

from __future__ import annotations

import os
from bisect import bisect
from dataclasses import replace
from fractions import Fraction

from acuity.errors import EncodeFailed
from acuity.measure.pooling import pool
from acuity.tune.clip import Times
from acuity.tune.encoders.encoded_reader import EncodedReader, Sink
from acuity.tune.encoders.encoding import Encoding, Packet
from acuity.tune.encoders.output import video_file
from acuity.tune.points.point import score_encode, scores_of
from acuity.tune.shots.one_stream import check_one_configuration, retime
from acuity.tune.shots.plan import ShotPlan, Stitched
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
    stitched = Stitched(
        os.fspath(out),
        os.path.getsize(out),
        reader.bytes,
        float(reader.bytes * 8 * plan.clip.rate / plan.frames / 1000),
        pool(scores_of(report)[plan.target.column], plan.target.pool),
        reader.packets,
        tuple(sorted(reader.keyframes)),
        tuple(notes),
    )
    return replace(plan, stitched=stitched)


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
