"""A program that becomes nodes of a cluster: tools that count aloud, ask, and tell of changes.

    python cluster_program.py

Each line on its standard input is a node's settings as JSON, with which it forks a process that serves until
it is ended; that says its process number and URL, or why it can't. Loading a server takes a second or more,
and forking one that is loaded a moment.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvloop
from mcp.server.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPDeprecationWarning

from longwire.cluster.cluster_node import ClusterNode, joined
from longwire.endpoints import Http, Open, Peers
from longwire.errors import LongwireError
from longwire.operations.logs import configure_logging
from longwire.product.app import build_server
from longwire.product.asking import AskingRules
from longwire.product.catalog import Answer, Call, Catalog, Tool
from longwire.server.serve import serve
from longwire.settings import Settings
from longwire.tasks.listen import Listen
from longwire.wire.listeners import LOOPBACK, Address
from restart_server import catalog as counting

_NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def catalog(node: ClusterNode) -> Catalog:
    async def greet(call: Call) -> Answer:
        """Ask for a name, and say at which node it was greeted."""
        found = await call.elicit("Who are you?", _NAME)
        return {"greeted": (found.content or {}).get("name"), "node": node.nodes.label}

    async def touch(call: Call) -> Answer:
        """Tell all nodes that a resource has changed."""
        await node.bus.publish(ResourceUpdated(uri=call.arguments["name"]))
        return {"node": node.nodes.label}

    tools = [
        Tool("greet", "Greet", "Asks for a name.", {"type": "object"}, greet),
        Tool("touch", "Touch", "Changes a resource.", _NAME, touch),
    ]
    made = counting()
    return replace(made, tools=[*made.tools, *tools], listen=Listen(node.bus))


async def run(settings: Settings, port: int, peers: int) -> None:
    def ready(opened: list[Open]) -> None:
        print(json.dumps({"pid": os.getpid(), "url": opened[0].where}), flush=True)

    async with joined(settings) as node:
        assert node is not None
        asking = AskingRules(keys=(node.keys.request_state,))
        server = build_server(catalog(node), name="cluster", version="1", asking=asking)
        places = [Http(Address(LOOPBACK, port)), Peers(Address(LOOPBACK, peers))]
        await serve(server, places, settings, on_ready=ready, cluster=node)  # type: ignore[arg-type]


def become(asked: dict[str, Any]) -> None:
    configure_logging("warning")
    settings = Settings(
        grace=0.2,
        cluster_redis=asked["redis"],
        cluster_node=asked["node"],
        cluster_address=f"http://{LOOPBACK}:{asked['peers']}",
        cluster_secret_file=Path(asked["secret"]),
    )
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as vmaf-mcp does
            runner.run(run(settings, asked["port"], asked["peers"]))
    except LongwireError as error:
        print(json.dumps({"error": str(error)}), flush=True)


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nodes that were killed leave nothing behind
    children = []
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            become(json.loads(line))
            os._exit(0)
        children.append(child)
    for child in children:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


if __name__ == "__main__":
    warnings.simplefilter("ignore", MCPDeprecationWarning)  # the older era needs what the newer one dropped
    main()
