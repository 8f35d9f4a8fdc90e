"""Messages between the server and a worker: one byte of kind, four of length, then JSON.

`encode` and `MessageDecoder` convert messages to bytes and back without I/O. Both ends check the length of a
message against the limit of its kind before they store any of it. `Channel` is the server's end.
"""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, cast

from acuity.foreign_json import parse_json
from longwire.length_prefix import LengthPrefix

_HEADER: Final = struct.Struct(">BI")


class Kind(IntEnum):
    """The kind of a message. The first two go to the worker, the others come from it."""

    SETUP = 1  # its limits and tasks, once, before anything else
    JOB = 2  # {"task", "payload"}
    READY = 3  # {}: its imports are done
    STARTED = 4  # {}: it has taken the job it was sent
    PROGRESS = 5  # {"done", "total", "message", "details"}
    RESULT = 6  # the task's document; the last message of a job, as FAILURE is
    FAILURE = 7  # {"kind", "sentence", "trace"}; a sentence is a list of text and remedies


LIMITS: Final = {
    Kind.SETUP: 1 << 20,
    Kind.JOB: 16 << 20,
    Kind.READY: 64,
    Kind.STARTED: 64,
    Kind.PROGRESS: 64 << 10,
    Kind.RESULT: 256 << 20,
    Kind.FAILURE: 256 << 10,
}


class WireError(Exception):
    """The other end sent bytes that are no valid message, or a message is too long."""


@dataclass(frozen=True, slots=True)
class Message:
    """A complete message. Its body stays in pieces, so that a thread can join a long one."""

    kind: Kind
    pieces: tuple[bytes, ...]

    def text(self) -> str:
        try:
            return b"".join(self.pieces).decode()
        except UnicodeDecodeError as error:
            raise WireError(f"a {self.kind.name} message that isn't UTF-8") from error

    def value(self) -> dict[str, Any]:
        """The JSON object inside; raises WireError."""
        try:
            value = parse_json(self.text())
        except ValueError as error:
            raise WireError(f"a {self.kind.name} message that isn't JSON: {error}") from error
        if not isinstance(value, dict):
            raise WireError(f"a {self.kind.name} message that holds no object")
        return value


def encode(kind: Kind, value: dict[str, Any]) -> bytes:
    """A message that holds a JSON object; raises WireError if too long, ValueError and TypeError."""
    return wrap(kind, json.dumps(value, allow_nan=False, separators=(",", ":")).encode())


def wrap(kind: Kind, body: bytes) -> bytes:
    """A message that holds JSON text; raises WireError if it is too long."""
    if len(body) > LIMITS[kind]:
        raise WireError(f"a {kind.name} message of {len(body)} bytes, more than {LIMITS[kind]}")
    return _HEADER.pack(kind, len(body)) + body


class MessageDecoder:
    """Turns bytes, in pieces of any size, back into messages."""

    def __init__(self) -> None:
        self._messages = LengthPrefix(_HEADER, _length)

    def feed(self, data: bytes) -> list[Message]:
        """The messages that these bytes complete; raises WireError, after which nothing can be read."""
        return [Message(Kind(head[0]), pieces) for head, pieces in self._messages.feed(data)]


def _length(head: tuple[int, int]) -> int:
    number, length = head
    try:
        kind = Kind(number)
    except ValueError:
        raise WireError(f"bytes that begin no message ({number})") from None
    if length > LIMITS[kind]:
        raise WireError(f"a {kind.name} message of {length} bytes, more than {LIMITS[kind]}")
    return length


class Channel(asyncio.Protocol):
    """The server's end of the connection. Calls `receive` for each message and `closed` once at the end.

    Messages may be sent before the connection is made: they wait for it.
    """

    def __init__(
        self, receive: Callable[[Message], None], closed: Callable[[WireError | None], None]
    ) -> None:
        self._receive = receive
        self._closed = closed
        self._decoder = MessageDecoder()
        self._transport: asyncio.Transport | None = None
        self._unsent: list[bytes] = []
        self._reason: WireError | None = None
        self._ended = False

    def send(self, message: bytes) -> None:
        if self._transport is None:
            self._unsent.append(message)
        else:
            self._transport.write(message)

    def close(self) -> None:
        self._ended = True
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._ended:
            self._transport.abort()
            return
        for message in self._unsent:
            self._transport.write(message)
        self._unsent.clear()

    def data_received(self, data: bytes) -> None:
        if self._ended:
            return
        try:
            for message in self._decoder.feed(data):
                self._receive(message)
        except WireError as error:
            self._reason = error
            self.close()

    def connection_lost(self, _: Exception | None) -> None:
        self._ended = True
        closed = self._closed
        self._receive = self._closed = _ignore  # breaks the reference cycle with the owner
        closed(self._reason)


def _ignore(_: object) -> None:
    pass
