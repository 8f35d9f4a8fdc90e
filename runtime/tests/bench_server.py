"""A server program with the tools of transport_bench.py."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import anyio

from longwire.command.program import guarded
from longwire.endpoints import Endpoint, Http, Stdio, Uds
from longwire.operations.logs import configure_logging
from longwire.product.app import build_server
from longwire.product.catalog import Answer, Call, Catalog, Tool
from longwire.server.serve import serve
from longwire.settings import Settings
from transport_bench import LOCAL, Bench


async def _noisy(_: Call) -> Answer:
    """Everything that usually ends up on stdout."""
    print("printed", flush=True)
    os.write(1, b"written\n")
    subprocess.run(["echo", "from a child"], check=True)
    return {"read": sys.stdin.read()}


async def _stubborn(_: Call) -> Answer:
    """Says on stderr how it ended."""
    print("stubborn: started", file=sys.stderr, flush=True)
    try:
        await anyio.sleep_forever()
    except BaseException:
        print("stubborn: cancelled", file=sys.stderr, flush=True)
        raise


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--uds")
    parser.add_argument("--http", action="store_true")
    parser.add_argument("--framing", default="auto")
    parser.add_argument("--grace", type=float, default=0.1)
    arguments = parser.parse_args()
    endpoints: list[Endpoint] = []
    if arguments.http:
        endpoints.append(Http(LOCAL))
    if arguments.uds:
        endpoints.append(Uds(Path(arguments.uds)))
    if not endpoints:
        endpoints.append(Stdio(arguments.framing))
    nothing = {"type": "object", "properties": {}}
    more = [
        Tool("noisy", "Noisy", "Prints.", nothing, _noisy),
        Tool("stubborn", "S", "Waits.", nothing, _stubborn),
    ]
    configure_logging()
    server = build_server(Catalog(tools=[*Bench().catalog().tools, *more]), name="bench", version="1")

    async def run() -> None:
        await serve(server, endpoints, Settings(grace=arguments.grace))

    anyio.run(run)
    return 0


if __name__ == "__main__":
    sys.exit(guarded("bench", main))
