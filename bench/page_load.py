"""A client for bench/embedded.py that asks as the live page does, in a process of its own.

    page_load.py PORT TOKEN

It says `ready` after its first look, and goes on until stdin is closed; then it says what it saw, as one line
of JSON. The times between its questions are those of mcp/embedded/static/live.js and live_worst.js.
"""

from __future__ import annotations

import http.client
import json
import select
import sys
import time
from typing import Any

LOOK, WORST_EACH = 0.8, 4.0  # seconds
SHOWN, APART = 4, 12  # places, and frames between them
VERSION = "2025-11-25"


class Page:
    """The page's questions."""

    def __init__(self, port: int, token: str) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port)
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        about = {"name": "acuity-live-page", "version": "1"}
        self._ask("initialize", {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": about})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.seen = {"looks": 0, "frames": 0, "pictures": 0}
        self._next = 0
        self._told = -WORST_EACH
        self._pictures: set[str] = set()

    def look(self) -> None:
        curve = self._call("vmaf.curve", {"first": self._next, "status": True})
        self._next = curve["next_first"]
        self.seen["looks"] += 1
        self.seen["frames"] += len(curve["frames"])
        if time.monotonic() >= self._told + WORST_EACH:
            self._told = time.monotonic()
            self._look_at_worst()

    def _look_at_worst(self) -> None:
        arguments = {"n": SHOWN, "apart": APART, "pictures": True}
        places = self._call("vmaf.worst_frames", arguments).get("frames", ())  # none before the first score
        for picture in filter(None, (place["picture"] for place in places)):
            if picture["distorted"] not in self._pictures:
                self._pictures.add(picture["distorted"])
                for kind in ("reference", "distorted"):
                    self._ask("resources/read", {"uri": picture[kind]})
                    self.seen["pictures"] += 1
                return  # a pair a turn

    def _call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self._ask("tools/call", {"name": tool, "arguments": arguments})
        return dict(found.get("structuredContent") or {})

    def _ask(self, method: str, params: dict[str, Any]) -> Any:
        return self._send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})["result"]

    def _send(self, message: dict[str, Any]) -> Any:
        self._http.request("POST", "/mcp", json.dumps(message), self._headers)
        response = self._http.getresponse()
        text = response.read().decode()
        if session := response.headers.get("Mcp-Session-Id"):
            self._headers |= {"Mcp-Session-Id": session, "MCP-Protocol-Version": VERSION}
        if (response.headers.get("Content-Type") or "").startswith("text/event-stream"):
            text = [line[6:] for line in text.splitlines() if line.startswith("data: {")][-1]
        return json.loads(text) if text else None


def main(port: str, token: str) -> None:
    page = Page(int(port), token)
    page.look()
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], LOOK)[0]:
        page.look()
    print(json.dumps(page.seen), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
