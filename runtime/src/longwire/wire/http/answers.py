"""The bytes of HTTP/1.1 answers: heads, chunks and refusals. No I/O."""

from __future__ import annotations

import time
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Final

from longwire.wire.http.request import REQUEST_ID, HeaderList

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK: Final = b"0\r\n\r\n"
CLOSE: Final = b"connection: close\r\n"
KEEP_ALIVE: Final = b"connection: keep-alive\r\n"  # for clients of HTTP/1.0, which expect the opposite
CHUNKED: Final = b"transfer-encoding: chunked\r\n"
_EVENTS: Final = (
    b"content-type: text/event-stream\r\n"
    b"cache-control: no-cache, no-transform\r\n"
    b"x-accel-buffering: no\r\n"  # proxies pass each event on at once
)

_STATUS_LINES: Final = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}
_WITHOUT_BODY: Final = frozenset({204, 304})  # these have neither a body nor its length


def date_line() -> bytes:
    return _date_line(int(time.time()))


@lru_cache(maxsize=1)  # made once a second
def _date_line(second: int) -> bytes:
    return f"date: {formatdate(second, usegmt=True)}\r\n".encode()


def header_lines(headers: HeaderList) -> bytes:
    """Header fields as lines; raises ValueError where one would break its line."""
    return _lines(tuple(headers))


@lru_cache(maxsize=256)  # most answers have the same
def _lines(headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
    lines = b"".join([b"%b: %b\r\n" % field for field in headers])
    if lines.count(b"\n") != len(headers) or lines.count(b"\r") != len(headers) or b"\0" in lines:
        raise ValueError(f"a header of {list(headers)!r} has CR, LF or NUL in it: leave them out")
    return lines


def id_line(request_id: str) -> bytes:
    return b"%b: %b\r\n" % (REQUEST_ID.encode(), request_id.encode())


def status_line(status: int) -> bytes:
    return _STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status


def whole_answer(
    status: int, body: bytes, kind: bytes, headers: HeaderList, general: bytes, *, with_body: bool = True
) -> bytes:
    """A whole answer. `general` are lines of the connection; one to HEAD is written without its body."""
    if status in _WITHOUT_BODY:
        return b"".join((status_line(status), general, header_lines(headers), b"\r\n"))
    lines = header_lines(((b"content-type", kind), *headers) if kind else headers)
    length = b"content-length: %d\r\n\r\n" % len(body)
    return b"".join((status_line(status), general, lines, length, body if with_body else b""))


def events_head(headers: HeaderList, general: bytes) -> bytes:
    return b"".join((status_line(200), general, _EVENTS, header_lines(headers), b"\r\n"))


def chunk(data: bytes) -> bytes:
    """One chunk of an answer; empty data would end it."""
    return b"%x\r\n%b\r\n" % (len(data), data)
