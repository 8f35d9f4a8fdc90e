"""Cancels thousands of running and queued scores, and checks that the server's memory doesn't grow.

    python bench/cancel_soak.py --cancels 5000 --transport http
    python bench/cancel_soak.py --cancels 5000 --transport stdio

Every round has one score that runs in a worker process, which the cancellation kills, and others that wait
behind it. Bodies are padded, so that a request that is not freed shows in the resident memory. Exits with 1
if memory, descriptors or live objects grew.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import httpx2

from clips import make_clip

WAITING = 15  # scores that are queued behind the one that runs
WARM_UP = 20  # rounds before the first figures, until pools, caches and the heap have their final size
PADDING = 500_000  # bytes
SPARE_MIB = 16  # resident memory that may come and go
# Classes of which a cancelled call has one each.
WATCHED = ("Entry", "Forwarder", "WorkerProcess", "Channel", "Call", "ServerRequestContext", "Request")

_HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}}


class Wire(Protocol):
    """A connection to the server; its messages arrive at `Soak.heard`."""

    async def send(self, message: dict[str, Any], padding: str = "") -> None: ...


class Soak:
    """Scores that are started and cancelled."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self._arguments = arguments
        self._heard: dict[Any, asyncio.Event] = {}
        self._wanted: dict[Any, str] = {}
        self._number = 0
        self.cancelled: Counter[str] = Counter()

    def heard(self, message: dict[str, Any]) -> None:
        """Take a message from the server: progress says where a score is, an answer that it is over."""
        if message.get("method") == "notifications/progress":
            number = message["params"]["progressToken"]
            state = "queued" if message["params"].get("message", "").startswith("queued") else "running"
            if self._wanted.get(number) == state:
                self._heard[number].set()
        elif "id" in message and message["id"] in self._heard and "result" in message:
            raise SystemExit(f"a score ended before it was cancelled: {str(message)[:300]}")

    async def round(self, wire: Wire) -> None:
        running = await self._begin(wire, "running")
        queued = [await self._begin(wire, "queued") for _ in range(WAITING)]
        for number in (*queued, running):  # the running one last, or the next would take its place
            await wire.send(_cancellation(number))
            del self._heard[number]
            self.cancelled[self._wanted.pop(number)] += 1

    async def _begin(self, wire: Wire, state: str) -> int:
        self._number += 1
        number = self._number
        self._wanted[number], self._heard[number] = state, asyncio.Event()
        meta = {"progressToken": number, "padding": "x" * (PADDING if number % 2 else 0)}
        params = {"name": "vmaf_score", "arguments": self._arguments, "_meta": meta}
        request = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        await wire.send(request, " " * PADDING)
        await asyncio.wait_for(self._heard[number].wait(), 120)
        return number


def _cancellation(number: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}


class HttpWire:
    """A session of Streamable HTTP, a connection for each request under way."""

    def __init__(self, soak: Soak, http: httpx2.AsyncClient, url: str) -> None:
        self._soak, self._http, self._url = soak, http, url
        self._headers = {
            "accept": "text/event-stream, application/json",
            "content-type": "application/json",
            "mcp-protocol-version": "2025-11-25",
        }
        self._streams: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": _HELLO}
        answer = await self._http.post(self._url, json=hello, headers=self._headers)
        self._headers["mcp-session-id"] = answer.headers["mcp-session-id"]

    async def send(self, message: dict[str, Any], padding: str = "") -> None:
        if "id" not in message:
            await self._http.post(self._url, json=message, headers=self._headers)
            return
        task = asyncio.create_task(self._stream(json.dumps(message) + padding))
        self._streams.add(task)
        task.add_done_callback(self._streams.discard)

    async def _stream(self, body: str) -> None:
        async with self._http.stream("POST", self._url, content=body, headers=self._headers) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    self._soak.heard(json.loads(line[5:]))


