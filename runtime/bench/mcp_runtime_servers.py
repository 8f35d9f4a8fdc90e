"""The servers that mcp_runtime.py compares: one tool that echoes, on Acuity's runtime and on the SDK's.

python runtime/bench/mcp_runtime_servers.py longwire|longwire-task|longwire-worker|sdk|sdk-json --http PORT

`longwire-worker` runs the tool in one worker process, which is this program with `--socket`.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

ECHO = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def echo_tools(args: argparse.Namespace) -> list[Any]:
    import anyio

    from longwire.product.catalog import Call, Tool

    def echo(call: Call) -> dict[str, Any]:
        return {"result": call.arguments["text"]}

    async def echo_in_task(call: Call) -> dict[str, Any]:
        return {"result": call.arguments["text"]}

    async def count(call: Call) -> dict[str, Any]:
        for number in range(1, call.arguments["to"] + 1):
            await call.progress(number, call.arguments["to"])
            await anyio.sleep(call.arguments["pause"])
        return {"result": call.arguments["to"]}

    chosen = echo_in_task if args.server == "longwire-task" else echo
    return [
        Tool("echo", "Echo", "Says it again.", ECHO, chosen),
        Tool("count", "Count", "Counts with progress.", {"type": "object"}, count),
    ]


def serve_longwire(args: argparse.Namespace) -> None:
    import uvloop
    from mcp.server.lowlevel import Server

    from longwire.counters import RuntimeCounters
    from longwire.endpoints import Http
    from longwire.operations.metrics import Metrics
    from longwire.operations.observe import Observer
    from longwire.operations.tracing import trace_requests
    from longwire.principals.limits import CallLimits
    from longwire.product.app import build_server
    from longwire.product.asking import AskingRules
    from longwire.product.calls import NamesBadParams
    from longwire.product.catalog import Catalog
    from longwire.server.serve import serve
    from longwire.settings import Settings
    from longwire.wire.listeners import LOOPBACK, Address
    from longwire.workers.home import WorkerPlan
    from longwire.workers.pool import WorkerPool

    tools = echo_tools(args)
    settings = replace(
        Settings(),
        max_sessions=args.sessions,
        max_sessions_each=args.sessions,
        idle_timeout=args.ttl,
        store=args.store,
        connections=2_500,
        connections_each=2_500,
        calls=1_000,
        calls_each=1_000,
        rate=None,
    )
    metrics, limits = Metrics([tool.name for tool in tools]), CallLimits(settings)
    middleware = [Observer(metrics), limits]
    server: Server[Any]
    in_worker = args.server == "longwire-worker"
    if in_worker:
        server = Server("echo", version="1")
        server.middleware.extend([*middleware, AskingRules().boundary("echo"), NamesBadParams()])
    else:
        server = build_server(Catalog(tools=tools), name="echo", version="1", middleware=middleware)
    trace_requests(server)
    counters = RuntimeCounters()

    async def main() -> None:
        workers = None
        if in_worker:
            command = (sys.executable, __file__, "worker", "--http", "0")
            workers = WorkerPool(WorkerPlan(command, 1, queue=2_000), counters.worker_events)
        endpoint = Http(Address(LOOPBACK, args.http))
        await serve(server, [endpoint], settings, limits=limits, counters=counters, workers=workers)

    # As the product runs: on uvloop, and with old objects left alone by the collector.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


def serve_worker(args: argparse.Namespace) -> None:
    from longwire.operations.tracing import trace_requests
    from longwire.product.app import build_server
    from longwire.product.asking import AskingRules
    from longwire.product.catalog import Catalog
    from longwire.worker.run import run_worker
    from longwire.worker.service import Introduction

    server = build_server(
        Catalog(tools=echo_tools(args)), name="echo", version="1", asking=AskingRules(seals=False)
    )
    trace_requests(server)
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    run_worker(server, Introduction("echo", "1", max_in_flight=1_000), Path(args.socket))


def serve_sdk(args: argparse.Namespace) -> None:
    import uvicorn
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("echo", log_level="WARNING")

    @server.tool()
    async def echo(text: str) -> str:
        """Says it again."""
        return text

    app = server.streamable_http_app(
        json_response=args.server == "sdk-json",
        max_sessions=args.sessions,
        session_idle_timeout=args.ttl,
        host="127.0.0.1",
    )
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=args.http,
        http="httptools",
        loop="uvloop",
        log_level="warning",
        access_log=False,
        timeout_keep_alive=120,
    )


SERVERS = {
    "longwire": serve_longwire,
    "longwire-task": serve_longwire,
    "longwire-worker": serve_longwire,
    "worker": serve_worker,
    "sdk": serve_sdk,
    "sdk-json": serve_sdk,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("server", choices=tuple(SERVERS))
    parser.add_argument("--http", type=int, required=True)
    parser.add_argument("--sessions", type=int, default=20_000)
    parser.add_argument("--ttl", type=float, default=1800.0)
    parser.add_argument("--store", default="memory")
    parser.add_argument("--socket", default="")
    given = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    SERVERS[given.server](given)
