"""An agent on the official SDK client: follows a measurement, swaps its model, and reads the final report.

    python examples/embedded_agent.py http://127.0.0.1:8723/mcp/sse --swap-after 100
    python examples/embedded_agent.py /run/user/1000/vmaf.sock --model vmaf_v0.6.1neg

The server is one of examples/embedded_host.py, or of a command with --enable-mcp-sse or --enable-mcp-uds. For
a Unix socket the program socat has to be there: to the SDK it is a server on stdin and stdout.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.sse import sse_client

STATUS = "acuity://measurement/status"
REPORT = "acuity://measurement/report"


def transport(where: str) -> AbstractAsyncContextManager[Any] | str:
    if not where.startswith("http"):
        return stdio_client(StdioServerParameters(command="socat", args=["-", f"UNIX-CONNECT:{where}"]))
    return sse_client(where) if where.endswith("/sse") else where  # a plain URL is Streamable HTTP to the SDK


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool says, or its complaint."""
    result = await client.call_tool(tool, arguments)
    document: dict[str, Any] = result.structured_content or {}
    if result.is_error:
        raise RuntimeError(document.get("error", f"{tool} failed"))
    return document


async def follow(client: Client, model: str, swap_after: int) -> None:
    """Watch until the last frame, and have another model from `swap_after` frames on."""
    swapped = False
    # Told at most ten times a second; a slow reader misses words, not the newest state.
    async with client.listen(resource_subscriptions=[f"{STATUS}?rate=10"]) as changes:
        await ask(client, "vmaf.resume")  # for hosts that wait for us
        async for _ in changes:
            status = await ask(client, "vmaf.status")
            print(f"{status['frames_scored']} frames, last score {status['last_score']}", flush=True)
            if status["state"] == "over":
                return
            if not swapped and status["frames_read"] >= swap_after:
                swapped = True
                # Answered between two frames, when it is decided from which one on the new model holds.
                answer = await ask(client, "vmaf.request_model_swap", name=model)
                print(f"{answer['status']}: {answer['model']} from frame {answer['first']} on", flush=True)


async def finish(client: Client) -> None:
    """The server outlives the last frame: what it measured can still be read."""
    worst = await ask(client, "vmaf.worst_frames", n=3)
    print("worst:", ", ".join(f"{row['frame']} ({row['score']:.2f})" for row in worst["frames"]))
    content = (await client.read_resource(REPORT)).contents[0]
    report = json.loads(getattr(content, "text", "{}"))
    print("mean:", report["pooled_metrics"]["vmaf"]["mean"])
    for part in report["acuity"].get("steering", {}).get("segments", []):
        print(f"frames {part['first']} to {part['last']}: {part['label']}")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("server", help="a URL, or the file of a Unix socket")
    parser.add_argument("--model", default="vmaf_v0.6.1neg")
    parser.add_argument("--swap-after", type=int, default=50, metavar="FRAMES")
    asked = parser.parse_args()
    async with Client(transport(asked.server), mode="2026-07-28") as client:
        await follow(client, asked.model, asked.swap_after)
        await finish(client)


if __name__ == "__main__":
    try:
        anyio.run(main)
    except* (OSError, RuntimeError) as group:
        sys.exit(f"embedded_agent: {group.exceptions[0]}")