class StdioWire:
    """The pipes of the server's process."""

    def __init__(self, soak: Soak, process: asyncio.subprocess.Process) -> None:
        self._soak, self._process = soak, process
        self._reading = asyncio.create_task(self._read())

    async def start(self) -> None:
        await self.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": _HELLO})
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def send(self, message: dict[str, Any], padding: str = "") -> None:
        assert self._process.stdin is not None
        self._process.stdin.write((json.dumps(message) + padding + "\n").encode())
        await self._process.stdin.drain()

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            self._soak.heard(json.loads(line))


class Server:
    """The server's process, which can be asked what it holds."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            await self.lines.put(json.loads(line))

    async def line(self, event: str) -> dict[str, Any]:
        while (line := await asyncio.wait_for(self.lines.get(), 60)).get("event") != event:
            pass
        return line

    async def figures(self) -> dict[str, Any]:
        await asyncio.sleep(2)  # killed processes are reaped, keep-alive connections stay
        self.process.send_signal(signal.SIGUSR1)
        return await self.line("live")


@asynccontextmanager
async def server(transport: str, folder: Path) -> AsyncIterator[Server]:
    where = ["--http", "0"] if transport == "http" else ["--stdio"]
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--serve", "--workers", "1", "--data", str(folder / "data"), *where,
        env={**os.environ, "VMAF_MCP_ALLOW": str(folder)},
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        limit=1 << 24,
    )  # fmt: skip
    try:
        yield Server(process)
    finally:
        process.terminate()
        await process.wait()


async def soak(transport: str, cancels: int) -> bool:
    """Print the figures before and after; whether nothing grew."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clip = make_clip(folder, "soak", 352, 288, 8, 1500)
        arguments = {"ref": str(clip.ref), "dis": str(clip.dis), "width": 352, "height": 288}
        slow = {"pixfmt": "420", "bitdepth": 8, "threads": 1, "feature": ["ssimulacra2", "cambi", "ciede"]}
        work = Soak({**arguments, **slow})
        async with server(transport, folder) as running, httpx2.AsyncClient(timeout=120) as http:
            opened = await running.line("listening")
            wire = (
                HttpWire(work, http, opened["address"])
                if transport == "http"
                else StdioWire(work, running.process)
            )
            await wire.start()
            for _ in range(WARM_UP):
                await work.round(wire)
            before, begin = await running.figures(), time.monotonic()
            work.cancelled.clear()
            while work.cancelled.total() < cancels:
                await work.round(wire)
            seconds = time.monotonic() - begin
            after = await running.figures()
    counts = ", ".join(f"{count} {state}" for state, count in work.cancelled.items())
    print(f"{transport}: {work.cancelled.total()} scores cancelled ({counts}) in {seconds:.0f} s")
    names = [name for name in before if name not in ("event", "objects")]
    for figure in (*names, "objects"):
        print(f"  {figure:22} {before[figure]:>8} {after[figure]:>8}")
    grown = [name for name in names if after[name] > before[name] + (SPARE_MIB if name == "MiB" else 2)]
    print(f"  grown: {', '.join(grown)}" if grown else "  nothing has grown")
    return not grown


def serve(arguments: list[str]) -> int:
    """Run the server as users start it; on SIGUSR1 it says on stderr what it holds. Nothing is collected."""
    from acuity.cli.serve import main

    def tell(_: int, __: object) -> None:
        objects = gc.get_objects()
        live = Counter(type(found).__name__ for found in objects)
        status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        figures: dict[str, Any] = {
            "MiB": int(status["VmRSS"].split()[0]) >> 10,
            "descriptors": len(os.listdir("/proc/self/fd")),
            "threads": int(status["Threads"]),
            **{name: live[name] for name in WATCHED},
            "objects": len(objects),
        }
        print(json.dumps({"event": "live", **figures}), file=sys.stderr, flush=True)

    signal.signal(signal.SIGUSR1, tell)
    return main(arguments)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cancels", type=int, default=5000)
    parser.add_argument("--transport", choices=("http", "stdio"), default="http")
    options = parser.parse_args()
    return 0 if asyncio.run(soak(options.transport, options.cancels)) else 1


if __name__ == "__main__":
    sys.exit(serve(sys.argv[2:]) if sys.argv[1:2] == ["--serve"] else main())
