"""A connection to a worker as the runtime has one, with its calls; each frame is held to its schema.

Cases are made of such connections: `Bench` has the worker under test, its capabilities and tools.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, TypeAlias

from jsonschema import Draft202012Validator

from longwire.contract import writing
from longwire.contract.envelopes import Notified, Ping, schemas
from longwire.contract.frames import FrameConnection, FrameError, decode

HANDSHAKE: Final = "2025-11-25"
STATELESS: Final = "2026-07-28"
METHOD_NOT_FOUND: Final = -32601
SESSION: Final[dict[str, Any]] = {"state": {}, "initialized": True}
CLIENT: Final[dict[str, Any]] = {"name": "longwire worker-check", "version": "1"}
_ABLE: Final[dict[str, Any]] = {"elicitation": {}, "sampling": {}, "roots": {}}
_HEADERS: Final = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "host": "localhost",
}
_HELLO_SECONDS: Final = 5.0  # the contract's time for a worker's hello
_CHECKS: Final = {event: Draft202012Validator(schema) for event, schema in schemas("worker").items()}
LAST: Final = ("result", "error")  # the events that end a call


class Failed(Exception):
    """The worker doesn't do what a case requires."""


class Answer(NamedTuple):
    """All frames of a call: the messages before its last frame, and that one."""

    messages: list[dict[str, Any]]  # notifications and requests, in their order
    last: dict[str, Any]

    @property
    def reply(self) -> dict[str, Any]:
        """The reply of JSON-RPC; raises Failed if there is none."""
        if self.last["event"] == "error":
            raise Failed(f"the call ended with the error '{self.last.get('error')}' instead of a reply")
        if not self.last.get("handled", True):
            return {"error": {"code": METHOD_NOT_FOUND, "message": "not handled"}}
        reply = self.last.get("jsonrpc")
        if not isinstance(reply, dict):
            raise Failed("the last frame of a request has no reply in 'jsonrpc'")
        return reply

    @property
    def result(self) -> dict[str, Any]:
        """The result of the reply; raises Failed if it is an error."""
        found = self.reply.get("result")
        if not isinstance(found, dict):
            raise Failed(f"the reply is the error {self.reply.get('error')}")
        return found


