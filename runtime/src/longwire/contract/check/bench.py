"""What cases are run with: connections to the worker, calls as the runtime sends them, and what it offers."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from longwire.contract import writing
from longwire.contract.check.probe import Answer, Failed, Probe

HANDSHAKE: Final = "2025-11-25"
STATELESS: Final = "2026-07-28"
METHOD_NOT_FOUND: Final = -32601
_PRINCIPAL: Final[dict[str, Any]] = {"key": "token:check", "scopes": [], "tools": None}
_HEADERS: Final = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "host": "localhost",
}
_CLIENT: Final[dict[str, Any]] = {
    "info": {"name": "longwire worker-check", "version": "1"},
    "capabilities": {"elicitation": {}, "sampling": {}, "roots": {}},
}
SESSION: Final[dict[str, Any]] = {"state": {}, "initialized": True}


class Skipped(Exception):
    """The worker doesn't offer what a case needs."""


@dataclass(slots=True)
class Offer:
    """What the worker said about itself in the first case."""

    capabilities: dict[str, Any] = field(default_factory=dict)
    tools: set[str] = field(default_factory=set)


class Bench:
    """The worker at one socket."""

    def __init__(self, path: Path, seconds: float) -> None:
        self.path = path
        self.seconds = seconds  # for one answer
        self.offer = Offer()
        self.problems: list[str] = []  # of frames, of the case that runs
        self._probes: list[Probe] = []
        self._numbers = itertools.count(1)

    async def connect(self) -> Connection:
        """A new connection, after the hellos."""
        connection = Connection(await self.open(), self._numbers)
        await connection.probe.greet()
        return connection

    async def open(self) -> Probe:
        """A new connection that has said nothing."""
        try:
            probe = await Probe.connect(self.path, self.seconds)
        except OSError as error:
            raise Failed(f"nobody can be reached at '{self.path}': {error.strerror or error}") from None
        self._probes.append(probe)
        return probe

    def need_tool(self, name: str) -> None:
        """Skip the case unless there is this tool."""
        if name not in self.offer.tools:
            raise Skipped(f"the worker has no tool '{name}'")

    def need_capability(self, name: str) -> None:
        """Skip the case unless the server has this capability."""
        if name not in self.offer.capabilities:
            raise Skipped(f"the worker doesn't declare the capability '{name}'")

    async def prove_alive(self) -> None:
        """Fail unless a new connection is answered."""
        try:
            connection = await self.connect()
            await connection.ping()
        except Failed as failed:
            raise Failed(f"afterwards the worker can't be used: {failed}") from None

    def end_case(self) -> list[str]:
        """Close all connections; the problems of their frames."""
        problems = [problem for probe in self._probes for problem in probe.problems]
        for probe in self._probes:
            probe.close()
        self._probes.clear()
        return problems


class Connection:
    """One connection, and calls as the runtime sends them."""

    def __init__(self, probe: Probe, numbers: itertools.count[int]) -> None:
        self.probe = probe
        self._numbers = numbers

    def begin(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        request_id: str | int | None = 1,
        session: Mapping[str, Any] | None = SESSION,
        session_id: str = "check-session",
        version: str = HANDSHAKE,
        extra: Mapping[str, Any] | None = None,
    ) -> str:
        """Send a message; the id of its call. Without a `request_id` it is a notification."""
        call = f"{next(self._numbers)}"
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
            "headers": {**_HEADERS, "mcp-protocol-version": version},
            "principal": _PRINCIPAL,
            "client": _CLIENT,
            "session": session,
            "jsonrpc": jsonrpc,
            **(extra or {}),
        }
        self.probe.send_document(document)
        return call

    def begin_tool(self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> str:
        """Send a call of a tool."""
        meta = options.pop("meta", None)
        params = {"name": name, "arguments": dict(arguments or {})}
        if meta is not None:
            params["_meta"] = meta
        return self.begin("tools/call", params, **options)

    async def call(self, method: str, params: Mapping[str, Any] | None = None, **options: Any) -> Answer:
        """A request and all that comes of it."""
        return await self.probe.answer(self.begin(method, params, **options))

    async def tool(self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> Answer:
        """A call of a tool and all that comes of it."""
        return await self.probe.answer(self.begin_tool(name, arguments, **options))

    async def initialize(self) -> Answer:
        """The handshake of a client."""
        client = {"protocolVersion": HANDSHAKE, "capabilities": _CLIENT["capabilities"]}
        return await self.call("initialize", {**client, "clientInfo": _CLIENT["info"]}, session=None)

    async def ping(self) -> None:
        """Exchange a ping and its pong."""
        name = f"p{next(self._numbers)}"
        self.probe.send(writing.ping(name))
        await self.probe.wait_for("pong", call=name)


Run: TypeAlias = Callable[[Bench], Awaitable[None]]


class Case(NamedTuple):
    """One requirement of the contract, in a sentence, and how it is tried."""

    name: str
    requires: str
    run: Run
    needs: str = ""  # a tool, as the documentation describes it


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
