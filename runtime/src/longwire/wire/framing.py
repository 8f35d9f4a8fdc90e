"""Splits a stream of bytes into messages. No I/O: bytes in, frames out.

Two ways: a line for each message, or a head with its length as language servers do it. What can't be a frame
comes out as a FramingFault; after one that is `lost` nobody knows where the next message begins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
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
        self._in_message = False  # whether a head was read
        self._lost = False
        self._frames = self._read()

    def feed(self, data: bytes) -> list[Frame]:
        if not self._lost:
            self._buffer += data
        found: list[Frame] = []
        for frame in self._frames:
            if frame is None:
                break
            found.append(frame)
        return found

    def end(self) -> list[Frame]:
        if self._lost or not (self._in_message or self._buffer.strip()):
            return []
        self._lost = True
        return [FramingFault("the stream ended in the middle of a message", lost=True)]

    def wrap(self, payload: bytes) -> bytes:
        return b"Content-Length: %d\r\n\r\n%b" % (len(payload), payload)

    @property
    def waiting(self) -> bool:
        return not self._lost and (self._in_message or bool(self._buffer))

    def _read(self) -> Iterator[Frame | None]:
        """All frames that ever come; None where more bytes are needed."""
        buffer = self._buffer
        while True:
            del buffer[: len(buffer) - len(buffer.lstrip(b"\r\n"))]  # empty lines between messages
            end = _HEAD_END.search(buffer, 0, _LONGEST_HEAD)
            if end is None and len(buffer) < _LONGEST_HEAD:
                yield None
                continue
            lengths = _LENGTH.findall(bytes(buffer[: end.start()])) if end is not None else []
            if end is None or len(lengths) != 1:
                break
            del buffer[: end.end()]
            self._in_message, left = True, int(lengths[0])
            if left > self._limit:
                yield _too_long(self._limit)
                while left > len(buffer):  # thrown away
                    left -= len(buffer)
                    buffer.clear()
                    yield None
            while left > len(buffer):
                yield None
            message = bytes(buffer[:left])
            del buffer[:left]
            self._in_message = False
            if int(lengths[0]) <= self._limit:
                yield message
        self._lost = True
        buffer.clear()
        yield FramingFault("there is no Content-Length where a message should begin", lost=True)


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
