"""HTTP/1.1 answers: the Responder of one request, and the bytes that it writes. No I/O."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Final, Literal, Protocol

from longwire.wire.http.head import Head
from longwire.wire.http.request import REQUEST_ID, HeaderList, Request

_LOG: Final = logging.getLogger(__name__)
TEXT: Final = b"text/plain; charset=utf-8"
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


def general_lines(head: Head, keep: bool) -> bytes:
    """The header lines that every answer has; `keep`: the connection goes on behind it."""
    if keep:
        return date_line() if head.version == "1.1" else date_line() + KEEP_ALIVE
    return date_line() + CLOSE


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


class Channel(Protocol):
    """A connection, as the answers on it see it."""

    closing: bool  # whether this answer is its last

    @property
    def unsent(self) -> int: ...
    def write(self, data: bytes) -> None: ...
    def answered(self, keep: bool, unread: bool) -> None: ...


class Reply:
    """The answer to one request, as its handler writes it."""

    __slots__ = ("_channel", "_head", "_keep", "_on_gone", "_on_room", "_state", "_unread", "request")

    def __init__(self, channel: Channel, head: Head, request: Request, *, unread: bool = False) -> None:
        self._channel = channel
        self._head = head
        self.request = request
        self._unread = unread
        self._keep = False  # whether the connection goes on behind an answer of events
        self._state: Literal["waiting", "events", "ended"] = "waiting"
        self._on_gone: tuple[Callable[[], None], ...] = ()
        self._on_room: tuple[Callable[[], None], ...] = ()

    @property
    def gone(self) -> bool:
        return self._state == "ended"

    @property
    def unsent(self) -> int:
        return 0 if self.gone else self._channel.unsent

    def answer(self, status: int, body: bytes = b"", kind: bytes = b"", headers: HeaderList = ()) -> None:
        if not self._may_begin():
            return
        if 400 <= status < 500 and (charge := self.request.charge) is not None:
            self.request.charge = None
            if (other := charge(self.request)) is not None and status != other[0]:
                status, body, kind, added = other
                headers = [*headers, *added]
        channel, head = self._channel, self._head
        keep = head.keep_alive and not (self._unread or channel.closing)
        general = general_lines(head, keep) + id_line(self.request.id)
        if self.request.answer_headers:
            headers = [*headers, *self.request.answer_headers]
        data = whole_answer(
            status, body, kind, headers, general, with_body=head.method != "HEAD"
        )  # raises where a header is bad: the state is still "waiting"
        channel.write(data)
        if status >= 400 and (told := self.request.on_refused) is not None:
            told(self.request, status, body)
        self._end(keep)

    def begin_events(self, headers: HeaderList = ()) -> None:
        if not self._may_begin():
            return
        channel, head = self._channel, self._head
        chunked = head.version == "1.1"  # the end of the connection is the end of the events for others
        self._keep = chunked and head.keep_alive and not (self._unread or channel.closing)
        general = general_lines(head, self._keep) + id_line(self.request.id)
        added = [*headers, *self.request.answer_headers]
        channel.write(events_head(added, general + CHUNKED if chunked else general))
        self._state = "events"
        if head.method == "HEAD":
            self._end(self._keep)

    def send(self, events: bytes) -> None:
        if self._state == "events" and events:
            self._channel.write(chunk(events) if self._head.version == "1.1" else events)

    def end(self) -> None:
        if self._state == "events":
            if self._head.version == "1.1":
                self._channel.write(LAST_CHUNK)
            self._end(self._keep and not self._channel.closing)

    def on_gone(self, callback: Callable[[], None]) -> None:
        self._on_gone += (callback,)

    def on_room(self, callback: Callable[[], None]) -> None:
        self._on_room += (callback,)

    def tell_room(self) -> None:
        _call(self._on_room)

    def lose(self) -> None:
        """Take note that nobody waits for the answer."""
        self._state = "ended"
        callbacks, self._on_gone, self._on_room = self._on_gone, (), ()
        _call(callbacks)

    def cut_short(self) -> None:
        """End the answer because the server stops, and tell those who make it."""
        callbacks = self._on_gone
        if self._state == "waiting":
            self.answer(503, b"the server stops: try again later\n", TEXT, ((b"retry-after", b"5"),))
        else:
            self.end()
        _call(callbacks)

    def fail(self) -> None:
        """End the answer because its maker failed; where it has begun, in the way of an interrupted one."""
        if self._state == "waiting":
            self.answer(500, b"the server failed: its log says why\n", TEXT)
        elif self._state == "events":
            self._end(False)

    def _may_begin(self) -> bool:
        """Whether there is still a client for this answer; raises RuntimeError in the midst of events."""
        if self._state == "events":
            raise RuntimeError("the answer has begun as events: send and end them")
        return self._state == "waiting"

    def _end(self, keep: bool) -> None:
        self._state = "ended"
        self._on_gone = self._on_room = ()  # these may hold whole sessions
        self._channel.answered(keep, self._unread)


def _call(callbacks: Iterable[Callable[[], None]]) -> None:
    """Call functions, all of them even where one fails."""
    for callback in callbacks:
        try:
            callback()
        except Exception:
            _LOG.exception("a function that waits for a client failed")
