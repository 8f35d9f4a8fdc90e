"""A client at a socket or at two descriptors: bytes in, framed messages, bytes out.

What isn't a message is answered with an error and the connection goes on, as long as it is clear where the
next message begins. Who begins a message and doesn't end it, or doesn't read what it is sent, is dropped.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final

import anyio
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, JSONRPCError, JSONRPCRequest, JSONRPCResponse

from acuity.mcp.embedded.agreed import Agreed
from acuity.mcp.embedded.front_limits import FrontLimits
from acuity.mcp.embedded.hanging_up import hung_up
from acuity.mcp.embedded.inbox import Inbox
from acuity.mcp.embedded.mixed import serve_mixed
from acuity.mcp.embedded.presence import Presence
from acuity.mcp.embedded.quick import QuickAnswers
from acuity.mcp.wire.connection import InFlight
from acuity.mcp.wire.framing import Fault, Frame, Framing
from acuity.mcp.wire.messages import Refused, encode, error_message, parse
from acuity.mcp.wire.stream import LINGER

logger: Final = logging.getLogger(__name__)

_AT_ONCE: Final = 16  # messages that one client has handled in one turn of the event loop
_LOOK: Final = 0.25  # seconds between looks at whether a client that sends no more still reads


class LineConnection(asyncio.Protocol):
    """One client. Quick answers are written where the question was read; all else goes to the SDK."""

    def __init__(
        self,
        server: Server[Any],
        quick: QuickAnswers,
        framing: Framing,
        limits: FrontLimits,
        *,
        name: str,
        lifespan_state: Any,
        presence: Presence,
        on_end: Callable[[LineConnection], None],
    ) -> None:
        self._server = server
        self._quick = quick
        self._framing = framing
        self._limits = limits
        self._name = name
        self._lifespan_state = lifespan_state
        self._presence = presence
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._agreed = Agreed(client=name)
        self._in_flight = InFlight()
        self._inbox = Inbox()
        self._backlog: deque[Frame] = deque()  # read already, but the client has enough in flight
        self._serving = anyio.CancelScope()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writable = asyncio.Event()
        self._writable.set()
        self._ended = self._gone = self._served = self._waiting = self._paused = False
        self._read_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport

    # What the event loop tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self._limits.budget is not None:
            self._limits.budget.enter(self._name)
        self._start(self._serve())

    def data_received(self, data: bytes) -> None:
        self._presence.heard(self)
        self._take(self._framing.feed(data))

    def eof_received(self) -> bool:
        self._take(self._framing.end())
        if not self._ended:
            self._ended = True
            self._start(self._answer_what_was_asked())
        return True  # it may still read

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone = self._ended = True
        if self._limits.budget is not None:
            self._limits.budget.leave(self._name)
        self._backlog.clear()
        self._writable.set()
        self._stop_timers()
        self._serving.cancel()
        if self._served:
            self._on_end(self)

    def pause_writing(self) -> None:
        self._writable.clear()
        self._write_timer = self._loop.call_later(self._limits.write_timeout, self._drop)
        self._regulate()

    def resume_writing(self) -> None:
        self._writable.set()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None
        self._pump()

    # Life and death.

    async def _serve(self) -> None:
        try:
            with self._serving:
                await serve_mixed(
                    self._server,
                    self._inbox,
                    Outbox(self),
                    self._agreed,
                    name=self._name,
                    lifespan_state=self._lifespan_state,
                )
        except Exception:  # one client's trouble is not the others'
            logger.exception(
                "a connection failed", extra={"event": "connection_failed", "client": self._name}
            )
        finally:
            self._ended = self._served = True
            self._stop_timers()
            self._transport.close()
            for task in self._tasks - {asyncio.current_task()}:
                task.cancel()
            if self._gone:
                self._on_end(self)
            else:  # the last answers may still have to be written
                self._write_timer = self._loop.call_later(self._limits.write_timeout, self._drop)

    def finish(self, linger: float = LINGER) -> None:
        """Read no more; what was asked has that many seconds to be answered."""
        if not self._ended:
            self._ended = True
            self._backlog.clear()
            self._regulate()
            self._start(self._end_within(linger))

    def abort(self) -> None:
        """End at once."""
        self._transport.abort()

    async def _end_within(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._in_flight.fewer_than(1)
        self._inbox.end()

    async def _answer_what_was_asked(self) -> None:
        """As long as it takes, if the client still reads."""
        self._regulate()
        while (self._backlog or self._in_flight) and not self._gone:
            with anyio.move_on_after(_LOOK):
                await self._in_flight.fewer_than(1)
                await self._writable.wait()
            self._pump()
            if hung_up(self._transport):
                break
        self._inbox.end()

    def _drop(self) -> None:
        reason = f"nothing read for {self._limits.write_timeout:g} s"
        logger.info("dropped a client: %s", reason, extra={"event": "client_dropped", "client": self._name})
        self._transport.abort()

    def _too_slow(self) -> None:
        self._read_timer = None
        seconds = self._limits.read_timeout
        self.write(encode(error_message(INVALID_REQUEST, f"the message took more than {seconds:g} seconds")))
        self.finish()

    def _start(self, work: Any) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _stop_timers(self) -> None:
        for timer in (self._read_timer, self._write_timer):
            if timer is not None:
                timer.cancel()
        self._read_timer = self._write_timer = None

    # From the client.

    def _take(self, frames: list[Frame]) -> None:
        if self._ended:
            return
        if frames and self._read_timer is not None:  # what has begun now is another message
            self._read_timer.cancel()
            self._read_timer = None
        self._backlog.extend(frames)
        self._pump()

    def _pump(self) -> None:
        """Handle what was read, as far as the client has room for more, and others their turn."""
        most = self._limits.requests
        for _ in range(_AT_ONCE):
            if not self._backlog or max(len(self._in_flight), len(self._inbox)) >= most:
                break
            if not self._writable.is_set():
                break
            self._handle(self._backlog.popleft())
        if self._backlog and not self._waiting:
            self._waiting = True
            self._start(self._wait_for_room())
        self._regulate()

    def _handle(self, frame: Frame) -> None:
        if isinstance(frame, Fault):
            code = PARSE_ERROR if frame.lost else INVALID_REQUEST
            self.write(encode(error_message(code, frame.reason)))
            if frame.lost:
                self.finish()
            return
        try:
            message = parse(frame)
            quick = self._quick.answer(message, self._agreed, self._in_flight)
            if quick is not None:
                self.write(quick)
                return
            noted = self._in_flight.noted(message)
        except Refused as refused:
            self.write(encode(refused.answer()))
            return
        if isinstance(message, JSONRPCRequest) and message.method == "initialize":
            self._agreed.shaking += 1
        self._inbox.put(noted)

    async def _wait_for_room(self) -> None:
        await asyncio.sleep(0)  # one turn for everybody else
        await self._in_flight.fewer_than(self._limits.requests)
        await self._writable.wait()
        self._waiting = False
        self._pump()

    def _regulate(self) -> None:
        """Read on only if the client can be served, and not for ever at the same message."""
        pause = self._ended or bool(self._backlog) or not self._writable.is_set()
        if pause != self._paused:
            self._paused = pause
            if not self._transport.is_closing():
                (self._transport.pause_reading if pause else self._transport.resume_reading)()
        slow = self._framing.waiting and not pause
        if slow and self._read_timer is None:
            self._read_timer = self._loop.call_later(self._limits.read_timeout, self._too_slow)
        elif not slow and self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None

    # To the client.

    def write(self, payload: bytes) -> None:
        self._transport.write(self._framing.wrap(payload))

    async def send(self, item: SessionMessage) -> None:
        if self._gone:
            raise anyio.BrokenResourceError
        message = item.message
        self.write(encode(message))
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            self._in_flight.end(message.id)
        await self._writable.wait()


class Outbox:
    """The stream of outgoing messages as the SDK writes it."""

    def __init__(self, connection: LineConnection) -> None:
        self._connection = connection

    async def send(self, item: SessionMessage) -> None:
        await self._connection.send(item)

    async def aclose(self) -> None:
        pass  # the connection closes itself when its serving has ended

    async def __aenter__(self) -> Outbox:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
