"""A stream of bytes served as one client's connection: stdin and stdout, or a socket.

What isn't a message is answered with an error and the connection goes on, as long as it is clear where the
next message begins. A client that doesn't read what it is sent is dropped, and its work with it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, JSONRPCRequest

from acuity.mcp.settings import Settings
from acuity.mcp.transports.connection import Answers, serve_messages
from acuity.mcp.transports.descriptors import ByteStream
from acuity.mcp.transports.framing import Fault, Frame, Framing
from acuity.mcp.transports.in_flight import InFlight
from acuity.mcp.transports.messages import Refused, encode, error_message, parse

logger: Final = logging.getLogger(__name__)

LINGER: Final = 0.5  # seconds that calls may still take after the end of input: enough for the quick ones
FLUSH: Final = 2 * LINGER  # seconds for the last answers to be written when the server ends

_Sender: TypeAlias = MemoryObjectSendStream[SessionMessage]
_Incoming: TypeAlias = MemoryObjectSendStream[SessionMessage | Exception]


async def serve_stream(
    server: Server[Any],
    stream: ByteStream,
    framing: Framing,
    settings: Settings,
    *,
    name: str,
    lifespan_state: Any,
    ending: anyio.Event,
) -> None:
    """Answer a client until its bytes end, it can't be written to any more, or the server is ending."""
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception]()
    write, outgoing = anyio.create_memory_object_stream[SessionMessage]()
    in_flight = InFlight()
    async with anyio.create_task_group() as connection:
        reader = _Reader(stream, framing, incoming, write.clone(), in_flight, settings)
        connection.start_soon(reader.run)
        connection.start_soon(_finish, reader, ending)
        async with anyio.create_task_group() as writing:
            drop = connection.cancel_scope.cancel
            writing.start_soon(_write, stream, framing, outgoing, settings.write_timeout, name, drop)
            answers = Answers(write, in_flight)
            await serve_messages(server, read, answers, name=name, lifespan_state=lifespan_state)
            reader.finish()
        connection.cancel_scope.cancel()


async def _finish(reader: _Reader, ending: anyio.Event) -> None:
    await ending.wait()
    reader.finish()


class _Reader:
    """Turns bytes into messages for the server, or into errors for the client."""

    def __init__(
        self,
        stream: ByteStream,
        framing: Framing,
        incoming: _Incoming,
        answers: _Sender,
        in_flight: InFlight,
        settings: Settings,
    ) -> None:
        self._stream = stream
        self._framing = framing
        self._incoming = incoming
        self._answers = answers
        self._in_flight = in_flight
        # Those that run, and as many that are being refused: more means that answers aren't read.
        self._most = 2 * settings.calls_each
        self._reading = anyio.CancelScope()

    def finish(self) -> None:
        """Read no more; what was read is answered."""
        self._reading.cancel()

    async def run(self) -> None:
        with self._incoming, self._answers:
            try:
                with self._reading:
                    await self._read()
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # the server has stopped listening, or the writer has given up
            with anyio.move_on_after(LINGER):
                await self._in_flight.fewer_than(1)

    async def _read(self) -> None:
        while data := await self._stream.receive():
            if await self._pass_on(self._framing.feed(data)):
                return
        await self._pass_on(self._framing.end())

    async def _pass_on(self, frames: Iterable[Frame]) -> bool:
        """Hand messages over; whether it is no longer known where the next one begins."""
        for frame in frames:
            if isinstance(frame, Fault):
                code = PARSE_ERROR if frame.lost else INVALID_REQUEST
                await self._answers.send(SessionMessage(error_message(code, frame.reason)))
                if frame.lost:
                    return True
                continue
            try:
                message = parse(frame)
                if isinstance(message, JSONRPCRequest):
                    await self._in_flight.fewer_than(self._most)
                noted = self._in_flight.noted(message)
            except Refused as refused:
                await self._answers.send(SessionMessage(refused.answer()))
            else:
                await self._incoming.send(noted)
        return False


async def _write(
    stream: ByteStream,
    framing: Framing,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    timeout: float,
    name: str,
    drop: Callable[[], None],
) -> None:
    """Send messages; a client that can't be sent any is dropped."""
    with outgoing:
        async for item in outgoing:
            try:
                with anyio.fail_after(timeout):
                    await stream.send(framing.wrap(encode(item.message)))
            except (OSError, TimeoutError) as error:
                reason = f"nothing read for {timeout:g} s" if isinstance(error, TimeoutError) else "gone"
                logger.info("dropped a client: %s", reason, extra={"event": "client_dropped", "client": name})
                drop()
                return
