"""A worker of a small catalog on a socket of its own, and a connection to it as the runtime has one."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from longwire.contract import writing
from longwire.contract.check.probe import Answer, Probe
from longwire.guard.access import Access
from longwire.principals.principal import PRINCIPAL
from longwire.product.app import CatalogServer, build_server
from longwire.product.asking import AskingRules
from longwire.product.catalog import Answer as ToolAnswer
from longwire.product.catalog import Call, Catalog, Tool
from longwire.settings import WireLimits
from longwire.wire.serving import Serving
from longwire.worker.run import Listening, worker_listening
from longwire.worker.service import Introduction

HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
_TEXT: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}}
_REGION = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
_FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def run(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a test's coroutine, and fail rather than hang."""

    async def limited() -> None:
        async with asyncio.timeout(60):
            await story()

    asyncio.run(limited())


async def _count(call: Call) -> ToolAnswer:
    for number in range(1, 4):
        await call.progress(number, 3, f"step {number}")
    return {"counted": 3}


async def _wait(call: Call) -> ToolAnswer:
    await asyncio.Event().wait()
    return {}


async def _ask(call: Call) -> ToolAnswer:
    found = await call.elicit("Your name?", _FORM)
    return {"action": found.action, "content": found.content}


def _request(call: Call) -> Any:
    return call.context.request


def _who(call: Call) -> ToolAnswer:
    principal = PRINCIPAL.get()
    assert principal is not None
    return {
        "key": principal.key,
        "scopes": sorted(principal.scopes),
        "client": call.client,
        "header": _request(call).headers.get("x-trace"),
    }


def _remember(call: Call) -> ToolAnswer:
    session = _request(call).session
    before = session.state.get("text")
    session.set_state("text", call.arguments.get("text"))
    return {"before": before}


async def _outside(call: Call) -> ToolAnswer:
    await call.context.session.send_tool_list_changed()
    return {}


def _fail(call: Call) -> ToolAnswer:
    raise RuntimeError("secret words")


def _long(call: Call) -> ToolAnswer:
    return {"text": "x" * (17 << 20)}


def catalog() -> Catalog:
    own: Sequence[tuple[str, Any, dict[str, Any]]] = (
        ("echo", lambda call: {"text": call.arguments.get("text", "")}, _TEXT),
        ("count", _count, _TEXT),
        ("wait", _wait, _TEXT),
        ("ask", _ask, _TEXT),
        ("who", _who, _TEXT),
        ("remember", _remember, _TEXT),
        ("outside", _outside, _TEXT),
        ("fail", _fail, _TEXT),
        ("long", _long, _TEXT),
        ("region", lambda call: {"region": call.arguments.get("region")}, _REGION),
    )
    return Catalog(tools=[Tool(name, name, f"Does {name}.", schema, work) for name, work, schema in own])


def server() -> CatalogServer:
    return build_server(catalog(), name="ground", version="1", asking=AskingRules(seals=False))


class Client(Probe):
    """A runtime that talks to the worker."""

    numbers = itertools.count(1)
    principal: dict[str, Any] = {"key": "token:ci", "scopes": ["score"], "tools": None}  # noqa: RUF012

    def begin(
        self,
        jsonrpc: dict[str, Any],
        *,
        version: str = HANDSHAKE,
        session: dict[str, Any] | None = None,
        session_id: str = "s-1",
        headers: dict[str, str] | None = None,
        capabilities: dict[str, Any] | None = None,
    ) -> str:
        """Send a message; the id of its call."""
        call = str(next(self.numbers))
        client = {"info": {"name": "t", "version": "1"}, "capabilities": capabilities or {}}
        members = writing.circumstances(
            session_id=None if session is None else session_id,
            protocol_version=version,
            headers=headers or {},
            principal=self.principal,
            client=client,
            session=session,
        )
        self.send(writing.message(call, members, writing.json_text(jsonrpc)))
        return call

    def tool(self, name: str, arguments: dict[str, Any] | None = None, **options: Any) -> str:
        """Call a tool within a session; the id of the call."""
        meta = options.pop("meta", None)
        params: dict[str, Any] = {"name": name, "arguments": arguments or {}}
        if meta is not None:
            params["_meta"] = meta
        message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
        options.setdefault("session", {"state": {}, "initialized": True})
        return self.begin(message, **options)

    def modern(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        capabilities: dict[str, Any] | None = None,
        **params: Any,
    ) -> str:
        """Call a tool without a session; the id of the call."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities or {},
        }
        given = {"name": name, "arguments": arguments or {}, "_meta": meta, **params}
        message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": given}
        return self.begin(message, version=MODERN, headers=headers, capabilities=capabilities)

    async def call(self, name: str, arguments: dict[str, Any] | None = None, **options: Any) -> Answer:
        return await self.answer(self.tool(name, arguments, **options))


@asynccontextmanager
async def ground(
    made: CatalogServer | None = None, **introduction: Any
) -> AsyncIterator[tuple[Client, Listening]]:
    """A worker, and a runtime that has greeted it; no frame of the worker breaks its schema."""
    with tempfile.TemporaryDirectory(prefix="longwire-worker-") as folder:
        path = Path(folder) / "w.sock"
        about = Introduction("ground", "1", **introduction)
        serving = Serving(made or server(), WireLimits(), {}, Access())
        async with worker_listening(serving, about, path) as worker:
            probe = await Client.connect(path, 10)
            await probe.greet()
            yield probe, worker
            probe.close()
            assert probe.problems == []
