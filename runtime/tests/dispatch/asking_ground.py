"""The runtime's core with tools that ask, and the clients that they ask."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from core_bench import CoreBench, CoreClient
from fake_responder import FakeResponder
from longwire.product.catalog import Answer, Call, Catalog, Tool

NOTHING = {"type": "object", "properties": {}}
ABLE = {"elicitation": {}, "sampling": {}, "roots": {}}


class Asking(CoreBench):
    """A bench whose tools ask."""

    def __init__(self, **tools: Callable[[Call], Awaitable[Answer]]) -> None:
        super().__init__()
        self._tools = tools

    def catalog(self) -> Catalog:
        return Catalog(tools=[Tool(name, name, "Asks.", NOTHING, run) for name, run in self._tools.items()])


def reply(client: CoreClient, asked: dict[str, Any], result: dict[str, Any]) -> int | None:
    return client.post({"jsonrpc": "2.0", "id": asked["id"], "result": result}).status


async def heard(responder: FakeResponder, number: int) -> list[dict[str, Any]]:
    """The messages of an answer of events, when there are so many."""
    async with asyncio.timeout(10):
        while len(responder.messages) < number:
            await asyncio.sleep(0)
    return [json.loads(message) for message in responder.messages]
