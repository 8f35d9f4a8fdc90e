"""The head of a rung's stream: the encoder is opened as for the rung, and encodes one frame.

Profile, level, bit depth and headers don't depend on how many frames follow, so that is enough to name the
codec, and to tell a muxer what it will get.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from acuity.errors import EncodeFailed
from acuity.tune.clip import Clip
from acuity.tune.encoders.encode import Target, open_encoding
from acuity.tune.encoders.settings import Settings
from acuity.tune.ladder.codec_string import Stream
from acuity.video.readers.container_info import MATRICES, PRIMARIES, TRANSFERS

if TYPE_CHECKING:
    from av.video.stream import VideoStream

_UNSAID: Final = 2


class StreamHead(NamedTuple):
    """What is known of a stream by its first frame."""

    stream: Stream  # for codec_string()
    template: VideoStream  # for muxers


def stream_head(clip: Clip, settings: Settings, quality: float, bitrate_kbps: float) -> StreamHead:
    """The head of the stream that these settings make of a clip."""
    target = Target.of(clip, settings)
    with clip.reader() as reader:
        picture = reader.read()
        if picture is None:
            raise EncodeFailed(f"'{clip.path}' has no first frame to encode")
        for step in target.steps(clip.info):
            picture = step(picture)
        encoding = open_encoding(settings, quality, target)
        try:
            encoding.send(picture)
            encoding.finish()
            packets = []
            while (packet := encoding.receive()) is not None:
                packets.append(bytes(packet))
            if not packets:
                label = settings.label(quality)
                raise EncodeFailed(f"{label} made no packet of the first frame of '{clip.path}'")
            stream = Stream(
                settings.encoder.codec,
                encoding.extradata,
                packets[0],
                target.width,
                target.height,
                clip.rate,
                bitrate_kbps,
                colour_numbers(target),
                bool(target.full_range),
            )
            return StreamHead(stream, encoding.template())
        finally:
            encoding.close()
            encoding.dispose()


def colour_numbers(target: Target) -> tuple[int, int, int]:
    """Primaries, transfer and matrix by their numbers in ITU-T H.273."""
    return (
        _number(PRIMARIES, target.primaries),
        _number(TRANSFERS, target.transfer),
        _number(MATRICES, target.matrix),
    )


def _number(table: dict[int, str], name: str | None) -> int:
    return next((number for number, known in table.items() if known == name), _UNSAID)
