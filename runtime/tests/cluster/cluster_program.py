"""A program that is a node of a cluster: tools that count aloud, ask, and tell of changes.

Its argument is JSON: its ports, label and grace, the URL of Redis, and the file with the secret.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

from mcp.server.subscriptions import ResourceUpdated

from longwire.cluster.cluster_node import ClusterNode
from longwire.product.catalog import Answer, Call, Catalog, Tool
from longwire.settings import Settings
from longwire.tasks.listen import Listen
from restart_server import catalog as counting
from restart_server import serve_one

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


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    settings = Settings(
        grace=asked["grace"],
        cluster_redis=asked["redis"],
        cluster_node=asked["node"],
        cluster_address=f"http://127.0.0.1:{asked['peers']}",
        cluster_secret_file=Path(asked["secret"]),
    )
    serve_one(catalog, settings, asked["port"], asked["peers"])
