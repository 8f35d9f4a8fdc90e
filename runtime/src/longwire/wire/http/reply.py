"""The Responder of one request: it frames an answer for the client's version of HTTP. No I/O."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, Literal

from longwire.wire.http import answers
from longwire.wire.http.head import Head
from longwire.wire.http.request import HeaderList, Request

if TYPE_CHECKING:
    from longwire.wire.http.connection import HttpConnection

_LOG: Final = logging.getLogger(__name__)
TEXT: Final = b"text/plain; charset=utf-8"


class Reply:
    """The answer to one request, as its handler writes it."""

    __slots__ = ("_channel", "_head", "_keep", "_on_gone", "_on_room", "_state", "_unread", "request")

    def __init__(
        self, channel: HttpConnection, head: Head, request: Request, *, unread: bool = False
    ) -> None:
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
        return self._channel.unsent(self)

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
        general = channel.general_lines(head, keep) + answers.id_line(self.request.id)
        if self.request.answer_headers:
            headers = [*headers, *self.request.answer_headers]
        data = answers.whole_answer(
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
        general = channel.general_lines(head, self._keep) + answers.id_line(self.request.id)
        added = [*headers, *self.request.answer_headers]
        channel.write(answers.events_head(added, general + answers.CHUNKED if chunked else general))
        self._state = "events"
        if head.method == "HEAD":
            self._end(self._keep)

    def send(self, events: bytes) -> None:
        if self._state == "events" and events:
            self._channel.write(answers.chunk(events) if self._head.version == "1.1" else events)

    def end(self) -> None:
        if self._state == "events":
            if self._head.version == "1.1":
                self._channel.write(answers.LAST_CHUNK)
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
