"""HTTP/1.1 responses taken apart without I/O: bytes in, the head and the body out, in any slices.

Made for answers of this program's own servers: a body has a length or comes in chunks, and everything else is
refused. There are no trailers and no changes of protocol.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from longwire.wire.http.head import RefusedRequest, parse_fields

_STATUS: Final = re.compile(rb"HTTP/1\.1 ([0-9]{3})(?: [^\r\n]*)?")
_SIZE: Final = re.compile(rb"([0-9a-fA-F]{1,8})(?:;[^\r\n]*)?")
_LENGTH: Final = re.compile(r"[0-9]{1,18}")
_MOST_HEAD: Final = 64 << 10  # bytes
_MOST_HEADERS: Final = 100
_LONGEST_SIZE: Final = 256  # bytes of a line with the size of a chunk
_BODILESS: Final = frozenset({204, 304})


class BadResponse(Exception):
    """Bytes that are no response of such a server."""


class ResponseHead(NamedTuple):
    """The status and the headers of a response, names in lower case."""

    status: int
    headers: Mapping[str, str]
    keep_alive: bool


class ResponseEnd(NamedTuple):
    """The end of a response: what follows is another."""


ResponsePart: TypeAlias = ResponseHead | bytes | ResponseEnd
_State: TypeAlias = Literal["head", "length", "size", "chunk", "gap", "last"]


class ResponseParser:
    """The responses of one connection, one after the other."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._state: _State = "head"
        self._left = 0  # bytes of the body, or of the chunk

    @property
    def begun(self) -> bool:
        return self._state != "head" or bool(self._buffer)

    def receive(self, data: bytes) -> Iterator[ResponsePart]:
        """The parts that have arrived with these bytes; raises BadResponse."""
        self._buffer += data
        while (part := _STEPS[self._state](self)) is not None:  # empty bytes: go on
            if part != b"":
                yield part

    def _line(self, most: int) -> bytes | None:
        end = self._buffer.find(b"\r\n", 0, most)
        if end < 0:
            if len(self._buffer) >= most:
                raise BadResponse(f"a line of the response has over {most} bytes")
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line

    def _head(self) -> ResponsePart | None:
        end = self._buffer.find(b"\r\n\r\n", 0, _MOST_HEAD)
        if end < 0:
            if len(self._buffer) >= _MOST_HEAD:
                raise BadResponse(f"the head of the response has over {_MOST_HEAD} bytes")
            return None
        first, _, block = bytes(self._buffer[:end]).partition(b"\r\n")
        del self._buffer[: end + 4]
        matched = _STATUS.fullmatch(first)
        if matched is None:
            raise BadResponse("the response doesn't begin with a status of HTTP/1.1")
        try:
            fields, _ = parse_fields(block, _MOST_HEADERS)
        except RefusedRequest as refused:
            raise BadResponse(str(refused)) from None
        status = int(matched[1])
        if status < 200:  # such as 100 Continue: another follows
            return b""
        self._begin_body(status, fields)
        return ResponseHead(status, fields, "close" not in fields.get("connection", "").lower())

    def _begin_body(self, status: int, fields: Mapping[str, str]) -> None:
        length, encoding = fields.get("content-length"), fields.get("transfer-encoding")
        if status in _BODILESS:
            self._state, self._left = "length", 0
        elif encoding is not None:
            if encoding.lower() != "chunked" or length is not None:
                raise BadResponse("the response has another Transfer-Encoding than 'chunked'")
            self._state = "size"
        elif length is None or _LENGTH.fullmatch(length) is None:
            raise BadResponse("the response doesn't tell how long its body is")
        else:
            self._state, self._left = "length", int(length)

    def _of_length(self) -> ResponsePart | None:
        if not self._left:
            self._state = "head"
            return ResponseEnd()
        return self._some()

    def _chunk(self) -> ResponsePart | None:
        if not self._left:
            self._state = "gap"
            return b""
        return self._some()

    def _some(self) -> bytes | None:
        """The part of a body that has arrived."""
        if not self._buffer:
            return None
        data = bytes(self._buffer[: self._left])
        del self._buffer[: self._left]
        self._left -= len(data)
        return data

    def _size(self) -> ResponsePart | None:
        line = self._line(_LONGEST_SIZE)
        if line is None:
            return None
        matched = _SIZE.fullmatch(line)
        if matched is None:
            raise BadResponse("a chunk of the response has no size")
        self._left = int(matched[1], 16)
        self._state = "chunk" if self._left else "last"
        return b""

    def _empty_line(self, state: _State, part: ResponsePart) -> ResponsePart | None:
        line = self._line(_LONGEST_SIZE)
        if line is None:
            return None
        if line:
            raise BadResponse("a chunk of the response is longer than it says")
        self._state = state
        return part


_STEPS: Final[dict[_State, Callable[[ResponseParser], ResponsePart | None]]] = {
    "head": ResponseParser._head,
    "length": ResponseParser._of_length,
    "size": ResponseParser._size,
    "chunk": ResponseParser._chunk,
    "gap": lambda parser: parser._empty_line("size", b""),
    "last": lambda parser: parser._empty_line("head", ResponseEnd()),
}
