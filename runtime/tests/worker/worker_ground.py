"""A worker of a small catalog on a socket of its own, and a connection to it as the runtime has one."""

from __future__ import annotations

import asyncio
import importlib.util
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

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

MODERN = STATELESS
EXAMPLE = Path(__file__).parents[2] / "examples" / "workers" / "python" / "worker.py"
_TEXT: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}}
_REGION = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
_FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


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


async def _outside(call: Call) -> ToolAnswer:
    await call.context.session.send_tool_list_changed()
    return {}


def _long(call: Call) -> ToolAnswer:
    return {"text": "x" * (17 << 20)}


def catalog() -> Catalog:
    own: Sequence[tuple[str, Any, dict[str, Any]]] = (
        ("echo", lambda call: {"text": call.arguments.get("text", "")}, _TEXT),
        ("wait", _wait, _TEXT),
        ("ask", _ask, _TEXT),
        ("who", _who, _TEXT),
        ("outside", _outside, _TEXT),
        ("long", _long, _TEXT),
        ("region", lambda call: {"region": call.arguments.get("region")}, _REGION),
    )
    return Catalog(tools=[Tool(name, name, f"Does {name}.", schema, work) for name, work, schema in own])


def server() -> CatalogServer:
    return build_server(catalog(), name="ground", version="1", asking=AskingRules(seals=False))


class Client(Probe):
    """A runtime that talks to the worker."""

    principal = {"key": "token:ci", "scopes": ["score"], "tools": None}  # noqa: RUF012

    async def modern(
        self, name: str, arguments: dict[str, Any] | None = None, *, params: Any = None, **options: Any
    ) -> Answer:
        """A call of a tool without a session, and all that comes of it."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": CLIENT,
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        }
        options = {"session": None, "version": MODERN, **options}
        return await self.tool(name, arguments, meta=meta, params=params, **options)


@asynccontextmanager
async def greeted(
    server: CatalogServer, about: Introduction, path: Path
) -> AsyncIterator[tuple[Client, Listening]]:
    """A runtime that has greeted a worker with this server; no frame of the worker breaks its schema."""
    async with worker_listening(Serving(server, WireLimits(), {}, Access()), about, path) as worker:
        probe = await Client.connect(path, 10)
        await probe.greet()
        yield probe, worker
        probe.close()
        assert probe.problems == []


@asynccontextmanager
async def served(app: App, path: Path) -> AsyncIterator[Client]:
    """A runtime that has greeted the App."""
    async with greeted(app.server(), app.introduction, path) as (probe, worker):
        app.ready(worker)
        yield probe


@asynccontextmanager
async def ground(**introduction: Any) -> AsyncIterator[tuple[Client, Listening]]:
    """A worker of the catalog, and a runtime that has greeted it."""
    with tempfile.TemporaryDirectory(prefix="longwire-worker-") as folder:
        about = Introduction("ground", "1", **introduction)
        async with greeted(server(), about, Path(folder) / "w.sock") as found:
            yield found


def example() -> ModuleType:
    """The example worker in Python, as a module."""
    spec = importlib.util.spec_from_file_location("example_worker", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