class Probe(FrameConnection):
    """The runtime's end of a connection, for one case."""

    principal: Mapping[str, Any] = {"key": "token:check", "scopes": [], "tools": None}

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[str] = []  # of frames, in a sentence each
        self.seconds = 10.0  # for one answer of the worker
        self.hello: dict[str, Any] = {}
        self.closed = False
        self._frames: list[dict[str, Any]] = []
        self._changed = asyncio.Event()
        self._numbers = itertools.count(1)

    @classmethod
    async def connect(cls, path: Path, seconds: float) -> Self:
        """A connection without a hello; raises OSError."""
        _, probe = await asyncio.get_running_loop().create_unix_connection(cls, str(path))
        probe.seconds = seconds
        return probe

    # ---- sending ----------------------------------------------------------------------------

    def send(self, *frames: bytes) -> None:
        """Send frames in one piece."""
        if self._transport is not None:
            self._transport.write(b"".join(frames))

    def send_document(self, document: Mapping[str, Any]) -> None:
        self.send(writing.encode(document))

    def respond(self, call: str, reply: Mapping[str, Any]) -> None:
        """Send the client's reply to a request of a call."""
        self.send(writing.response(call, writing.json_text({"jsonrpc": "2.0", **reply})))

    async def greet(self) -> None:
        self.send(writing.runtime_hello("longwire worker-check", "1", "check"))
        self.hello = await self.wait_for("hello", seconds=_HELLO_SECONDS)

    async def ping(self) -> None:
        name = f"p{next(self._numbers)}"
        self.send(writing.envelope(Ping(name)))
        await self.wait_for("pong", call=name)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def begin(
        self,
        method: str,
        params: Any = None,
        *,
        request_id: Any = 1,
        session: Mapping[str, Any] | None = SESSION,
        session_id: str = "check-session",
        version: str = HANDSHAKE,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> str:
        """Send a message; the id of its call. Without a `request_id` it is a notification."""
        call = str(next(self._numbers))
        jsonrpc: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if request_id is not None:
            jsonrpc["id"] = request_id
        if params is not None:
            jsonrpc["params"] = params
        document: dict[str, Any] = {
            "mode": "mcp",
            "event": "message",
            "id": call,
            "session_id": None if session is None else session_id,
            "transport": "streamable_http",
            "http_method": "POST",
            "path": "/mcp",
            "protocol_version": version,
            "headers": {**_HEADERS, "mcp-protocol-version": version, **(headers or {})},
            "principal": self.principal,
            "client": {"info": CLIENT, "capabilities": _ABLE},
            "session": session,
            "jsonrpc": jsonrpc,
            **(extra or {}),
        }
        self.send_document(document)
        return call

    def begin_tool(
        self, name: str, arguments: Any = None, *, meta: Any = None, params: Any = None, **options: Any
    ) -> str:
        """Send a call of a tool; `params` are further ones."""
        named = {"name": name, "arguments": arguments or {}, **(params or {})}
        if meta is not None:
            named["_meta"] = meta
        return self.begin("tools/call", named, **options)

    async def call(self, method: str, params: Any = None, **options: Any) -> Answer:
        """A request and all that comes of it."""
        return await self.answer(self.begin(method, params, **options))

    async def tool(self, name: str, arguments: Any = None, **options: Any) -> Answer:
        """A call of a tool and all that comes of it."""
        return await self.answer(self.begin_tool(name, arguments, **options))

    async def initialize(self) -> Answer:
        params = {"protocolVersion": HANDSHAKE, "capabilities": _ABLE, "clientInfo": CLIENT}
        return await self.call("initialize", params, session=None)

    # ---- receiving --------------------------------------------------------------------------

    async def wait_for(
        self, *events: str, call: str | None = None, seconds: float | None = None
    ) -> dict[str, Any]:
        """The next frame of one of these events (and of that call), taken out; raises Failed."""
        wanted = f"'{' or '.join(events)}'" + (f" for call '{call}'" if call is not None else "")
        limit = self.seconds if seconds is None else seconds
        try:
            async with asyncio.timeout(limit):
                while True:
                    for place, found in enumerate(self._frames):
                        if found.get("event") in events and (call is None or found.get("id") == call):
                            return self._frames.pop(place)
                    if self.closed:
                        raise Failed(f"the worker closed the connection instead of sending {wanted}")
                    await self._change()
        except TimeoutError:
            raise Failed(f"the worker sent no {wanted} within {limit:g} s") from None

    async def answer(self, call: str) -> Answer:
        """Everything that comes of a call, up to its last frame."""
        messages: list[dict[str, Any]] = []
        while True:
            found = await self.wait_for("messages", *LAST, call=call)
            messages += [entry["data"] for entry in found.get("messages") or ()]
            if found["event"] in LAST:
                return Answer(messages, found)

    async def asked(self, call: str) -> dict[str, Any]:
        """The next request or notification of a call that runs."""
        sent = await self.wait_for("messages", call=call)
        found: dict[str, Any] = sent["messages"][0]["data"]
        return found

    async def ended(self, seconds: float) -> bool:
        """Whether the worker closes the connection within that time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self.closed:
                    await self._change()
        return self.closed

    def left(self, call: str) -> list[dict[str, Any]]:
        """Frames of a call that nobody has taken."""
        return [found for found in self._frames if found.get("id") == call]

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    # ---- for the event loop -----------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        try:
            for text in self._decoder.texts(data):
                self._received(decode(text))
        except FrameError as error:
            self.problems.append(f"the worker sent {error}")
            self.close()
        self._changed.set()

    def connection_lost(self, _: Exception | None) -> None:
        self.closed = True
        self._transport = None
        if self._decoder.partial:
            self.problems.append("the worker closed the connection in the middle of a frame")
        self._changed.set()

    def _received(self, document: dict[str, Any]) -> None:
        event = document.get("event")
        check = _CHECKS.get(event) if isinstance(event, str) else None
        if check is None:
            self.problems.append(f"the worker sent a frame with the event {event!r}, which there is not")
            return
        error = next(iter(check.iter_errors(document)), None)
        if error is not None:
            place = ".".join(str(part) for part in error.absolute_path) or "frame"
            self.problems.append(f"in a '{event}' frame, '{place}' is wrong: {error.message[:200]}")
        self._frames.append(document)
        if event == "notify" and isinstance(document.get("id"), str):
            self.send(writing.envelope(Notified(document["id"], "delivered")))


class Skipped(Exception):
    """The worker doesn't offer what a case needs."""


class Bench:
    """The worker at one socket."""

    def __init__(self, path: Path, seconds: float) -> None:
        self.path = path
        self.seconds = seconds  # for one answer
        self.capabilities: dict[str, Any] = {}  # these two: as the worker said in its handshake
        self.tools: set[str] = set()
        self._probes: list[Probe] = []

    async def connect(self) -> Probe:
        """A new connection, after the hellos."""
        probe = await self.open()
        await probe.greet()
        return probe

    async def open(self) -> Probe:
        """A new connection that has said nothing."""
        try:
            probe = await Probe.connect(self.path, self.seconds)
        except OSError as error:
            raise Failed(f"nobody can be reached at '{self.path}': {error.strerror or error}") from None
        self._probes.append(probe)
        return probe

    def need_capability(self, name: str) -> None:
        """Skip the case unless the server has this capability."""
        if name not in self.capabilities:
            raise Skipped(f"the worker doesn't declare the capability '{name}'")

    async def prove_alive(self) -> None:
        """Fail unless a new connection is answered."""
        try:
            await (await self.connect()).ping()
        except Failed as failed:
            raise Failed(f"afterwards the worker can't be used: {failed}") from None

    def end_case(self) -> list[str]:
        """Close all connections; the problems of their frames."""
        problems = [problem for probe in self._probes for problem in probe.problems]
        for probe in self._probes:
            probe.close()
        self._probes.clear()
        return problems


Run: TypeAlias = Callable[[Bench, Probe], Awaitable[None]]


class Case(NamedTuple):
    """One requirement of the contract, in a sentence, and how it is tried."""

    name: str
    requires: str
    run: Run  # is given a new connection, too
    needs: str = ""  # a tool, as the documentation describes it; without it the case is skipped
    greeted: bool = True  # False: nothing was said on that connection


def texts(result: Mapping[str, Any]) -> str:
    """All text in the content of a tool's result."""
    content = result.get("content")
    if not isinstance(content, list):
        raise Failed("the result of a tool has no array 'content'")
    return "\n".join(str(block.get("text", "")) for block in content if isinstance(block, dict))


def require(condition: object, sentence: str) -> None:
    """Fail with a sentence unless the condition holds."""
    if not condition:
        raise Failed(sentence)
