# ruff: noqa: N802, N815  # the names are the library's
"""PyNvVideoCodec without a card: decodes with FFmpeg, and hands out NV12 and P016 surfaces as the real one.

Surfaces are used anew by the next call, after their bytes were spoiled, so what is read too late shows.
"""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import av
import numpy as np

_NAMES = {"H264": "h264", "HEVC": "hevc", "VP9": "vp9", "AV1": "libdav1d"}


class FakePacket:
    """As the library's PacketData."""

    bsl_data = bsl = pts = 0


class FakeFrame:
    """As the library's DecodedFrame."""

    def __init__(self, timestamp: int, number: int, samples: Any, rows: int, depth: int) -> None:
        self.timestamp = timestamp
        self.number = number  # of its packet, from 1 on, which the library doesn't know
        self.samples = samples
        self.rows = rows
        self.depth = depth
        self.damaged = False

    def GetPtrToPlane(self, plane: int) -> int:
        return int(self.samples.ctypes.data) + plane * self.rows * self.samples.strides[0]


class FakeDecoder:
    """As the library's PyNvDecoder."""

    def __init__(self, library: Any, codec: str) -> None:
        self._library = library
        self._context: Any = av.CodecContext.create(_NAMES[codec], "r")
        self._context.thread_count = 1
        self._surfaces: list[Any] = []
        self._size = (0, 0)
        self._numbers: dict[int, int] = {}  # of packets, by their stamps
        self._last = 0  # the stamp that was shown last

    def GetWidth(self) -> int:
        return self._size[0]

    def GetHeight(self) -> int:
        return self._size[1]

    def Decode(self, packet: FakePacket) -> list[FakeFrame]:
        for surface in self._surfaces:
            surface[:] = 0xA5
        self._surfaces = []
        self._library.fed += 1
        if packet.bsl:
            made = av.Packet(ctypes.string_at(packet.bsl_data, packet.bsl))
            made.pts = packet.pts
            self._numbers[packet.pts] = len(self._numbers) + 1
            frames = self._context.decode(made)
        else:
            frames = self._context.decode(None)
            self._context.flush_buffers()
        return [shown for frame in frames for shown in self._library.on_frame(self._shown(frame))]

    def _shown(self, frame: Any) -> FakeFrame:
        height, width = frame.height, frame.width
        even, half = width + width % 2, (height + 1) // 2
        self._size = even, height
        depth = frame.format.components[0].bits
        dtype = np.dtype(np.uint8 if depth == 8 else np.uint16)
        planes = []
        for plane in frame.planes:
            rows = np.frombuffer(plane, dtype).reshape(plane.height, -1)[:, : plane.width]
            planes.append(rows << (16 - depth if depth > 8 else 0))
        samples = np.zeros((height + half, even), dtype)
        samples[:height, :width] = planes[0]
        samples[height:, 0::2], samples[height:, 1::2] = planes[1:]
        self._surfaces.append(samples)
        # The library's parser lets no stamp fall.
        self._last = frame.pts if frame.pts > self._last else self._last + 1
        return FakeFrame(self._last, self._numbers[frame.pts], samples, height, depth)


class FakeNvdec:
    """The module; what the decoders get wrong is up to the test."""

    PacketData = FakePacket
    cudaVideoCodec = SimpleNamespace(**{name: name for name in _NAMES})

    def __init__(self, engines: int = 1) -> None:
        self.engines = engines
        self.unsupported: set[tuple[str, int]] = set()  # codecs and depths
        self.decoders = 0  # made so far
        self.fed = 0  # packets so far
        self.on_frame = lambda frame: [frame]  # what is shown in a frame's place
        self.smallest = (48, 16)
        self.settings: dict[str, Any] = {}

    def complain(self) -> None:
        """Say of the picture that on_frame() looks at what the library does of a damaged one."""
        ctypes.CDLL(None).printf(b"Decode Error occurred for picture 7\n")

    @staticmethod
    def cudaVideoChromaFormat(number: int) -> int:
        return number

    def CreateDecoder(self, **settings: Any) -> FakeDecoder:
        self.decoders += 1
        self.settings = settings
        return FakeDecoder(self, settings["codec"])

    def GetDecoderCaps(self, *, gpuid: int, codec: str, chromaformat: int, bitdepth: int) -> dict[str, int]:
        assert chromaformat == 1
        able = (codec, bitdepth) not in self.unsupported
        return {
            "num_decoder_engines": self.engines,
            "width_max": 4096 if able else 0,
            "height_max": 4096 if able else 0,
            "mb_num_max": 65536,
            "width_min": self.smallest[0],
            "height_min": self.smallest[1],
        }
