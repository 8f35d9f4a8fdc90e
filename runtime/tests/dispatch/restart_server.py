"""A server program whose sessions outlive it: tools that count aloud, and a level that clients set.

    python restart_server.py '{"port": PORT, "store": STORE}'

It prints its URL. cluster_program.py makes it a node of a cluster.
"""

from __future__ import annotations

import asyncio
import json
import sys
import warnings
from collections.abc import Callable
from typing import Any

import mcp_types as types
import uvloop
from mcp.shared.exceptions import MCPDeprecationWarning

from longwire.cluster.cluster_node import joined
from longwire.endpoints import Endpoint, Http, Peers
from longwire.operations.logs import configure_logging
from longwire.product.app import build_server
from longwire.product.asking import AskingRules
from longwire.product.catalog import Answer, Call, Catalog, Context, Method, Tool
from longwire.server.serve import serve
from longwire.settings import Settings
from longwire.wire.listeners import LOOPBACK, Address

_PACE = 0.002  # seconds between two numbers
_NUMBER = {"type": "integer", "minimum": 0}


async def _count(call: Call) -> Answer:
    """Say the numbers as progress, log messages of the call and log messages of the session."""
    session, request = call.context.session, call.context.request_id
    for number in range(1, call.arguments["upto"] + 1):
        await call.progress(number, message=f"progress {number}")
        await session.send_log_message("info", number, "call", related_request_id=request)
        await session.send_log_message("info", number, "session")
        await asyncio.sleep(_PACE)
    if call.arguments["stay"]:
        await asyncio.Event().wait()
    return {"counted": call.arguments["upto"]}


async def _say(call: Call) -> Answer:
    """Say something outside of the call."""
    await call.context.session.send_log_message("info", call.arguments["text"], "session")
    return {"said": call.arguments["text"]}


async def _recall(call: Call) -> Answer:
    """Say what the session knows."""
    session = call.context.session
    params = session.client_params
    return {
        "version": session.protocol_version,
        "client": None if params is None else params.client_info.name,
        "level": call.context.request.session.state.get("level"),  # type: ignore[union-attr]
    }


async def _set_level(context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    context.request.session.set_state("level", params.level)  # type: ignore[union-attr]
    return types.EmptyResult()


def _schema(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def catalog() -> Catalog:
    counting = _schema(upto=_NUMBER, stay={"type": "boolean"})
    return Catalog(
        tools=[
            Tool("count", "Count", "Counts aloud, and may stay for ever.", counting, _count),
            Tool("say", "Say", "Says something to the session.", _schema(text={"type": "string"}), _say),
            Tool("recall", "Recall", "Says what the session knows.", _schema(), _recall),
        ],
        methods=[Method("logging/setLevel", types.SetLevelRequestParams, _set_level)],
    )


def serve_one(
    make: Callable[[Any], Catalog], settings: Settings, port: int, peers: int | None = None
) -> None:
    """Serve the catalog that is made for a node, or for None, until the process is ended."""
    configure_logging("warning")
    endpoints: list[Endpoint] = [Http(Address(LOOPBACK, port))]
    if peers is not None:
        endpoints.append(Peers(Address(LOOPBACK, peers)))

    async def run() -> None:
        async with joined(settings) as node:
            asking = None if node is None else AskingRules(keys=(node.keys.request_state,))
            server = build_server(make(node), name="restart", version="1", asking=asking)
            ready = lambda opened: print(opened[0].where, flush=True)  # noqa: E731
            await serve(server, endpoints, settings, cluster=node, on_ready=ready)

    warnings.simplefilter("ignore", MCPDeprecationWarning)  # the older era needs what the newer one dropped
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as vmaf-mcp does
        runner.run(run())


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    serve_one(lambda _: catalog(), Settings(store=asked["store"], grace=0.1), asked["port"])
