"""One decoder session: packets in, pictures in the order of presentation out, on the card."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from av.video.frame import PictureType

from acuity.devices.cuda.nvdec.complaints import COMPLAINTS
from acuity.devices.cuda.nvdec.library import CODECS, Library, NvDecoder
from acuity.devices.cuda.nvdec.surfaces import Surfaces

if TYPE_CHECKING:
    from acuity.devices.cuda.hardware.card import Card
    from acuity.video.card_picture import CardPicture
    from acuity.video.picture import PixelFormat

# Added to times, which may be negative. The decoder is given times, because it changes stamps that don't rise
# in the order of presentation.
STAMPS: Final = 1 << 24


class Doubt(Exception):
    """The card may show something else than the CPU's decoder would: the CPU reads from here on."""


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet in the form that the decoder reads, with what the demuxer knows of it."""

    data: Any  # whoever has the bytes
    address: int
    size: int
    pts: int
    duration: int
    hidden: bool  # by an edit list: decoded for others, but not shown


class PictureSource(Protocol):
    """Makes pictures of decoded frames."""

    def picture(self, surface: Any, pts: float | None, /) -> CardPicture:
        """The picture in that memory, which is shown at that time."""
        ...


@dataclass(slots=True, eq=False)
class CardFrame:
    """A decoded frame on the card: what the reader asks of PyAV's, too."""

    number: int  # of its packet, in the order of decoding
    pts: int
    duration: int
    surface: Any  # its memory
    surfaces: PictureSource

    is_corrupt = False
    interlaced_frame = False
    pict_type = PictureType.NONE

    def picture(self, seconds: float | None) -> CardPicture:
        """The frame as a picture that is shown at that time."""
        return self.surfaces.picture(self.surface, seconds)


class Video:
    """What all sessions of one video share."""

    def __init__(
        self,
        card: Card,
        library: Library,
        codec: str,
        size: tuple[int, int],
        format: PixelFormat,
        *,
        luma_only: bool,
    ) -> None:
        self.card = card
        self.library = library
        self.codec = codec
        self.width, self.height = size
        self.format = format
        self.luma_only = luma_only


class Session:
    """A decoder of the card. One thread uses it.

    Its pictures are handed out when every packet before theirs has been shown without a complaint, because a
    damaged picture may be shown after others that refer to it.
    """

    def __init__(self, video: Video) -> None:
        self._video = video
        self._stream = video.card.stream()
        self._surfaces = Surfaces(
            video.card, self._stream, video.width, video.height, video.format, luma_only=video.luma_only
        )
        COMPLAINTS.listen()
        self._listening = True
        self._complaints = COMPLAINTS.count()
        self._decoder: NvDecoder | None = None
        self._number = 0  # of the last packet
        self._fed: dict[int, tuple[int, Packet]] = {}  # by stamp, those not shown yet, with their numbers
        self._shown: deque[CardFrame] = deque()  # that aren't handed out yet

    def close(self) -> None:
        """Give the decoder back. May be called again."""
        self._decoder = None
        self._shown.clear()
        self._fed.clear()
        if self._listening:
            self._listening = False
            COMPLAINTS.leave()

    def decode(self, packets: Sequence[Packet]) -> list[CardFrame]:
        """Feed packets; the frames that are certain by now, whose samples are in memory of their own."""
        for packet in packets:
            self._number += 1
            stamp = packet.pts + STAMPS
            if stamp <= 0 or stamp in self._fed:
                raise Doubt("two packets have one time, or a time is out of bounds")
            self._fed[stamp] = self._number, packet
            self._run(packet.address, packet.size, stamp)
        return self._certain()

    def flush(self) -> list[CardFrame]:
        """The frames that are left; after that, packets may begin another part of the video."""
        self._run(0, 0, 0)
        if self._fed:
            self._check()
            raise Doubt(f"{len(self._fed)} packets gave no picture")
        return self._certain()

    def _run(self, address: int, size: int, stamp: int) -> None:
        library = self._video.library
        entry = library.PacketData()
        entry.bsl_data, entry.bsl, entry.pts = address, size, stamp
        try:
            if self._decoder is None:
                self._decoder = self._create()
            frames = self._decoder.Decode(entry)
        except Exception as error:  # the library raises whatever its parts do
            raise Doubt(f"the card's decoder failed: {error}") from error
        if frames:
            with self._video.card.in_place():
                for frame in frames:
                    self._show(frame)

    def _create(self) -> NvDecoder:
        video = self._video
        return video.library.CreateDecoder(
            gpuid=video.card.properties.number,
            codec=getattr(video.library.cudaVideoCodec, CODECS[video.codec][0]),
            cudacontext=video.card.context,
            cudastream=self._stream.handle,
            usedevicememory=True,
        )

    def _show(self, frame: Any) -> None:
        video, decoder = self._video, self._decoder
        assert decoder is not None
        number, packet = self._fed.pop(frame.timestamp, (0, None))
        if packet is None:
            raise Doubt("a picture came twice, or belongs to no packet")
        if self._fed and min(self._fed) < frame.timestamp:
            raise Doubt("a picture is missing, or not in its place")
        columns, rows = decoder.GetWidth(), decoder.GetHeight()
        if columns - video.width not in (0, 1) or rows - video.height not in (0, 1):
            raise Doubt(f"the picture became {columns}x{rows}")
        if packet.hidden:
            return
        luma, chroma = frame.GetPtrToPlane(0), frame.GetPtrToPlane(1)
        pitch, beside = divmod(chroma - luma, rows)  # chroma follows luma
        if beside or pitch < columns * video.format.bytes_per_sample:
            raise Doubt("the surfaces of this decoder are laid out in another way")
        surface = self._surfaces.unpack(luma, chroma, pitch)
        self._shown.append(CardFrame(number, packet.pts, packet.duration, surface, self._surfaces))

    def _check(self) -> None:
        if COMPLAINTS.count() != self._complaints:
            raise Doubt("the card's decoder met damage")

    def _certain(self) -> list[CardFrame]:
        self._check()
        self._surfaces.settle()
        # The packets that were fed are in the order of their numbers.
        first = next(iter(self._fed.values()))[0] if self._fed else self._number + 1
        found = []
        while self._shown and self._shown[0].number < first:
            found.append(self._shown.popleft())
        return found
