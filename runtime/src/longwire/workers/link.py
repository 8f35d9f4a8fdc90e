"""One connection to a worker: many calls at once, writes gathered, hello and pings in time.

    link = Link("w1", owner, counters, call_seconds=900)
    await loop.create_unix_connection(lambda: link, path)
    hello = await link.greeted  # None: it was lost before
    link.send(call)  # whose came() and ended() are called as frames arrive

A worker that breaks the contract loses its connection, and its calls fail. An answer that nobody waits for
(late, given twice, or for an id that was never sent) is counted and dropped.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from longwire.contract import writing
from longwire.contract.envelopes import (
    CONTRACT,
    Bye,
    CloseStream,
    Failure,
    FromWorker,
    Messages,
    Notify,
    NotifyOutcome,
    Pong,
    Result,
    WorkerHello,
)
from longwire.contract.frames import FrameDecoder, FrameError
from longwire.contract.reading import from_worker
from longwire.declared import declared
from longwire.workers.call import Outcome, WorkerCall, WorkerFailure, told_by_worker

if TYPE_CHECKING:
    from longwire.workers.worker import Worker

logger: Final = logging.getLogger(__name__)

HELLO_SECONDS: Final = 5.0
PING_SECONDS: Final = 15.0  # of silence, after which a worker is asked whether it is alive
PONG_SECONDS: Final = 10.0  # for its answer, if it has nothing else to do
SILENT_SECONDS: Final = 60.0  # for its answer while it runs calls: many programs do one thing at a time
DOUBT_SECONDS: Final = 1.0  # without an answer, after which it gets no more calls
FRAME_SECONDS: Final = 30.0  # from a frame's first byte to its last
_MOST_UNSENT: Final = 64 << 20  # bytes that a worker may leave unread
_LOOK: Final = 1.0  # seconds between two looks at the clock, at most
# What clients are told. The log says which worker it was, and what it did.
_ENDED: Final = "the program that ran this call ended before it answered: call again"
_BROKEN: Final = "the program that ran this call sent what can't be used, and was ended: call again"


class Link(asyncio.Protocol):
    """The runtime's end of a connection to one worker."""

    def __init__(
        self,
        label: str,
        owner: Worker,
        counters: Counter[str],
        *,
        call_seconds: float,
        hello_seconds: float = HELLO_SECONDS,
        ping_seconds: float = PING_SECONDS,
        pong_seconds: float = PONG_SECONDS,
        frame_seconds: float = FRAME_SECONDS,
        silent_seconds: float = SILENT_SECONDS,
        cluster: str | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.label = label
        self._cluster = cluster
        self._owner = owner
        self._counters = counters
        self._call_seconds = call_seconds
        self._hello_seconds = hello_seconds
        self._ping_seconds = ping_seconds
        self._pong_seconds = pong_seconds
        self._frame_seconds = frame_seconds
        self._silent_seconds = silent_seconds
        self._decoder = FrameDecoder()
        self._frames: deque[FromWorker] = deque()  # that have come, and wait while the link is held
        self._holds = 0  # by those for whom no more is read
        self._transport: asyncio.Transport | None = None
        self._calls: dict[str, WorkerCall] = {}  # in the order in which they were sent
        self._last = 0  # the number of the last call, which is its id
        self._written = 0  # the number of the last one that was written to the socket
        self._read = 0  # the number of the last call that the worker has surely read
        self._out: list[bytes] = []
        self._heard = 0.0  # when the last frame came
        self._part_since: float | None = None  # when the frame began of which only a part has come
        self._pinged: float | None = None  # when a ping was sent that nothing came after
        self._pings = 0  # the number of the last ping, which is its id
        self._awaited = 0  # the number of a ping that has no pong yet; 0: none
        self._before = 0  # the number of the last call before that ping
        # Calls that are over for their clients, but for the worker only when it answers them or this ping.
        self._owed: dict[str, int] = {}
        self._overdue = False  # one of them took too long
        self._doubted = False
        self._timer: asyncio.TimerHandle | None = None
        self._full = False  # the worker doesn't read what is written
        self._ended = False
        self.hello: WorkerHello | None = None
        self.greeted: asyncio.Future[WorkerHello | None] = self._loop.create_future()
        self.idle = asyncio.Event()  # no call is in flight
        self.idle.set()
        self.served = 0  # calls that have ended

    @property
    def in_flight(self) -> int:
        """Calls that the worker has, also those that nobody waits for any more."""
        return len(self._calls) + len(self._owed)

    @property
    def spare(self) -> int:
        """How many more calls the worker could run."""
        hello = self.hello
        if hello is None or self._full or self._doubted or self._holds:
            return 0
        return hello.max_in_flight - len(self._calls) - len(self._owed)

    def has_room(self, waiting: int) -> bool:
        """Whether another call may be sent, while so many wait.

        What lies unread at a worker that hangs is lost with it. So it is sent one call, or where many wait
        half of them in one write, and the next when it has read those.
        """
        unread = self._last - self._read
        if unread and (self._written > self._read or unread > waiting):
            return False
        return self.spare > 0

    @property
    def is_doubted(self) -> bool:
        """Whether the worker has been asked if it is alive, and doesn't say so: it gets no calls."""
        return self._doubted

    @property
    def is_open(self) -> bool:
        return self.hello is not None and not self._ended

    # ---- sending ----------------------------------------------------------------------------

    def send(self, call: WorkerCall) -> None:
        """Send a call. One that is too long for a frame fails."""
        call.link_id = name = str(self._last + 1)
        try:
            frame = writing.message(name, call.members, call.jsonrpc)
        except FrameError as error:
            call.ended(WorkerFailure("transport_error", f"the message can't be sent to a worker: {error}"))
            return
        self._last += 1
        call.link, call.began = self, self._loop.time()
        if not self._calls:
            self.idle.clear()
            self._heard = call.began  # before it had no reason to say anything
        self._calls[name] = call
        self._write(frame)

    def withdraw(self, call: WorkerCall, reason: str) -> None:
        """Tell the worker that a call is over for its client. Its outcome will be dropped."""
        if self._calls.pop(call.link_id, None) is not None:
            self._cancel(call.link_id, reason)
            self._one_less()

    def _cancel(self, name: str, reason: str) -> None:
        """Cancel a call, and ask when the worker has read that: it need not answer such a call."""
        self._write(writing.cancel(name, reason))
        self._owed[name] = self._pings + 1
        self._pinged = self._pinged or self._loop.time()
        if not self._awaited:
            self._ping()

    def _ping(self) -> None:
        self._pings += 1
        self._awaited, self._before = self._pings, self._last
        self._write(writing.ping(f"p{self._pings}"))

    def ask(self) -> None:
        """Have the worker say that it has read its last call, for another one waits.

        That is no question whether it is alive: it may be long at work on that call.
        """
        if not self._awaited and self._read < self._last and self.spare > 0:
            self._ping()

    def respond(self, call: WorkerCall, jsonrpc: bytes) -> None:
        """Send the client's answer to a request of a call that still runs."""
        if call.link_id in self._calls:
            try:
                self._write(writing.response(call.link_id, jsonrpc))
            except FrameError as error:
                logger.warning("an answer of a client is too long for worker %s: %s", self.label, error)

    def session_end(self, session_id: str, reason: str) -> None:
        self._write(writing.session_end(session_id, reason))

    def drain(self) -> None:
        """Ask the worker to finish what runs. Calls that would never end by themselves fail."""
        self._write(writing.drain())
        sentence = "the program that runs this call is being replaced: call again"
        for name, call in list(self._calls.items()):
            if call.endless:
                self._write(writing.cancel(name, sentence))
                self._end(name, WorkerFailure("worker_lost", sentence))

    def _write(self, frame: bytes) -> None:
        if not self._out and self._transport is not None:
            self._loop.call_soon(self._flush)
        self._out.append(frame)

    def _flush(self) -> None:
        out, self._out = self._out, []
        transport = self._transport
        if transport is None or not out:
            return
        self._written = self._last
        transport.write(out[0] if len(out) == 1 else b"".join(out))
        if self._full and transport.get_write_buffer_size() > _MOST_UNSENT:
            self.fail("worker_protocol", "it does not read what it is sent")

    # ---- back pressure ----------------------------------------------------------------------

    def hold(self) -> None:
        """Read nothing more of the worker until release(): what it sends can't be taken as fast."""
        self._holds += 1
        if self._holds == 1 and self._transport is not None:
            self._transport.pause_reading()

    def release(self) -> None:
        self._holds -= 1
        if not self._holds:
            self._loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        self._take_frames()
        if not self._holds and not self._ended and self._transport is not None:
            self._transport.resume_reading()
            self._owner.freed()

    # ---- the connection ---------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._heard = self._loop.time()
        self._write(writing.runtime_hello(declared().name, declared().version, self.label, self._cluster))
        self._look_later()

    def data_received(self, data: bytes) -> None:
        doubted = self._doubted
        try:
            texts = self._decoder.feed(data)
            self._note_frames(bool(texts))
            for text in texts:  # all of them before the first is taken, which is quicker: see TurnsEnd
                self._frames.append(from_worker(text))
        except FrameError as error:
            self._take_frames()  # those before it
            self.fail("worker_protocol", f"it broke the contract: {error}")
        self._take_frames()
        if doubted and not self._doubted and not self._ended:
            logger.info("worker %s answers again", self.label, extra={"event": "worker_answers"})
            self._owner.freed()

    def _take_frames(self) -> None:
        while self._frames and not self._holds and not self._ended:
            try:
                self._take(self._frames.popleft())
            except Exception:  # the runtime's own fault: other calls go on
                logger.exception("a frame of worker %s could not be processed", self.label)

    def _note_frames(self, came: bool) -> None:
        """Only whole frames are a sign of life: one that never ends would be sent for ever."""
        now = self._loop.time()
        if came:
            self._heard, self._pinged, self._doubted = now, None, False
        if not self._decoder.partial:
            self._part_since = None
        elif came or self._part_since is None:
            self._part_since = now

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self._owner.freed()

    def connection_lost(self, problem: Exception | None) -> None:
        self._over(WorkerFailure("worker_lost", _ENDED, "it has closed its connection"), is_end=True)

    def fail(self, error_class: Any, what: str) -> None:
        """End the connection, because of what the worker did or did not do."""
        if self._ended:
            return
        self._counters[error_class] += 1
        sentence = _ENDED if error_class == "worker_lost" else _BROKEN
        self._over(WorkerFailure(error_class, sentence, what))

    def close(self, why: str | None = None, detail: str | None = None) -> None:
        """End the connection; `why` is for clients whose calls are lost, `detail` for the log."""
        self._over(WorkerFailure("worker_lost", why or _ENDED, detail or "it was ended"))

    def _over(self, failure: WorkerFailure, *, is_end: bool = False) -> None:
        if self._ended:
            return
        self._ended = True
        self.hello = None
        if self._timer is not None:
            self._timer.cancel()
        self._flush()
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.close()
            self._loop.call_later(1.0, transport.abort)  # one that doesn't read would stay open
        if not self.greeted.done():
            self.greeted.set_result(None)
        calls, self._calls = self._calls, {}
        self._owed.clear()
        self.idle.set()
        self._owner.lost(failure, is_end)
        told = failure._replace(detail=f"worker {self.label} is lost: {failure.logged}")
        for call in calls.values():
            try:
                call.ended(told)
            except Exception:  # or the others would never end
                logger.exception("a call of worker %s could not be ended", self.label)

    # ---- receiving --------------------------------------------------------------------------

    def _take(self, found: Any) -> None:
        kind = type(found)
        if self.hello is None and kind is not WorkerHello:
            self.fail("worker_protocol", "it broke the contract: it did not begin with 'hello'")
            return
        take = _EVENTS.get(kind)
        if take is None:
            self._counters["unknown_event"] += 1
        else:
            take(self, found)

    def _greet(self, hello: WorkerHello) -> None:
        if self.hello is not None:
            self.fail("worker_protocol", "it broke the contract: it said 'hello' twice")
        elif hello.contract != CONTRACT:
            self.fail(
                "worker_protocol", f"it speaks version {hello.contract} of the contract, not {CONTRACT}"
            )
        else:
            self.hello = hello
            self.greeted.set_result(hello)

    def _messages(self, found: Messages) -> None:
        call = self._calls.get(found.id)
        if call is None:
            self._count_stray(found.id)
        else:
            call.came(found.messages)
            self._has_read(int(found.id))

    def _close_stream(self, found: CloseStream) -> None:
        call = self._calls.get(found.id)
        if call is None:
            self._count_stray(found.id)
        else:
            call.came([{"close": found.stream}])

    def _result(self, found: Result) -> None:
        self._end(found.id, found)

    def _failure(self, found: Failure) -> None:
        self._end(found.id, told_by_worker(found.error_class, found.error))

    def _end(self, name: str, outcome: Outcome) -> None:
        call = self._calls.pop(name, None)
        if call is None:
            self._count_stray(name)
            if self._owed.pop(name, None) is not None:
                self._settled()
            return
        self.served += 1
        self._read = max(self._read, int(name))
        call.ended(outcome)
        self._one_less()

    def _has_read(self, number: int) -> None:
        """Note that the worker has a call, and with it all before: it reads frames in their order."""
        if number > self._read:
            self._read = number
            self._owner.freed()

    def _one_less(self) -> None:
        if not self._calls:
            self.idle.set()
        self._owner.freed()

    def _count_stray(self, name: str) -> None:
        """Count a frame about a call that isn't waited for."""
        was_sent = name.isascii() and name.isdigit() and len(name) < 20 and 0 < int(name) <= self._last
        self._counters["late" if was_sent else "unknown_id"] += 1

    def _notify(self, found: Notify) -> None:
        storing = self._owner.notified(found, partial(self._answer_notify, found.id))
        if storing is not None:
            self.hold()
            storing.add_done_callback(lambda _: self.release())

    def _answer_notify(self, name: str | None, outcome: NotifyOutcome) -> None:
        if name is not None and self.is_open:
            self._write(writing.notified(name, outcome))

    def _pong(self, found: Pong) -> None:
        """Whatever comes is a sign of life; a pong says also that what was cancelled before is over."""
        if found.id != f"p{self._awaited}":
            return
        number, self._awaited = self._awaited, 0
        self._has_read(self._before)
        if self._owed:
            self._owed = {name: ping for name, ping in self._owed.items() if ping > number}
            if self._owed:
                self._ping()
            self._settled()

    def _settled(self) -> None:
        """A call that nobody waited for is over for the worker, too."""
        self._overdue = self._overdue and bool(self._owed)
        self._owner.freed()

    def _bye(self, found: Bye) -> None:
        self._owner.leaves(found.reason)

    # ---- time -------------------------------------------------------------------------------

    def _look_later(self) -> None:
        limits = (
            self._hello_seconds,
            self._call_seconds,
            self._ping_seconds,
            self._pong_seconds,
            self._frame_seconds,
            self._silent_seconds,
        )
        self._timer = self._loop.call_later(min(_LOOK, *(limit / 4 for limit in limits)), self._look)

    def _look(self) -> None:
        now = self._loop.time()
        if self._holds:  # it can't be heard
            self._note_frames(came=True)
        if self.hello is None:
            if now - self._heard > self._hello_seconds:
                self.fail("worker_protocol", f"it did not say 'hello' within {self._hello_seconds:g} s")
        elif self._part_since is not None and now - self._part_since > self._frame_seconds:
            self.fail("worker_protocol", f"it did not end a frame within {self._frame_seconds:g} s")
        elif self._pinged is not None and now - self._pinged > self._patience:
            self.fail("worker_lost", f"it did not answer within {self._patience:g} s whether it is alive")
        else:
            late = self._give_up_late(now)
            if self._pinged is None and now - self._heard > self._ping_seconds:
                self._pinged = now
                self._ping()
            if self._pinged is not None and (late or now - self._pinged > DOUBT_SECONDS):
                self._doubt()
        if not self._ended:
            self._look_later()

    @property
    def _patience(self) -> float:
        """Seconds in which a ping has to be followed by something.

        A worker that runs calls may read the ping only after them.
        """
        is_busy = bool(self._calls or self._owed) and not self._overdue
        return self._silent_seconds if is_busy else self._pong_seconds

    def _doubt(self) -> None:
        if not self._doubted:
            self._doubted = True
            logger.warning(
                "worker %s does not say whether it is alive: it gets no calls until it does",
                self.label,
                extra={"event": "worker_silent", "worker": self.label},
            )

    def _give_up_late(self, now: float) -> bool:
        """Fail the calls that take too long; whether there were any."""
        late = []
        for name, call in self._calls.items():
            if call.endless:
                continue
            if now - call.began <= self._call_seconds:
                break
            late.append(name)
        seconds = f"{self._call_seconds:g} s"
        for name in late:
            self._counters["worker_timeout"] += 1
            self._cancel(name, f"it was not answered within {seconds}")
            self._overdue = True
            detail = f"worker {self.label} did not answer within {seconds}"
            sentence = f"the call was not answered within {seconds}, and was ended"
            self._end(name, WorkerFailure("worker_timeout", sentence, detail))
        return bool(late)


_EVENTS: Final[Mapping[type, Callable[[Link, Any], None]]] = {
    WorkerHello: Link._greet,
    Messages: Link._messages,
    Result: Link._result,
    Failure: Link._failure,
    CloseStream: Link._close_stream,
    Notify: Link._notify,
    Pong: Link._pong,
    Bye: Link._bye,
}
