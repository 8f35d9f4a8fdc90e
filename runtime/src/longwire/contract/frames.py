"""Frames between the runtime and a worker: four bytes of length, big-endian, then a JSON object in UTF-8.

`frame` and `FrameDecoder` convert without I/O. A length is checked before any of its frame is kept.
`FrameConnection` gathers frames, and writes them once a turn.
"""

from __future__ import annotations

import asyncio
import struct
from typing import Any, Final, cast

import pydantic_core

from longwire.foreign_json import has_more_values
from longwire.length_prefix import Head, LengthPrefix

LONGEST: Final = 16 << 20  # bytes of a frame's JSON
MOST_VALUES: Final = 500_000  # in a worker's frame: in all its objects and arrays together
_HEAD: Final = struct.Struct(">I")
_pack: Final = _HEAD.pack


class FrameError(ValueError):
    """Bytes that are no frame, or a document that makes none; after one of these nothing more can be read."""


def frame(text: bytes) -> bytes:
    """JSON text as a frame; raises FrameError if it is too long."""
    length = len(text)
    if length > LONGEST:
        raise FrameError(f"a frame of {length} bytes, more than {LONGEST}: send less at once")
    return _pack(length) + text


def decode(text: bytes) -> dict[str, Any]:
    """The JSON object in a frame; raises FrameError."""
    try:
        document = pydantic_core.from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise FrameError(f"a frame that isn't JSON in UTF-8: {error}") from None
    if type(document) is not dict:
        raise FrameError(f"a frame that holds {_NAMES.get(type(document), 'a value')} instead of an object")
    return document


def check_values(text: bytes) -> None:
    """Refuse a frame with too many values before it is parsed, which would take long; raises FrameError."""
    if has_more_values(text, MOST_VALUES):
        raise FrameError(f"a frame with more than {MOST_VALUES} values: send less at once")


_NAMES: Final = {list: "an array", str: "a string", int: "a number", float: "a number", bool: "a switch"}


class FrameDecoder(LengthPrefix):
    """Turns bytes, in pieces of any size, back into the JSON texts of frames."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(_HEAD, _length)

    def texts(self, data: bytes) -> list[bytes]:
        """The texts of the frames that these bytes complete; raises FrameError."""
        return [pieces[0] if len(pieces) == 1 else b"".join(pieces) for _, pieces in self.feed(data)]


def _length(head: Head) -> int:
    length: int = head[0]
    if not 0 < length <= LONGEST:
        raise FrameError(f"a frame of {length} bytes: it should have 1 to {LONGEST}")
    return length


class FrameConnection(asyncio.Protocol):
    """The common part of both ends of a connection. Made for one connection, on the running loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._decoder = FrameDecoder()
        self._transport: asyncio.Transport | None = None  # None: not connected yet, or no longer
        self._unsent: list[bytes] = []
        self._has_room = asyncio.Event()  # the other end reads what is written
        self._has_room.set()

    def write(self, frame: bytes) -> None:
        """Send a frame at the end of this turn of the event loop; nothing where there is no connection."""
        if self._transport is not None:
            if not self._unsent:
                self._loop.call_soon(self._flush)
            self._unsent.append(frame)

    def _flush(self) -> None:
        frames, self._unsent = self._unsent, []
        if self._transport is not None and frames:
            self._transport.write(frames[0] if len(frames) == 1 else b"".join(frames))

    async def room(self) -> None:
        """Wait while too much is unsent."""
        await self._has_room.wait()

    # ---- for the event loop -----------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass

    def pause_writing(self) -> None:
        self._has_room.clear()

    def resume_writing(self) -> None:
        self._has_room.set()
