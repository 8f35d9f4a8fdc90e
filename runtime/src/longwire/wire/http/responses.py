"""HTTP/1.1 responses taken apart without I/O: bytes in, the head and the body out, in any slices.

Made for answers of this program's own servers: a body has a length or comes in chunks, and everything else is
refused. There are no trailers and no changes of protocol.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from longwire.wire.http.head import LENGTH, RefusedRequest, parse_fields

_STATUS: Final = re.compile(rb"HTTP/1\.1 ([0-9]{3})(?: [^\r\n]*)?")
_SIZE: Final = re.compile(rb"([0-9a-fA-F]{1,8})(?:;[^\r\n]*)?")
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


class ResponseParser:
    """The responses of one connection, one after the other."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._in_body = False
        self._parts = self._read()

    @property
    def begun(self) -> bool:
        return self._in_body or bool(self._buffer)

    def receive(self, data: bytes) -> Iterator[ResponsePart]:
        """The parts that have arrived with these bytes; raises BadResponse."""
        self._buffer += data
        for part in self._parts:
            if part is None:
                return
            yield part

    def _read(self) -> Iterator[ResponsePart | None]:
        """All parts that ever come; None where more bytes are needed."""
        while True:
            first, _, block = (yield from self._until(b"\r\n\r\n", _MOST_HEAD)).partition(b"\r\n")
            matched = _STATUS.fullmatch(first)
            if matched is None:
                raise BadResponse("the response doesn't begin with a status of HTTP/1.1")
            try:
                fields, _ = parse_fields(block, _MOST_HEADERS)
            except RefusedRequest as refused:
                raise BadResponse(str(refused)) from None
            status = int(matched[1])
            if status < 200:  # such as 100 Continue: another follows
                continue
            length = 0 if status in _BODILESS else _length(fields)
            self._in_body = True
            yield ResponseHead(status, fields, "close" not in fields.get("connection", "").lower())
            if length is None:
                while size := (yield from self._size()):
                    yield from self._some(size)
                    yield from self._empty_line()
                yield from self._empty_line()
            else:
                yield from self._some(length)
            self._in_body = False
            yield ResponseEnd()

    def _until(self, end: bytes, most: int) -> Generator[None, None, bytes]:
        """The bytes before these."""
        while (at := self._buffer.find(end, 0, most)) < 0:
            if len(self._buffer) >= most:
                raise BadResponse(f"a head or a line of the response has over {most} bytes")
            yield None
        found = bytes(self._buffer[:at])
        del self._buffer[: at + len(end)]
        return found

    def _some(self, left: int) -> Iterator[bytes | None]:
        """The parts of a body, as they arrive."""
        while left:
            if data := bytes(self._buffer[:left]):
                del self._buffer[:left]
                left -= len(data)
            yield data or None

    def _size(self) -> Generator[None, None, int]:
        matched = _SIZE.fullmatch((yield from self._until(b"\r\n", _LONGEST_SIZE)))
        if matched is None:
            raise BadResponse("a chunk of the response has no size")
        return int(matched[1], 16)

    def _empty_line(self) -> Iterator[None]:
        if (yield from self._until(b"\r\n", _LONGEST_SIZE)):
            raise BadResponse("a chunk of the response is longer than it says")


def _length(fields: Mapping[str, str]) -> int | None:
    """The length of a body; None: it comes in chunks."""
    length, encoding = fields.get("content-length"), fields.get("transfer-encoding")
    if encoding is not None:
        if encoding.lower() != "chunked" or length is not None:
            raise BadResponse("the response has another Transfer-Encoding than 'chunked'")
        return None
    if length is None or LENGTH.fullmatch(length) is None:
        raise BadResponse("the response doesn't tell how long its body is")
    return int(length)
