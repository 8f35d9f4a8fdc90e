"""One HTTP connection without I/O: bytes in, requests to a handler, answers out in the order of the requests.

How the asyncio protocol that is made of it drives it:

    data_received    receive(data): hands out requests, which are answered at once or later
    eof_received     return None: a client that ends its side has gone (so that calls end with their clients)
    connection_lost  lost()
    pause_writing    full()
    resume_writing   room()
    a timer          expire() when clock() >= deadline, which moves with every call and answer: a timer that
                     finds it moved is set again; `waits_for` says which deadline it is
    shutdown         finish() closes after the answer in progress; stop() ends that answer too
    too many         set `closing` where the answer is to be the last

Each request is handed out with a Responder of its own, and only when the one before was answered; up to
_AHEAD bytes behind it are taken meanwhile, then reading pauses. A request that was sent ahead waits for its
turn among those of other connections, and until the client has taken the earlier answers.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

from mcp_types import INVALID_REQUEST

from longwire.principals.limits import BUSY
from longwire.settings import WireLimits
from longwire.wire.http import answers
from longwire.wire.http.answers import Reply
from longwire.wire.http.head import Head, RefusedRequest
from longwire.wire.http.parser import RequestParser
from longwire.wire.http.request import HeaderList, Request, Responder, request_id
from longwire.wire.http.routes import JSON
from longwire.wire.replies import error_payload

_LOG: Final = logging.getLogger(__name__)
_AHEAD: Final = 64 << 10  # bytes that are taken behind a request that has no answer yet
LATER: Final[HeaderList] = [(b"retry-after", b"5")]
_NEVER: Final = float("inf")
# For counters: what was wrong with a request that no handler saw.
_REASONS: Final = {408: "slow", 413: "size", 414: "headers", 431: "headers", 503: "connections"}
_NO_LENGTH: Final = "the request doesn't tell how long its body is: send Content-Length"
_LINGER: Final = 2.0  # seconds in which a client may read a refusal, while what it still sends is thrown away

# What a connection waits for. "request": the first byte of the next one; "end": that the client closes.
Wait: TypeAlias = Literal["head", "body", "request", "end", ""]
# Says whether the body of a request is worth reading; where it isn't, the function has answered.
Admission: TypeAlias = Callable[[Request, Responder], bool]
# The headers that let the page that sent a request read the refusal; given the headers of the request.
PageHeaders: TypeAlias = Callable[[Mapping[str, str]], HeaderList]


class HttpConnection:
    """The requests of one client connection and their answers; a subclass has the socket and the handler."""

    unsent: int  # bytes that were written and that the client's machine has not taken

    def __init__(
        self,
        limits: WireLimits,
        address: str,
        peer: str,
        clock: Callable[[], float] = time.monotonic,
        refused: Counter[str] | None = None,
        for_pages: PageHeaders | None = None,
    ) -> None:
        self.address = address
        self._limits = limits
        self._clock = clock
        self._refused = refused
        self._for_pages = for_pages
        self.parser = RequestParser(limits, address=address, peer=peer)
        self._head: Head | None = None  # of the request whose body is being read
        self._answer: Reply | None = None  # of the request that is being answered
        self._pumping = False
        self._due = False  # whether the next request, which was sent ahead, waits for its turn
        self._paused = False
        self._full = False
        self.closed = False  # whether it takes no more requests and has written its last answer
        self.closing = False  # whether the answer in progress, or else the next one, is the last
        self.waits_for: Wait = "head"
        self.deadline = clock() + limits.head_timeout  # when expire() is to be called; infinite: never

    # A subclass has these.

    def handle(self, request: Request, responder: Responder) -> None:
        """Answer a whole request, at once or later."""
        raise NotImplementedError

    def admits(self, request: Request, responder: Responder) -> bool:
        """Whether a body that hasn't come with its head is read; False: it is answered, and the last."""
        return True

    def write(self, data: bytes) -> None: ...
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...

    def end_writing(self) -> None:
        """Close the sending side when everything is written; where a transport can't, do nothing."""

    def close(self) -> None:
        """Close the connection when everything is written."""

    def abort(self) -> None:
        """Drop the connection with whatever is not written."""

    def soon(self, callback: Callable[[], None]) -> None: ...

    @property
    def request(self) -> Request | None:
        """The request that is being answered."""
        return None if self._answer is None else self._answer.request

    def receive(self, data: bytes) -> None:
        """Take bytes from the client. The handler may be called before this returns."""
        if self.closed:
            return
        self.parser.receive(data)
        if self._due:
            self._read_on(self.parser.buffered < _AHEAD)
        else:
            self._pump()

    def lost(self) -> None:
        self.closed = True
        self._wait("")
        if self._answer is not None:
            answer, self._answer = self._answer, None
            answer.lose()

    def full(self) -> None:
        """Take note that the client doesn't read: no further request is answered for now."""
        self._full = True

    def room(self) -> None:
        self._full = False
        if self._answer is not None:
            self._answer.tell_room()
        elif self.parser.begun:
            self._pump_later()
        else:
            self._pump()

    def finish(self) -> None:
        """Close the connection after the answer in progress, or now where there is none."""
        self.closing = True
        if self._answer is None and self._head is None and not self.closed:
            self._shut(linger=False)

    def stop(self) -> None:
        """Close the connection now. An answer in progress is ended, or is 503 where it has not begun."""
        self.closing = True
        if self._answer is not None:
            self._answer.cut_short()
        else:
            self._shut(linger=False)

    def expire(self) -> None:
        """Close the connection because its deadline has passed."""
        if self.waits_for == "body" or (self.waits_for == "head" and self.parser.begun):
            limits = self._limits
            seconds = limits.read_timeout if self.waits_for == "body" else limits.head_timeout
            self._refuse(408, f"the request's {self.waits_for} took over {seconds:g} s: send it at once")
        elif self.waits_for == "head" and self._refused is not None:
            self._refused[_REASONS[408]] += 1  # it has said nothing, and is told nothing
        self._shut(linger=False)

    def give_way(self, sentence: str) -> None:
        """Close the connection in the midst of a body, because its place or its bytes are needed."""
        if not self.closed:
            self._refuse(503, sentence)
        self._shut(linger=False)

    def _pump_later(self) -> None:
        if not self._due:
            self._due = True
            self.soon(self._take_turn)

    def _take_turn(self) -> None:
        self._due = False
        self._pump()

    def _pump(self) -> None:
        """Hand out the next request, unless one is being answered or bytes are missing."""
        if self._pumping or self.closed:
            return
        self._pumping = True
        handed_out = starved = False
        while self._answer is None and not (self.closed or self._full or starved or handed_out):
            event = self.parser.next_event()
            if isinstance(event, Head):
                self._head = event
                if event.method == "POST" and event.length == 0 and "content-length" not in event.headers:
                    self._refuse(411, _NO_LENGTH)
                    self._shut(linger=True)
                    continue
                event = self.parser.next_event()
                if event is None:
                    self._begin_body(self._head)
                    continue
            if isinstance(event, Request):
                handed_out = True
                self._hand_out(event)
                starved = self._answer is None and not self.parser.begun
            elif isinstance(event, RefusedRequest):
                self._refuse(event.status, event.sentence, event.headers)
                self._shut(linger=True)
            else:
                starved = True
        self._pumping = False
        if not self.closed:
            self._settle(handed_out, starved)

    def _settle(self, handed_out: bool, starved: bool) -> None:
        """Say what the connection waits for, and whether to read on."""
        wait: Wait = ""
        if starved:
            wait = "body" if self._head is not None else "head" if self.parser.begun else "request"
            if wait == "request" and self.waits_for == "head" and not handed_out:
                wait = "head"  # an empty line before the request gives no more time
        elif self._answer is None and not self._full:
            self._pump_later()
        if wait != self.waits_for or handed_out:
            self._wait(wait)
        self._read_on(starved or self.parser.buffered < _AHEAD)

    def _wait(self, wait: Wait) -> None:
        limits, self.waits_for = self._limits, wait
        seconds = {"head": limits.head_timeout, "body": limits.read_timeout, "request": limits.keep_alive}
        self.deadline = self._clock() + seconds.get(wait, _LINGER) if wait else _NEVER

    def _read_on(self, wanted: bool) -> None:
        if wanted == self._paused:
            self._paused = not wanted
            (self.resume_reading if wanted else self.pause_reading)()

    def _begin_body(self, head: Head) -> None:
        """Decide whether the body of a request is read, and ask for it where the client waits for that."""
        request = self.parser.make_request(head)
        answer = self._answer = Reply(self, head, request, unread=True)
        try:
            admitted = self.admits(request, answer)
        except Exception:
            _LOG.exception("the check of %s %s failed", head.method, head.path)
            answer.fail()
            return
        if not admitted or answer.gone:
            return
        self._answer = None
        if head.expects_continue:
            self.write(answers.CONTINUE)

    def _hand_out(self, request: Request) -> None:
        assert self._head is not None
        answer = self._answer = Reply(self, self._head, request)
        self._head = None
        try:
            self.handle(request, answer)
        except Exception:
            _LOG.exception("the handler of %s %s failed", request.method, request.path)
            answer.fail()

    def _refuse(self, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        if headers is None:
            headers = {} if self._head is None else self._head.headers
        if self._refused is not None:
            self._refused[_REASONS.get(status, "http")] += 1
        general = answers.date_line() + answers.CLOSE + answers.id_line(request_id(headers))
        full = status == 503
        body = error_payload(None, BUSY if full else INVALID_REQUEST, sentence)
        added = () if self._for_pages is None else self._for_pages(headers)
        lines = [*(LATER if full else ()), *added]
        self.write(answers.whole_answer(status, body, JSON, lines, general))

    def _shut(self, *, linger: bool) -> None:
        """Take no more requests; close when all is written, or when a client that still sends has read it.

        A connection that is closed with bytes unread is reset, and the client may never see its answer.
        """
        self.closed = True
        if linger:
            self.end_writing()
            self._wait("end")
            self._read_on(True)
        else:
            self._wait("")
            self.close()

    # What replies call.

    def answered(self, keep: bool, unread: bool) -> None:
        """Go on behind an answer that was written whole; `unread`: its request's body was not read."""
        self._answer = None
        if not keep:
            self._shut(linger=unread or self.parser.begun)
        elif not self._pumping:
            if self.parser.begun:
                self._pump_later()  # not now: this is the task of another request
            else:
                self._wait("request")
                self._read_on(True)
