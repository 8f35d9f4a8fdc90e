"""One client connection over a byte stream: a socket, or a pair of descriptors.

Bytes that are no message are answered with an error, and the connection goes on as long as it is clear where
the next message begins. A client is dropped if it leaves a message unfinished or its answers unread for long.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Final, Literal, cast

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, JSONRPCRequest

from longwire.wire.descriptors import hung_up
from longwire.wire.framing import Frame, Framing, FramingFault
from longwire.wire.http.turns import LARGE
from longwire.wire.messages import RefusedMessage, encode, parse
from longwire.wire.serving import HANDSHAKE, Handshake, Serving, serve_messages
from longwire.wire.streams import Inbox, InFlight, Outbox
from longwire.wire.tasks import RunningTasks

logger: Final = logging.getLogger(__name__)

LINGER: Final = 0.5  # seconds that calls may still take when the server ends: enough for the quick ones
_AT_ONCE: Final = 16  # messages that one client has handled in one turn of the event loop
_LOOK: Final = 0.25  # seconds between looks at whether a client that sends no more still reads


class LineConnection(asyncio.Protocol):
    """The server's end of one connection. Quick answers are written at once; the SDK makes all others."""

    def __init__(
        self, serving: Serving, framing: Framing, *, name: str, on_end: Callable[[LineConnection], None]
    ) -> None:
        self._serving = serving
        self._limits = serving.limits
        self._framing = framing
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._handshake = Handshake(name)
        self._in_flight = InFlight()
        self._inbox = Inbox()
        self._backlog: deque[Frame] = deque()  # read already, but the client has enough in flight
        self._scope = anyio.CancelScope()
        self._tasks = RunningTasks()
        self._writable = asyncio.Event()
        self._writable.set()
        self._ended = self._gone = self._served = self._waiting = self._paused = False
        self._timers: dict[Literal["read", "write"], asyncio.TimerHandle] = {}
        self._transport: asyncio.Transport

    # ---- called by the event loop -----------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # as far as it is used here
        self._serving.accounts.enter(self._handshake.client)
        self._tasks.spawn(self._serve())

    def data_received(self, data: bytes) -> None:
        self._serving.presence.heard(self)
        self._take(self._framing.feed(data))

    def eof_received(self) -> bool:
        self._take(self._framing.end())
        if not self._ended:
            self._ended = True
            self._tasks.spawn(self._answer_the_rest())
        return True  # the client may still read

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone = self._ended = True
        self._serving.accounts.leave(self._handshake.client)
        self._backlog.clear()
        self._writable.set()
        self._stop_timing("read", "write")
        self._scope.cancel()
        if self._served:
            self._over()

    def pause_writing(self) -> None:
        self._writable.clear()
        self._timers["write"] = self._loop.call_later(self._limits.write_timeout, self._drop)
        self._regulate()

    def resume_writing(self) -> None:
        self._writable.set()
        self._stop_timing("read", "write")
        self._pump()  # which times a message that is incomplete

    # ---- from the first message to the last answer ------------------------------------------

    async def _serve(self) -> None:
        outbox = Outbox(self._send, self._in_flight)
        try:
            with self._scope:
                await serve_messages(self._serving, self._inbox, outbox, self._handshake)
        except Exception:  # other clients go on
            fields = {"event": "connection_failed", "client": self._handshake.client}
            logger.exception("a connection failed", extra=fields)
        finally:
            self._ended = self._served = True
            self._stop_timing("read", "write")
            self._transport.close()
            self._tasks.cancel()
            if self._gone:
                self._over()
            else:  # the last answers may still have to be written
                self._timers["write"] = self._loop.call_later(self._limits.write_timeout, self._drop)

    def _over(self) -> None:
        self._serving.presence.left(self)
        self._on_end(self)

    def finish(self) -> None:
        """Read no more; calls in flight have LINGER seconds to be answered."""
        if not self._ended:
            self._ended = True
            self._backlog.clear()
            self._regulate()
            self._tasks.spawn(self._end_soon())

    def abort(self) -> None:
        self._transport.abort()

    async def _end_soon(self) -> None:
        with anyio.move_on_after(LINGER):
            await self._in_flight.fewer_than(1)
        self._inbox.end()

    async def _answer_the_rest(self) -> None:
        """Answer what was asked before the end of input, as long as the client reads and the limits allow."""
        self._regulate()
        end = self._loop.time() + self._limits.linger
        while (self._backlog or self._in_flight) and not self._gone and (now := self._loop.time()) < end:
            with anyio.move_on_after(min(_LOOK, end - now)):
                await self._in_flight.fewer_than(1)
                await self._writable.wait()
            self._pump()
            if hung_up(self._transport):
                break
        self._inbox.end()

    def _drop(self) -> None:
        fields = {"event": "client_dropped", "client": self._handshake.client}
        logger.info("dropped a client: nothing read for %g s", self._limits.write_timeout, extra=fields)
        self._transport.abort()

    def _too_slow(self) -> None:
        said = f"the message took more than {self._limits.read_timeout:g} seconds"
        self._write(RefusedMessage(INVALID_REQUEST, said).payload)
        self.finish()

    def _stop_timing(self, *whats: Literal["read", "write"]) -> None:
        for what in whats:
            if (timer := self._timers.pop(what, None)) is not None:
                timer.cancel()

    # ---- reading ----------------------------------------------------------------------------

    def _take(self, frames: list[Frame]) -> None:
        if self._ended:
            return
        if frames:  # what has begun now is another message
            self._stop_timing("read")
        self._backlog.extend(frames)
        self._pump()

    def _pump(self) -> None:
        """Handle what was read, up to the limit in flight, a few messages in one turn of the event loop."""
        for _ in range(_AT_ONCE):
            if not self._backlog or not self._writable.is_set():
                break
            if max(len(self._in_flight), len(self._inbox)) >= self._limits.max_in_flight:
                break
            frame = self._backlog.popleft()
            self._handle(frame)
            if isinstance(frame, bytes) and len(frame) > LARGE:
                break  # one of these is enough for a turn
        if self._backlog and not self._waiting:
            self._waiting = True
            self._tasks.spawn(self._wait_for_room())
        self._regulate()

    def _handle(self, frame: Frame) -> None:
        if isinstance(frame, FramingFault):
            code = PARSE_ERROR if frame.lost else INVALID_REQUEST
            self._write(RefusedMessage(code, frame.reason).payload)
            if frame.lost:
                self.finish()
            return
        try:
            message = parse(frame)
            quick = self._serving.quick.answer(message, self._handshake, self._in_flight)
            if quick is not None:
                self._write(quick)
                return
            noted = self._in_flight.noted(message)
        except RefusedMessage as refused:
            self._write(refused.payload)
            return
        self._handshake.pending += isinstance(message, JSONRPCRequest) and message.method == HANDSHAKE
        self._inbox.put(noted)

    async def _wait_for_room(self) -> None:
        await asyncio.sleep(0)  # one turn for other clients
        await self._in_flight.fewer_than(self._limits.max_in_flight)
        await self._writable.wait()
        self._waiting = False
        self._pump()

    def _regulate(self) -> None:
        """Read on only while the client can be served, and time a message that is incomplete."""
        pause = self._ended or bool(self._backlog) or not self._writable.is_set()
        if pause != self._paused:
            self._paused = pause
            if not self._transport.is_closing():
                (self._transport.pause_reading if pause else self._transport.resume_reading)()
        incomplete = self._framing.waiting and not pause
        if not incomplete:
            self._stop_timing("read")
        elif "read" not in self._timers:
            self._timers["read"] = self._loop.call_later(self._limits.read_timeout, self._too_slow)

    # ---- writing ----------------------------------------------------------------------------

    def _write(self, payload: bytes) -> None:
        if not self._transport.is_closing():  # asyncio would log each answer to a client that has gone
            self._transport.write(self._framing.wrap(payload))

    async def _send(self, item: SessionMessage) -> None:
        if self._gone:
            raise anyio.BrokenResourceError
        self._write(encode(item.message))
        await self._writable.wait()
