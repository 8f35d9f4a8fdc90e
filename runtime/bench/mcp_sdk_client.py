"""Round trips through the official SDK's own client, in turn between two servers."""

from __future__ import annotations

import os
import time
from contextlib import AsyncExitStack, ExitStack

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from mcp_wire import HANDSHAKE, http_server


def sdk_round_trips(
    transport: str,
    version: str,
    echo: list[str],
    product: list[str],
    environ: dict[str, str],
    rounds: int,
    count: int,
) -> tuple[list[float], list[float]]:
    """Seconds of each `echo` and of each `list_models`."""

    async def measure() -> tuple[list[float], list[float]]:
        with ExitStack() as servers:
            async with AsyncExitStack() as stack:
                clients = []
                for command in (echo, product):
                    mode = "legacy" if version == HANDSHAKE else version
                    if transport == "HTTP":
                        _, port = servers.enter_context(http_server(command, environ))
                        client = Client(f"http://127.0.0.1:{port}/mcp", mode=mode)
                    else:
                        parameters = StdioServerParameters(
                            command=command[0], args=command[1:], env={**os.environ, **environ}
                        )
                        quiet = stack.enter_context(open(os.devnull, "w"))
                        client = Client(stdio_client(parameters, errlog=quiet), mode=mode)
                    clients.append(await stack.enter_async_context(client))
                return await _alternate(clients, rounds, count)

    return anyio.run(measure)


async def _alternate(clients: list[Client], rounds: int, count: int) -> tuple[list[float], list[float]]:
    taken: tuple[list[float], list[float]] = ([], [])
    asked = (("echo", {"text": "hello"}), ("list_models", {}))
    for number in range(rounds + 1):
        for times, client, (tool, arguments) in zip(taken, clients, asked, strict=True):
            for _ in range(count if number else min(count, 50)):
                begin = time.perf_counter()
                await client.call_tool(tool, arguments)
                if number:
                    times.append(time.perf_counter() - begin)
    return taken
