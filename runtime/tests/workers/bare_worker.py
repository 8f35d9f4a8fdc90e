"""A worker that knows no more than the pages of 2025-11-25: `python bare_worker.py --socket PATH`.

It has nothing of 2026-07-28: no server/discover, no resultType, no ttlMs, no cacheScope.
"""

from __future__ import annotations

import asyncio
import json
import struct
import sys
from typing import Any


def _reply(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        info = {"name": "bare", "version": "7"}
        capabilities = {"tools": {}, "prompts": {}, "resources": {}}
        said = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}
        return {"result": {**said, "instructions": "Be brief."}}
    if method == "tools/list":
        return {"result": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}}
    if method == "tools/call":
        return {"result": {"content": [{"type": "text", "text": params["arguments"]["text"]}]}}
    if method == "prompts/list":
        return {"result": {"prompts": []}}
    if method == "resources/list":
        return {"result": {"resources": [{"uri": "note://a", "name": "a"}]}}
    if method == "resources/templates/list":
        return {"result": {"resourceTemplates": []}}
    if method == "resources/read":
        return {"result": {"contents": [{"uri": params["uri"], "text": "a note"}]}}
    return None


def answers(frame: dict[str, Any]) -> list[dict[str, Any]]:
    if frame["event"] == "hello":
        return [{"event": "hello", "contract": 1, "name": "bare"}]
    if frame["event"] == "ping":
        return [{"event": "pong", "id": frame["id"]}]
    if frame["event"] != "message":
        return []
    request = frame["jsonrpc"]
    result = {"event": "result", "id": frame["id"]}
    if "id" not in request:
        return [{**result, "jsonrpc": None}]
    reply = _reply(request["method"], request.get("params", {}))
    if reply is None:
        return [{**result, "handled": False}]
    return [{**result, "jsonrpc": {"jsonrpc": "2.0", "id": request["id"], **reply}}]


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        try:
            (length,) = struct.unpack(">I", await reader.readexactly(4))
            frame = json.loads(await reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        for answer in answers(frame):
            text = json.dumps({"mode": "mcp", **answer}).encode()
            writer.write(struct.pack(">I", len(text)) + text)


async def main(path: str) -> None:
    server = await asyncio.start_unix_server(serve, path)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[sys.argv.index("--socket") + 1]))
