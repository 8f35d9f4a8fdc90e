"""One connection to a worker: many calls at once, writes gathered, hello and pings in time.

A worker that breaks the contract loses its connection, and its calls fail. An answer that nobody waits for
(late, given twice, or for an id that was never sent) is counted and dropped.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from longwire.contract import envelopes, writing
from longwire.contract.envelopes import CONTRACT, Notify, Pong, WorkerHello
from longwire.contract.frames import FrameConnection, FrameError
from longwire.contract.reading import from_worker
from longwire.names import own_names
from longwire.workers.call import Outcome, WorkerCall, WorkerFailure, told_by_worker
from longwire.workers.home import OnLost, WorkersHome
from longwire.workers.signs_of_life import DOUBT_SECONDS, PONG_SECONDS, SignsOfLife

logger: Final = logging.getLogger(__name__)

_MOST_UNSENT: Final = 64 << 20  # bytes that a worker may leave unread
# What clients are told. The log says which worker it was, and what it did.
_ENDED: Final = "the program that ran this call ended before it answered: call again"
_BROKEN: Final = "the program that ran this call sent what can't be used, and was ended: call again"


class WorkerLink(FrameConnection):
    """The runtime's end of a connection to one worker."""

    def __init__(self, home: WorkersHome, label: str, lost: OnLost, leaves: Callable[[str], None]) -> None:
        """`leaves` is told why the worker takes no more calls."""
        super().__init__()
        self.label = label
        self._home = home
        self._lost = lost
        self._leaves = leaves
        self._plan = home.plan
        self._counters = home.counters
        self._frames: deque[Any] = deque()  # received, and waiting while the link is held
        self._holds = 0  # how many callers hold it, so that no more is read
        self._calls: dict[str, WorkerCall] = {}  # in the order in which they were sent
        self._last = 0  # the number of the last call, which is its id
        self._written = 0  # the number of the last one that was written to the socket
        self._read = 0  # the number of the last call that the worker has surely read
        self.life = SignsOfLife()
        # Calls that are over for their clients, but for the worker only when it answers them or this ping.
        self._owed: dict[str, int] = {}
        self._overdue = False  # one of them took too long
        self._timer: asyncio.TimerHandle | None = None
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
        if self.hello is None or not self._has_room.is_set() or self.life.doubted or self._holds:
            return 0
        return self.hello.max_in_flight - self.in_flight

    def has_room(self, waiting: int) -> bool:
        """Whether another call may be sent, while so many wait.

        Calls that a hanging worker has not read are lost with it. So a worker is sent one call, or where many
        wait half of them in one write, and more once it has read these.
        """
        unread = self._last - self._read
        if unread and (self._written > self._read or unread > waiting):
            return False
        return self.spare > 0

    @property
    def is_open(self) -> bool:
        return self.hello is not None

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
            self.life.heard = call.began  # before it had no reason to say anything
        self._calls[name] = call
        self.write(frame)

    def withdraw(self, call: WorkerCall, reason: str) -> None:
        """Tell the worker that a call is over for its client. Its outcome will be dropped."""
        if self._calls.pop(call.link_id, None) is not None:
            self._cancel(call.link_id, reason)
            self._one_less()

    def _cancel(self, name: str, reason: str) -> None:
        """Cancel a call, and ask when the worker has read that: it need not answer such a call."""
        self.write(writing.envelope(envelopes.Cancel(name, reason)))
        self._owed[name] = self.life.pings + 1
        self.life.asked = self.life.asked or self._loop.time()
        if not self.life.awaited:
            self._ping()

    def _ping(self) -> None:
        self.write(writing.envelope(envelopes.Ping(self.life.ping(self._last))))

    def ask(self) -> None:
        """Ask the worker to confirm that it has read its last call, since another one waits.

        This doesn't check whether the worker lives: it may be long at work on that call.
        """
        if not self.life.awaited and self._read < self._last and self.spare > 0:
            self._ping()

    def respond(self, call: WorkerCall, jsonrpc: bytes) -> None:
        """Send the client's answer to a request of a call that still runs."""
        if call.link_id in self._calls:
            try:
                self.write(writing.response(call.link_id, jsonrpc))
            except FrameError as error:
                logger.warning("an answer of a client is too long for worker %s: %s", self.label, error)

    def drain(self) -> None:
        """Ask the worker to finish what runs. Calls that would never end by themselves fail."""
        self.write(writing.envelope(envelopes.Drain()))
        sentence = "the program that runs this call is being replaced: call again"
        for name, call in list(self._calls.items()):
            if call.endless:
                self.write(writing.envelope(envelopes.Cancel(name, sentence)))
                self._end(name, WorkerFailure("worker_lost", sentence))

    def _flush(self) -> None:
        self._written = self._last
        super()._flush()
        transport = self._transport
        if transport is not None and transport.get_write_buffer_size() > _MOST_UNSENT:
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
            self._home.freed()

    # ---- the connection ---------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.life.heard = self._loop.time()
        own = own_names()
        self.write(writing.runtime_hello(own.name, own.version, self.label, self._home.cluster))
        self._look_later()

    def data_received(self, data: bytes) -> None:
        doubted = self.life.doubted
        try:
            texts = self._decoder.texts(data)
            self.life.note(self._loop.time(), bool(texts), self._decoder.partial)
            for text in texts:  # all of them before the first is taken, which is quicker: see TurnsEnd
                self._frames.append(from_worker(text))
        except FrameError as error:
            self._take_frames()  # those before it
            self.fail("worker_protocol", f"it broke the contract: {error}")
        self._take_frames()
        if doubted and not self.life.doubted and not self._ended:
            logger.info("worker %s answers again", self.label, extra={"event": "worker_answers"})
            self._home.freed()

    def _take_frames(self) -> None:
        while self._frames and not self._holds and not self._ended:
            try:
                self._take(self._frames.popleft())
            except Exception:  # the runtime's own fault: other calls go on
                logger.exception("a frame of worker %s could not be processed", self.label)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._home.freed()

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
        self._lost(failure, is_end)
        told = failure._replace(detail=f"worker {self.label} is lost: {failure.logged}")
        for call in calls.values():
            try:
                call.ended(told)
            except Exception:  # or the others would never end
                logger.exception("a call of worker %s could not be ended", self.label)

    # ---- receiving --------------------------------------------------------------------------

    def _take(self, found: Any) -> None:
        take = _EVENTS.get(type(found))
        if self.hello is None and type(found) is not WorkerHello:
            self.fail("worker_protocol", "it broke the contract: it did not begin with 'hello'")
        elif take is None:
            self._counters["unknown_event"] += 1
        else:
            take(self, found)

    def _greet(self, hello: WorkerHello) -> None:
        if self.hello is not None:
            self.fail("worker_protocol", "it broke the contract: it said 'hello' twice")
        elif hello.contract != CONTRACT:
            said = hello.contract
            self.fail("worker_protocol", f"it speaks version {said} of the contract, not {CONTRACT}")
        else:
            self.hello = hello
            self.greeted.set_result(hello)

    def _came(self, name: str, messages: list[dict[str, Any]]) -> None:
        call = self._calls.get(name)
        if call is None:
            self._count_stray(name)
        else:
            call.came(messages)
            self._has_read(int(name))

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
            self._home.freed()

    def _one_less(self) -> None:
        if not self._calls:
            self.idle.set()
        self._home.freed()

    def _count_stray(self, name: str) -> None:
        """Count a frame about a call that isn't waited for."""
        was_sent = name.isascii() and name.isdigit() and len(name) < 20 and 0 < int(name) <= self._last
        self._counters["late" if was_sent else "unknown_id"] += 1

    def _notify(self, found: Notify) -> None:
        storing = self._home.on_notify(found, partial(self._answer_notify, found.id))
        if storing is not None:
            self.hold()
            storing.add_done_callback(lambda _: self.release())

    def _answer_notify(self, name: str | None, outcome: envelopes.NotifyOutcome) -> None:
        if name is not None and self.is_open:
            self.write(writing.envelope(envelopes.Notified(name, outcome)))

    def _pong(self, found: Pong) -> None:
        """Note that the worker has read all calls before the ping, and that those it cancelled are over."""
        life = self.life
        number = life.awaited
        if not life.is_awaited(found.id):
            return
        self._has_read(life.calls_before)
        if self._owed:
            self._owed = {name: ping for name, ping in self._owed.items() if ping > number}
            if self._owed:
                self._ping()
            self._settled()

    def _settled(self) -> None:
        """Note that a call which nobody waits for is over for the worker, too."""
        self._overdue = self._overdue and bool(self._owed)
        self._home.freed()

    # ---- time -------------------------------------------------------------------------------

    def _look_later(self) -> None:
        plan = self._plan
        seconds = self.life.look_after(plan.call_seconds, plan.ping_seconds, plan.silent_seconds)
        self._timer = self._loop.call_later(seconds, self._look)

    def _look(self) -> None:
        now, life = self._loop.time(), self.life
        if self._holds:  # it can't be heard
            life.note(now, True, self._decoder.partial)
        # A worker that runs calls may read the ping only after them.
        is_busy = bool(self._calls or self._owed) and not self._overdue
        patience = self._plan.silent_seconds if is_busy else PONG_SECONDS
        if (problem := life.broken(now, self.hello is not None)) is not None:
            self.fail("worker_protocol", problem)
        elif life.asked is not None and now - life.asked > patience:
            self.fail("worker_lost", f"it did not answer within {patience:g} s whether it is alive")
        elif self.hello is not None:
            late = self._give_up_late(now)
            if life.asked is None and now - life.heard > self._plan.ping_seconds:
                life.asked = now
                self._ping()
            is_late = late or (life.asked is not None and now - life.asked > DOUBT_SECONDS)
            if is_late and not life.doubted:
                life.doubted = True
                sentence = "worker %s does not say whether it is alive: it gets no calls until it does"
                fields = {"event": "worker_silent", "worker": self.label}
                logger.warning(sentence, self.label, extra=fields)
        if not self._ended:
            self._look_later()

    def _give_up_late(self, now: float) -> bool:
        """Fail the calls that take too long; whether there were any."""
        late = []
        for name, call in self._calls.items():
            if not call.endless:
                if now - call.began <= self._plan.call_seconds:
                    break
                late.append(name)
        seconds = f"{self._plan.call_seconds:g} s"
        for name in late:
            self._counters["worker_timeout"] += 1
            self._cancel(name, f"it was not answered within {seconds}")
            self._overdue = True
            detail = f"worker {self.label} did not answer within {seconds}"
            sentence = f"the call was not answered within {seconds}, and was ended"
            self._end(name, WorkerFailure("worker_timeout", sentence, detail))
        return bool(late)


_EVENTS: Final[Mapping[type, Callable[[WorkerLink, Any], None]]] = {
    WorkerHello: WorkerLink._greet,
    envelopes.Messages: lambda link, found: link._came(found.id, found.messages),
    envelopes.Result: lambda link, found: link._end(found.id, found),
    envelopes.Failure: lambda link, found: link._end(
        found.id, told_by_worker(found.error_class, found.error)
    ),
    envelopes.CloseStream: lambda link, found: link._came(found.id, [{"close": found.stream}]),
    Notify: WorkerLink._notify,
    Pong: WorkerLink._pong,
    envelopes.Bye: lambda link, found: link._leaves(found.reason),
}
