"""A worker of a few lines, without Longwire: `python small_worker.py --socket PATH [HOW]`.

HOW: plain; slow (answers no call); stubborn (ignores SIGTERM, and has a child of its own); brief (ends at its
second call, with a few words); wrong (answers all requests under one id).
Its tool says which process it is.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import struct
import subprocess
import sys
from typing import Any


def _frame(document: dict[str, Any]) -> bytes:
    text = json.dumps({"mode": "mcp", **document}).encode()
    return struct.pack(">I", len(text)) + text


class Worker:
    def __init__(self, how: str) -> None:
        self._how = how
        self._calls = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                (length,) = struct.unpack(">I", await reader.readexactly(4))
                frame = json.loads(await reader.readexactly(length))
            except asyncio.IncompleteReadError:
                return
            for answer in self._answers(frame):
                writer.write(_frame(answer))
            await writer.drain()

    def _answers(self, frame: dict[str, Any]) -> list[dict[str, Any]]:
        if frame["event"] == "hello":
            return [{"event": "hello", "contract": 1, "name": "small", "max_in_flight": 4}]
        if frame["event"] == "ping":
            return [{"event": "pong", "id": frame["id"]}]
        if frame["event"] != "message":
            return []
        self._calls += 1
        if self._how == "slow":
            return []
        if self._how == "brief" and self._calls == 2:
            os.write(2, b"my last words")
            os._exit(3)
        said = {"pid": os.getpid(), "label": os.environ["LONGWIRE_WORKER_LABEL"]}
        result = {"content": [], "structuredContent": said}
        number = "wrong" if self._how == "wrong" else frame["jsonrpc"].get("id")
        reply = {"jsonrpc": "2.0", "id": number, "result": result}
        return [{"event": "result", "id": frame["id"], "handled": True, "jsonrpc": reply}]


async def main(path: str, how: str) -> None:
    if how == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen(["sleep", "600"])
        print(f"child {child.pid}", flush=True)
    server = await asyncio.start_unix_server(Worker(how).serve, path)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[sys.argv.index("--socket") + 1], sys.argv[1]))
