"""An agent on the official SDK client: follows a measurement, swaps its model, and reads the final report.

    python examples/embedded_agent.py http://127.0.0.1:8723/mcp/sse --swap-after 100
    python examples/embedded_agent.py http://127.0.0.1:8724/mcp
    python examples/embedded_agent.py ./vmaf.sock --model vmaf_v0.6.1neg
    python examples/embedded_agent.py -- vmaf -r ref.y4m -d dis.y4m -o report.json --json

The server is one of examples/embedded_host.py, or of a command with --enable-mcp-sse, --enable-mcp-http or
--enable-mcp-uds; --mcp-wait has it begin with this agent. A command behind -- is started here, and spoken to
at its descriptors 3 and 4.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.sse import sse_client
from mcp.shared.message import SessionMessage

STATUS = "acuity://measurement/status"
REPORT = "acuity://measurement/report"


def transport(server: Sequence[str]) -> AbstractAsyncContextManager[Any] | str:
    """A transport to a URL, to a Unix socket, or to a command that is started here."""
    where = server[0]
    if len(server) > 1:
        # What the SDK takes for the command's stdin and stdout are its descriptors 3 and 4.
        script = 'exec "$@" --enable-mcp-stdio --mcp-wait 3<&0 4>&1 </dev/null >&2'
        arguments = ["-c", script, "run", *server]
        return stdio_client(StdioServerParameters(command="bash", args=arguments, env={**os.environ}))
    if not where.startswith("http"):
        return socket_client(where)
    return sse_client(where) if where.endswith("/sse") else where  # a plain URL is Streamable HTTP to the SDK


@asynccontextmanager
async def socket_client(path: str) -> AsyncIterator[Any]:
    """A Unix socket as a transport of the SDK's client, with one message a line."""
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](16)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](16)

    async def receive(socket: anyio.abc.SocketStream) -> None:
        rest = b""
        async with incoming:
            async for data in socket:
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    await incoming.send(SessionMessage(types.jsonrpc_message_adapter.validate_json(line)))

    async def send(socket: anyio.abc.SocketStream) -> None:
        async for item in outgoing:
            await socket.send(
                item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
            )

    async with await anyio.connect_unix(path) as socket, anyio.create_task_group() as tasks:
        tasks.start_soon(receive, socket)
        tasks.start_soon(send, socket)
        yield read, write
        tasks.cancel_scope.cancel()


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured result of a tool; raises its error."""
    result = await client.call_tool(tool, arguments)
    if result.is_error:
        raise RuntimeError(
            json.loads(getattr(result.content[0], "text", "{}")).get("error", f"{tool} failed")
        )
    return result.structured_content or {}


async def follow(client: Client, model: str, swap_after: int) -> None:
    """Watch until the last frame, and change the model after `swap_after` frames."""
    swapped = False
    # At most ten notifications a second; a slow reader misses some, but not the newest state. A client that
    # subscribes after the end is notified of it.
    async with client.listen(resource_subscriptions=[f"{STATUS}?rate=10"]) as changes:
        async for _ in changes:
            status = await ask(client, "vmaf.status")
            print(f"{status['frames_scored']} frames, last score {status['last_score']}", flush=True)
            if status["state"] == "over":
                return
            if not swapped and status["frames_read"] >= swap_after:
                swapped = await swap(client, model)
    raise RuntimeError("the server closed before the measurement was over")


async def swap(client: Client, model: str) -> bool:
    """Change the model. The answer comes between two frames, with the first frame of the new model.

    False if it can't be now: the measurement found no time for it, or its last frame was read meanwhile.
    """
    try:
        answer = await ask(client, "vmaf.request_model_swap", name=model)
    except RuntimeError as error:
        print(f"not swapped: {error}", flush=True)
        return False
    # MODEL_SWAPPED: from the next frame on. MODEL_SWAP_ENQUEUED: some figures are exact a few frames later.
    print(f"{answer['status']}: {answer['model']} from frame {answer['first']} on", flush=True)
    return True


async def finish(client: Client) -> None:
    """Read the report after the last frame, while the server still runs."""
    worst = await ask(client, "vmaf.worst_frames", n=3)
    print("worst:", ", ".join(f"{row['frame']} ({row['score']:.2f})" for row in worst["frames"]))
    content = (await client.read_resource(REPORT)).contents[0]
    report = json.loads(getattr(content, "text", "{}"))
    print("mean:", report["pooled_metrics"]["vmaf"]["mean"])
    for part in report["acuity"].get("steering", {}).get("segments", []):
        print(f"frames {part['first']} to {part['last']}: {part['label']}")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("server", nargs="+", help="a URL, the file of a Unix socket, or a command to start")
    parser.add_argument("--model", default="vmaf_v0.6.1neg")
    parser.add_argument("--swap-after", type=int, default=50, metavar="FRAMES")
    asked = parser.parse_args()
    async with Client(transport(asked.server), mode="2026-07-28") as client:
        await follow(client, asked.model, asked.swap_after)
        await finish(client)


if __name__ == "__main__":
    try:
        anyio.run(main)
    except* Exception as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):  # each layer of the client wraps it once more
            error = error.exceptions[0]
        sys.exit(f"embedded_agent: {error}")
