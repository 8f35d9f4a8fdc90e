"""One client's connection over a byte stream: stdin and stdout, or a socket.

What isn't a message is answered with an error and the connection goes on, as long as it is clear where the
next message begins. A client that doesn't read what it is sent is dropped, and its work with it.

A descriptor may be shared with the process that started us, so its flags stay as they are: instead of making
it non-blocking, it is asked each time whether it is ready, and never given more than it then surely takes.
"""

from __future__ import annotations

import logging
import os
import select
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol, TypeAlias

import anyio
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, JSONRPCRequest

from acuity.mcp.settings import Settings
from acuity.mcp.wire.connection import Answers, InFlight, serve_messages
from acuity.mcp.wire.framing import Fault, Frame, Framing
from acuity.mcp.wire.messages import Refused, encode, error_message, parse

CHUNK: Final = 65536


class ByteStream(Protocol):
    """The two directions of one connection."""

    async def receive(self) -> bytes:
        """Some bytes, or none at the end."""
        ...

    async def send(self, data: bytes) -> None:
        """Write all of it; raises OSError if nobody reads any more."""
        ...


class Descriptors:
    """A connection over two descriptors, which may be the same one. It closes neither.

    `most` is what may be written at once: more than a pipe surely takes is for those that never block.
    """

    def __init__(self, read: int, write: int, most: int = select.PIPE_BUF) -> None:
        self._read = read
        self._write = write
        self._most = most
        self._read_waits = _can_wait(read)
        self._write_waits = _can_wait(write)
        self._writable = select.poll()
        self._writable.register(write, select.POLLOUT)

    async def receive(self) -> bytes:
        while True:
            if self._read_waits:
                await anyio.wait_readable(self._read)
            else:
                await anyio.lowlevel.checkpoint()
            try:
                return os.read(self._read, CHUNK)
            except BlockingIOError:  # another process that shares it was faster
                continue
            except ConnectionError:  # who is gone sends no more
                return b""

    async def send(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            if self._write_waits and not self._writable.poll(0):
                await anyio.wait_writable(self._write)
            try:
                rest = rest[os.write(self._write, rest[: self._most]) :]
            except BlockingIOError:
                await anyio.wait_writable(self._write)


def _can_wait(descriptor: int) -> bool:
    """Whether the system tells when it is ready; files and /dev/null always are."""
    with select.epoll() as probe:
        try:
            probe.register(descriptor, select.EPOLLIN)
        except PermissionError:
            return False
    return True


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
