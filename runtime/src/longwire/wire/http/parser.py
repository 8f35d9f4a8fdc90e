"""A parser of HTTP/1.1 requests. No I/O: bytes in, heads, whole requests and refusals out.

Heads are parsed when they are whole, with the string methods of Python: that takes about as long as the
callbacks of a parser in C, limits hold to the byte, and a request that waits for its turn stays the bytes
that it came as. What comes out doesn't depend on how the bytes were cut up on their way.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from longwire.principals.principal import Principal
from longwire.settings import WireLimits
from longwire.wire.http.head import (
    Head,
    RefusedRequest,
    parse_fields,
    parse_head,
    parse_request_line,
    too_long,
)
from longwire.wire.http.request import Request

_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,15})(?:;[^\x00-\x08\x0a-\x1f\x7f]*)?\r\n")
_BLANK: Final = 0x20
_TLS: Final = 0x16  # the first byte of a handshake
_MOST_BLANKS: Final = 4  # empty lines that are ignored before a request
_MAX_CHUNK_LINE: Final = 1024  # bytes
# Bytes that may stand around the chunks of one body, beside half as many as the body has: tiny chunks cost
# much more time than others.
_FREE_FRAMING: Final = 16 << 10
_MAX_REMEMBERED: Final = 1024  # bytes of a head that is compared with the next one


Event: TypeAlias = Head | Request | RefusedRequest  # nothing after a refusal is read


class RequestParser:
    """Reads the requests of one connection, one after the other.

    `receive()` takes bytes; `next_event()` gives a Head, then its Request, then the next Head, and None where
    more bytes are needed. Bytes behind a request are not looked at until `next_event()` is called for them.
    """

    def __init__(self, limits: WireLimits, *, address: str = "127.0.0.1", peer: str = "127.0.0.1:0") -> None:
        self._limits = limits
        self._address = address
        self._peer = peer
        self._principal = Principal.of_address(address)
        # A function, not a method bound to this parser: that would keep it alive until garbage is collected.
        self._step: Callable[[RequestParser], Event | None] = RequestParser._read_line
        self._buffer = bytearray()
        self._blanks = 0  # empty lines that were read before the request
        self._searched = 0  # up to here no head ends
        self._fields_start = 0  # where the request line ends
        self._line = ("", "", "")  # method, target, version
        self._line_start = 0  # of the first header line whose length is not known to be right
        self._head: Head | None = None  # of the request that is being read, or was the last
        self._remembered = b""  # its bytes: most clients send the same head again and again
        self._body = bytearray()  # of a request in chunks
        self._chunk = 0  # bytes that the chunk still has, with the CR LF behind it
        self._framing = 0  # bytes around the chunks that were read

    @property
    def buffered(self) -> int:
        """Bytes that have arrived and are not part of a request that was given out."""
        return len(self._buffer) + len(self._body)

    @property
    def begun(self) -> bool:
        """Whether a request has arrived in part."""
        return bool(self._buffer) or self._step is not RequestParser._read_line

    def receive(self, data: bytes) -> None:
        self._buffer += data

    def next_event(self) -> Event | None:
        """The next part of the input, or None where it has not arrived; after a refusal always None."""
        try:
            return self._step(self)
        except RefusedRequest as refusal:
            if self._head is not None and self._step in (
                RequestParser._read_chunks,
                RequestParser._read_trailers,
            ):
                refusal.headers = self._head.headers
            self._step = RequestParser._read_nothing
            self._read_nothing()
            return refusal

    def make_request(self, head: Head, body: bytes = b"") -> Request:
        """The request that a head of this connection and a body make."""
        return Request(
            head.method,
            head.path,
            query=head.query,
            headers=head.headers,
            repeated=head.repeated,
            body=body,
            address=self._address,
            peer=self._peer,
            principal=self._principal,
        )

    def _read_nothing(self) -> None:
        self._buffer.clear()
        self._body.clear()

    def _read_line(self) -> Event | None:
        """Look for the end of the request line, so that one that can't be right is refused at once."""
        buffer = self._buffer
        while self._blanks < _MOST_BLANKS and buffer.startswith(b"\r\n"):  # RFC 9112, 2.2
            del buffer[:2]
            self._blanks += 1
        if self._head is not None and self._remembered and buffer.startswith(self._remembered):
            return self._begin_body(self._head, len(self._remembered))
        if buffer and buffer[0] <= _BLANK and (self._blanks == _MOST_BLANKS or buffer != b"\r"):
            if buffer[0] == _TLS:
                raise RefusedRequest(400, "this port speaks plain HTTP: use http://, or an HTTPS port")
            raise RefusedRequest(400, "a request begins with its method: send HTTP/1.1")
        longest = self._limits.max_header_line
        end = buffer.find(b"\n", 0, longest + 2)
        if end < 0:
            if len(buffer) > longest + 1:
                raise RefusedRequest(414, f"the request line is over {longest} bytes: send a shorter target")
            return None
        if not buffer.startswith(b"\r", end - 1):
            raise RefusedRequest(400, "the request line doesn't end in CR LF: send both")
        self._line = parse_request_line(buffer[: end - 1])
        self._searched = end - 1
        self._line_start = self._fields_start = end + 1
        self._step = RequestParser._read_fields
        return self._read_fields()

    def _read_fields(self) -> Event | None:
        """Look for the end of the head, and parse it."""
        buffer, limits = self._buffer, self._limits
        end = buffer.find(b"\r\n\r\n", self._searched)
        if end < 0:
            self._check_sizes(len(buffer))
            self._searched = max(len(buffer) - 3, self._searched)
            return None
        size = end + 4
        if size > limits.max_header_line or size > limits.max_head:
            self._check_sizes(size)
        head = parse_head(
            self._line, buffer[self._fields_start : end], limits.max_headers, limits.max_message
        )
        self._remembered = bytes(buffer[:size]) if size <= _MAX_REMEMBERED else b""
        return self._begin_body(head, size)

    def _check_sizes(self, size: int) -> None:
        """Refuse a head that is too large, or has a line that is, by the first byte that is too many."""
        limits, longest = self._limits, self._limits.max_header_line
        if size <= longest and size <= limits.max_head:
            return
        while self._line_start < size:
            newline = self._buffer.find(b"\n", self._line_start, size)
            length = (size if newline < 0 else newline) - self._line_start - 1  # without the CR
            if length > longest and self._line_start + longest + 2 <= limits.max_head:
                raise RefusedRequest(431, f"a header line is over {longest} bytes: send shorter headers")
            if newline < 0:
                break
            self._line_start = newline + 1
        if size > limits.max_head:
            raise RefusedRequest(
                431, f"the head of the request is over {limits.max_head} bytes: send fewer headers"
            )

    def _begin_body(self, head: Head, size: int) -> Head:
        del self._buffer[:size]
        self._head = head
        self._step = RequestParser._read_chunks if head.length is None else RequestParser._read_body
        return head

    def _read_body(self) -> Event | None:
        assert self._head is not None
        length = self._head.length or 0
        if len(self._buffer) < length:
            return None
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        return self._complete(body)

    def _read_chunks(self) -> Event | None:
        buffer, body, limit = self._buffer, self._body, self._limits.max_message
        at, chunk, framing, arrived = 0, self._chunk, self._framing, len(buffer)
        while True:
            if chunk:
                if chunk > 2:
                    part = buffer[at : at + chunk - 2]
                    body += part
                    at += len(part)
                    chunk -= len(part)
                if bytes(buffer[at : at + 2]) not in (b"\r\n", b"\r", b""):
                    raise RefusedRequest(400, "a chunk is longer than its size says: correct the size")
                if arrived - at < 2:
                    break
                at += 2
                chunk = 0
            line = _CHUNK.match(buffer, at)
            if line is None:
                self._check_chunk_line(at, arrived)
                break
            size, end = int(line[1], 16), line.end()
            framing += end - at + 2
            if end - at > _MAX_CHUNK_LINE or framing > _FREE_FRAMING + len(body) // 2:
                raise _much_framing()
            at = end
            if size == 0:
                del buffer[:at]
                self._chunk = self._framing = self._searched = self._line_start = 0
                self._step = RequestParser._read_trailers
                return self._read_trailers()
            if len(body) + size > limit:
                raise too_long(limit)
            chunk = size + 2
        del buffer[:at]
        self._chunk, self._framing = chunk, framing
        return None

    def _check_chunk_line(self, start: int, arrived: int) -> None:
        """Refuse bytes that can't become the line before a chunk."""
        if self._buffer.find(b"\n", start, start + _MAX_CHUNK_LINE) >= 0:
            raise RefusedRequest(400, "a chunk has no size in hexadecimal digits before it: send one")
        if arrived - start >= _MAX_CHUNK_LINE:
            raise _much_framing()

    def _read_trailers(self) -> Event | None:
        """Read the header lines behind the last chunk: checked like others, and ignored."""
        buffer = self._buffer
        end = -2 if buffer.startswith(b"\r\n") else buffer.find(b"\r\n\r\n", self._searched)
        if end == -1:
            self._check_sizes(len(buffer))
            self._searched = max(len(buffer) - 3, 0)
            return None
        self._check_sizes(end + 4)
        trailers, _ = parse_fields(buffer[: max(end, 0)], self._limits.max_headers)
        if "content-length" in trailers or "transfer-encoding" in trailers:
            raise RefusedRequest(400, "the headers behind the chunks tell a length: leave that out")
        del buffer[: end + 4]
        body, self._body = bytes(self._body), bytearray()
        return self._complete(body)

    def _complete(self, body: bytes) -> Request:
        """The request whose last byte was read; the next one begins behind it."""
        assert self._head is not None
        self._blanks = 0
        self._step = RequestParser._read_line
        return self.make_request(self._head, body)


def _much_framing() -> RefusedRequest:
    return RefusedRequest(
        400, "the body has many small chunks, or long lines before them: send larger chunks"
    )
