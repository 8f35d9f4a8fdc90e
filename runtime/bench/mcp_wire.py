"""Minimal MCP clients, whose own time is negligible beside the server's."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

HANDSHAKE = "2025-11-25"
STATELESS = "2026-07-28"
ERAS = {"sessions": HANDSHAKE, "stateless": STATELESS}

_INFO = {"name": "bench", "version": "1"}
_META = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientInfo": _INFO,
    "io.modelcontextprotocol/clientCapabilities": {},
}

_KEPT = 3.0  # seconds after which a server may close an unused connection

Progress = Callable[[dict[str, Any]], None]


class Failed(Exception):
    """The server answered with an error."""


class Client:
    """Requests one after the other; `exchange` of a subclass sends a message and waits for the answer."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.last_id = 0

    def start(self) -> None:
        if self.version == HANDSHAKE:
            start = {"protocolVersion": self.version, "capabilities": {}, "clientInfo": _INFO}
            self.request("initialize", start)
            self.tell("notifications/initialized")

    def request(
        self, method: str, params: dict[str, Any] | None = None, progress: Progress | None = None
    ) -> dict[str, Any]:
        self.last_id += 1
        meta: dict[str, Any] = {} if self.version == HANDSHAKE else dict(_META)
        if progress is not None:
            meta["progressToken"] = self.last_id
        params = {**(params or {}), **({"_meta": meta} if meta else {})}
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}
        answer = self.exchange(message, progress)
        if "error" in answer:
            raise Failed(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def call(self, tool: str, arguments: dict[str, Any], progress: Progress | None = None) -> dict[str, Any]:
        """The structured content of a tool's answer."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments}, progress)
        if result.get("isError"):
            raise Failed(f"{tool}: {result.get('structuredContent') or result.get('content')}")
        content: dict[str, Any] = result["structuredContent"]
        return content

    def tell(self, method: str, params: dict[str, Any] | None = None) -> None:
        self.exchange({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}, None)

    def exchange(self, message: dict[str, Any], progress: Progress | None) -> dict[str, Any]:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class HttpClient(Client):
    """One connection, kept alive."""

    def __init__(self, version: str, port: int) -> None:
        super().__init__(version)
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        self._session: str | None = None
        self._used = time.monotonic()

    def exchange(self, message: dict[str, Any], progress: Progress | None) -> dict[str, Any]:
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": self.version,
        }
        if self.version == STATELESS:
            headers["mcp-method"] = message["method"]
            if "name" in message.get("params", {}):
                headers["mcp-name"] = message["params"]["name"]
        if self._session is not None:
            headers["mcp-session-id"] = self._session
        if time.monotonic() - self._used > _KEPT:
            self.connection.close()  # the next request opens it again
        self.connection.request("POST", "/mcp", json.dumps(message), headers)
        response = self.connection.getresponse()
        self._used = time.monotonic()
        self._session = response.headers.get("mcp-session-id", self._session)
        if response.headers.get_content_type() != "text/event-stream":
            body = response.read()
            return json.loads(body) if body else {}
        answer: dict[str, Any] = {}
        for line in response:
            if line.startswith(b"data:") and (data := line[5:].strip()):  # some events only say where we are
                found = json.loads(data)
                if found.get("id") == message.get("id") and "method" not in found:
                    answer = found
                elif progress is not None and found.get("method") == "notifications/progress":
                    progress(found["params"])
        return answer

    def join_session(self, other: HttpClient) -> None:
        """Speak as the same client through another connection."""
        self._session = other._session

    def close(self) -> None:
        self.connection.close()


class StdioClient(Client):
    """The pipes of a server's process."""

    def __init__(self, version: str, process: subprocess.Popen[bytes]) -> None:
        super().__init__(version)
        self.process = process

    def exchange(self, message: dict[str, Any], progress: Progress | None) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        if "id" not in message:
            return {}
        for line in self.process.stdout:
            found: dict[str, Any] = json.loads(line)
            if found.get("id") == message["id"] and "method" not in found:
                return found
            if progress is not None and found.get("method") == "notifications/progress":
                progress(found["params"])
        raise Failed("the server closed its output")

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()


@contextmanager
def http_server(command: list[str], environ: dict[str, str]) -> Iterator[tuple[int, int]]:
    """A server that listens on a free port; its process id and that port."""
    port = free_port()
    process = subprocess.Popen(
        [*command, "--http", str(port)], env={**os.environ, **environ}, stdin=subprocess.DEVNULL
    )
    try:
        wait_for(port, process)
        yield process.pid, port
    finally:
        _end(process)


@contextmanager
def stdio_server(command: list[str], environ: dict[str, str], version: str) -> Iterator[StdioClient]:
    process = subprocess.Popen(
        command,
        env={**os.environ, **environ},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    client = StdioClient(version, process)
    try:
        client.start()
        yield client
    finally:
        client.close()
        _end(process)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if process.poll() is not None:
            sys.exit(f"bench: the server ended with exit code {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    sys.exit("bench: the server did not start to listen within a minute")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
