"""A worker of a small catalog on a socket of its own, and a connection to it as the runtime has one."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from mcp.server.lowlevel import Server

from longwire.contract.check.probe import CLIENT, STATELESS, Answer, Probe
from longwire.guard.access import Access
from longwire.principals.principal import PRINCIPAL
from longwire.product.app import CatalogServer, build_server
from longwire.product.asking import AskingRules
from longwire.product.catalog import Answer as ToolAnswer
from longwire.product.catalog import Call, Catalog, Tool
from longwire.settings import WireLimits
from longwire.wire.serving import Serving
from longwire.worker import App
from longwire.worker.run import Listening, worker_listening
from longwire.worker.service import Introduction

_TEXT: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}}
_REGION = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
_FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


async def _wait(call: Call) -> ToolAnswer:
    await asyncio.Event().wait()
    return {}


async def _ask(call: Call) -> ToolAnswer:
    found = await call.elicit("Your name?", _FORM)
    return {"action": found.action, "content": found.content}


def _who(call: Call) -> ToolAnswer:
    principal = PRINCIPAL.get()
    assert principal is not None
    return {
        "key": principal.key,
        "scopes": sorted(principal.scopes),
        "client": call.client,
        "header": call.context.request.headers.get("x-trace"),
    }


async def _outside(call: Call) -> ToolAnswer:
    await call.context.session.send_tool_list_changed()
    return {}


def _long(call: Call) -> ToolAnswer:
    return {"text": "x" * (17 << 20)}


def server() -> CatalogServer:
    own: Sequence[tuple[str, Any, dict[str, Any]]] = (
        ("echo", lambda call: {"text": call.arguments.get("text", "")}, _TEXT),
        ("wait", _wait, _TEXT),
        ("ask", _ask, _TEXT),
        ("who", _who, _TEXT),
        ("outside", _outside, _TEXT),
        ("long", _long, _TEXT),
        ("region", lambda call: {"region": call.arguments.get("region")}, _REGION),
    )
    tools = [Tool(name, name, f"Does {name}.", schema, work) for name, work, schema in own]
    return build_server(Catalog(tools=tools), name="ground", version="1", asking=AskingRules(seals=False))


class Client(Probe):
    """A runtime that talks to the worker."""

    principal = {"key": "token:ci", "scopes": ["score"], "tools": None}  # noqa: RUF012

    async def modern(
        self, name: str, arguments: dict[str, Any] | None = None, *, params: Any = None, **options: Any
    ) -> Answer:
        """A call of a tool without a session, and all that comes of it."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": STATELESS,
            "io.modelcontextprotocol/clientInfo": CLIENT,
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        }
        options = {"session": None, "version": STATELESS, **options}
        return await self.tool(name, arguments, meta=meta, params=params, **options)


@asynccontextmanager
async def greeted(server: Server[Any], about: Introduction) -> AsyncIterator[tuple[Client, Listening]]:
    """A runtime that has greeted a worker with this server; no frame of the worker breaks its schema."""
    serving = Serving(server, WireLimits(), {}, Access())
    with tempfile.TemporaryDirectory(prefix="longwire-worker-") as folder:
        path = Path(folder) / "w.sock"
        async with worker_listening(serving, about, path) as worker:
            probe = await Client.connect(path, 10)
            await probe.greet()
            yield probe, worker
            probe.close()
            assert probe.problems == []


@asynccontextmanager
async def served(app: App) -> AsyncIterator[Client]:
    """A runtime that has greeted the App."""
    async with greeted(app.server(), app.introduction) as (probe, worker):
        app.ready(worker)
        yield probe


def ground(**introduction: Any) -> AbstractAsyncContextManager[tuple[Client, Listening]]:
    """A worker of the catalog, and a runtime that has greeted it."""
    return greeted(server(), Introduction("ground", "1", **introduction))
