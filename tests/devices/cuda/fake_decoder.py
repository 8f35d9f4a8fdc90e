"""A decoder of the card without a card: it decodes with FFmpeg, and lays pictures out as NV12 and P016."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import av
import numpy as np

_NAMES = {"H264": "h264", "HEVC": "hevc", "VP9": "vp9", "AV1": "libdav1d"}


class FakeFrame:
    """A decoded picture: rows of luma, then rows of chroma."""

    def __init__(self, timestamp: int, number: int, samples: Any, rows: int, depth: int) -> None:
        self.timestamp = timestamp
        self.number = number  # of its packet, from 1 on, which the driver doesn't know
        self.samples = samples
        self.rows = rows
        self.depth = depth
        self.damaged = False

    def address(self, plane: int) -> int:
        return int(self.samples.ctypes.data) + plane * self.rows * self.samples.strides[0]


OnFrame = Callable[[FakeFrame], list[FakeFrame]]


class FakeDecoder:
    """Decodes packets; `on_frame` says what is shown in a frame's place, and may say that it is damaged."""

    def __init__(self, codec: str, on_frame: OnFrame) -> None:
        self._on_frame = on_frame
        self._context: Any = av.CodecContext.create(_NAMES[codec], "r")
        self._context.thread_count = 1
        self._numbers: dict[int, int] = {}  # of packets, by their stamps
        self._last = 0  # the stamp that was shown last

    def decode(self, address: int, size: int, stamp: int) -> list[FakeFrame]:
        """The frames of a packet."""
        made = av.Packet(ctypes.string_at(address, size))
        made.pts = stamp
        self._numbers[stamp] = len(self._numbers) + 1
        return self._show(self._context.decode(made))

    def flush(self) -> list[FakeFrame]:
        """The frames that are left."""
        frames = self._context.decode(None)
        self._context.flush_buffers()
        return self._show(frames)

    def _show(self, frames: list[Any]) -> list[FakeFrame]:
        return [shown for frame in frames for shown in self._on_frame(self._shown(frame))]

    def _shown(self, frame: Any) -> FakeFrame:
        height, width = frame.height, frame.width
        even, half = width + width % 2, (height + 1) // 2
        depth = frame.format.components[0].bits
        dtype = np.dtype(np.uint8 if depth == 8 else np.uint16)
        planes = []
        for plane in frame.planes:
            rows = np.frombuffer(plane, dtype).reshape(plane.height, -1)[:, : plane.width]
            planes.append(rows << (16 - depth if depth > 8 else 0))
        samples = np.zeros((height + half, even), dtype)
        samples[:height, :width] = planes[0]
        samples[height:, 0::2], samples[height:, 1::2] = planes[1:]
        # The driver's parser lets no stamp fall.
        self._last = frame.pts if frame.pts > self._last else self._last + 1
        return FakeFrame(self._last, self._numbers[frame.pts], samples, height, depth)
