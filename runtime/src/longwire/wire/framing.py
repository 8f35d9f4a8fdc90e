"""Splits a stream of bytes into messages. No I/O: bytes in, frames out.

Two ways: a line for each message, or a head with its length as language servers do it. What can't be a frame
comes out as a FramingFault; after one that is `lost` nobody knows where the next message begins.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

FramingName: TypeAlias = Literal["lines", "content-length", "auto"]

_LONGEST_HEAD: Final = 8192
_HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
_LENGTH: Final = re.compile(rb"(?im)^content-length[ \t]*:[ \t]*([0-9]{1,18})[ \t]*\r?$")


@dataclass(frozen=True, slots=True)
class FramingFault:
    """Bytes that are no frame."""

    reason: str
    lost: bool = False


Frame: TypeAlias = bytes | FramingFault


class LineFraming:
    """A message for each line. One that is too long is skipped up to its end."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._searched = 0  # no line ends before this
        self._skipping = False

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that these bytes complete."""
        frames: list[Frame] = []
        if not self.waiting and data.find(b"\n") == len(data) - 1:  # one whole line, the usual case
            self._finish(data, frames)
            return frames
        self._buffer += data
        start = 0
        while (end := self._buffer.find(b"\n", max(start, self._searched))) >= 0:
            self._finish(bytes(self._buffer[start:end]), frames)
            start = end + 1
        del self._buffer[:start]
        if len(self._buffer) > self._limit:
            if not self._skipping:
                frames.append(_too_long(self._limit))
            self._skipping = True
            self._buffer.clear()
        self._searched = len(self._buffer)
        return frames

    def end(self) -> list[Frame]:
        """The last frames, when no more bytes come."""
        frames: list[Frame] = []
        self._finish(bytes(self._buffer), frames)
        self._buffer.clear()
        return frames

    def wrap(self, payload: bytes) -> bytes:
        return payload + b"\n"

    @property
    def waiting(self) -> bool:
        """Whether a message has arrived in part."""
        return self._skipping or bool(self._buffer)

    def _finish(self, line: bytes, frames: list[Frame]) -> None:
        line = line.strip()
        if self._skipping:
            self._skipping = False
        elif len(line) > self._limit:
            frames.append(_too_long(self._limit))
        elif line:  # empty lines are ignored
            frames.append(line)


class ContentLength:
    """A head with the length, an empty line, the message. One that is too long is skipped."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._length: int | None = None  # of the message whose head was read
        self._skip = 0  # bytes still to be thrown away
        self._lost = False

    def feed(self, data: bytes) -> list[Frame]:
        frames: list[Frame] = []
        if self._lost:
            return frames
        self._buffer += data
        while self._step(frames):
            pass
        return frames

    def end(self) -> list[Frame]:
        if self._lost or not (self._length or self._skip or self._buffer.strip()):
            return []
        self._lost = True
        return [FramingFault("the stream ended in the middle of a message", lost=True)]

    def wrap(self, payload: bytes) -> bytes:
        return b"Content-Length: %d\r\n\r\n%b" % (len(payload), payload)

    @property
    def waiting(self) -> bool:
        return not self._lost and bool(self._length is not None or self._skip or self._buffer)

    def _step(self, frames: list[Frame]) -> bool:
        """Take one thing off the buffer; whether there may be more to take."""
        if self._skip:
            dropped = min(self._skip, len(self._buffer))
            del self._buffer[:dropped]
            self._skip -= dropped
            return self._skip == 0 and bool(self._buffer)
        if self._length is None:
            return self._head(frames)
        if len(self._buffer) < self._length:
            return False
        frames.append(bytes(self._buffer[: self._length]))
        del self._buffer[: self._length]
        self._length = None
        return True

    def _head(self, frames: list[Frame]) -> bool:
        blank = len(self._buffer) - len(self._buffer.lstrip(b"\r\n"))
        del self._buffer[:blank]  # empty lines between messages are ignored
        end = _HEAD_END.search(self._buffer, 0, _LONGEST_HEAD)
        if end is None and len(self._buffer) < _LONGEST_HEAD:
            return False
        head = bytes(self._buffer[: end.start()]) if end is not None else b""
        lengths = _LENGTH.findall(head)
        if end is None or len(lengths) != 1:
            self._lost = True
            self._buffer.clear()
            frames.append(FramingFault("there is no Content-Length where a message should begin", lost=True))
            return False
        del self._buffer[: end.end()]
        if int(lengths[0]) > self._limit:
            self._skip = int(lengths[0])
            frames.append(_too_long(self._limit))
        else:
            self._length = int(lengths[0])
        return True


class Auto:
    """The framing that the client uses: a head begins with C or c, and JSON never does."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._chosen: LineFraming | ContentLength | None = None

    def feed(self, data: bytes) -> list[Frame]:
        if self._chosen is None:
            data = data.lstrip()
            if not data:
                return []
            self._chosen = ContentLength(self._limit) if data[:1] in b"Cc" else LineFraming(self._limit)
        return self._chosen.feed(data)

    def end(self) -> list[Frame]:
        return self._chosen.end() if self._chosen is not None else []

    def wrap(self, payload: bytes) -> bytes:
        return (self._chosen or LineFraming(self._limit)).wrap(payload)

    @property
    def waiting(self) -> bool:
        return self._chosen is not None and self._chosen.waiting


Framing: TypeAlias = LineFraming | ContentLength | Auto
FRAMINGS: Final[dict[str, Callable[[int], Framing]]] = {
    "lines": LineFraming,
    "content-length": ContentLength,
    "auto": Auto,
}


def _too_long(limit: int) -> FramingFault:
    return FramingFault(f"the message is longer than {limit} bytes")
