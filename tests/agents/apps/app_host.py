"""A host of MCP Apps in a browser: the extension's own AppBridge, and a real server behind it."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest
from mcp import Client
from mcp.client import advertise

from devtools import Chromium, DevTools

APPS: Final = "io.modelcontextprotocol/ui"
PAGE_TYPE: Final = "text/html;profile=mcp-app"
EVERYTHING: Final = {"serverTools": {}, "serverResources": {}}
# What the extension has hosts apply to an app that declares no policy of its own.
POLICY: Final = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; media-src 'self' data:; connect-src 'none'; frame-src 'none'; object-src 'none'; "
    "base-uri 'self'"
)
_PACKAGES: Final = ("@modelcontextprotocol/ext-apps@2.0.4", "@modelcontextprotocol/client@2.4.0", "zod@4.6.7")
_TOOLS: Final = Path(__file__).parents[3] / "build" / "apps"
_HERE: Final = Path(__file__).parent
_KINDS: Final = {".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript"}


def apps_client(server: Any, **options: Any) -> Client:
    """A client that declares the extension."""
    return Client(server, extensions=[advertise(APPS, {"mimeTypes": [PAGE_TYPE]})], **options)


def host_modules() -> Path:
    """The folder of the extension's packages; fetched once, into the build folder."""
    found = _TOOLS / "node_modules"
    stamp = _TOOLS / "installed"
    if not stamp.is_file() or stamp.read_text() != "\n".join(_PACKAGES):
        if shutil.which("npm") is None:
            pytest.skip(
                "npm is not installed here, and the extension's host code is a package of its registry"
            )
        quiet = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
        _TOOLS.mkdir(parents=True, exist_ok=True)
        npm = ["npm", "install", "--prefix", str(_TOOLS), *quiet, *_PACKAGES]
        done = subprocess.run(npm, capture_output=True, text=True, timeout=120)
        if done.returncode:
            pytest.skip(f"npm could not fetch {', '.join(_PACKAGES)}: {done.stderr.strip()[-300:]}")
        stamp.write_text("\n".join(_PACKAGES))
    return found


class AppHost:
    """A page that hosts an app; `app` is evaluated in the app's own document."""

    def __init__(self, page: DevTools) -> None:
        self.page = page
        self._frame: DevTools | None = None

    async def show(self, html: str, capabilities: dict[str, Any] = EVERYTHING, theme: str = "light") -> Any:
        """Load an app and wait until it is initialised; returns what it calls itself."""
        await self.page.until("window.loaded === true")
        arguments = ", ".join(map(json.dumps, (html, capabilities, theme)))
        known = await self.page.value(f"show({arguments})")
        self._frame = await self.page.frame("http://localhost:")
        return known

    async def give(self, result: dict[str, Any], arguments: dict[str, Any] | None = None) -> None:
        """Send the app the arguments and the result of a call."""
        await self.page.value(f"bridge.sendToolInput({{arguments: {json.dumps(arguments or {})}}})")
        await self.page.value(f"bridge.sendToolResult({json.dumps(result)})")

    async def app(self, expression: str) -> Any:
        return await self._frame.value(f"(({{document, window}}) => {expression})({_INNER})")

    async def app_until(self, condition: str) -> None:
        await self._frame.until(f"(({{document, window}}) => {condition})({_INNER})")

    async def text(self, selector: str) -> str:
        return str(await self.app(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    async def stopped(self) -> list[str]:
        """What a policy stopped in the app, and exceptions in any frame.

        The extension demands a sandbox with scripts and its own origin, of which the browser warns.
        """
        problems = [text for text in self.page.problems if "can escape its sandboxing" not in text]
        return [*(await self._frame.value("window.stopped")), *problems]


_INNER: Final = (
    "{document: document.querySelector('iframe').contentDocument, "
    "window: document.querySelector('iframe').contentWindow}"
)


@asynccontextmanager
async def app_host(client: Client | None, chromium: Chromium) -> AsyncIterator[AppHost]:
    """A browser with the host's page, which asks the client for what the app asks it."""
    modules = await asyncio.to_thread(host_modules)
    with _serving(client, modules, asyncio.get_running_loop()) as base:
        async with chromium.page(strict=False) as page:
            await page.go(base)
            yield AppHost(page)


async def _answer(client: Client | None, asked: dict[str, Any]) -> dict[str, Any]:
    params = asked["params"]
    try:
        if asked["method"] == "tools/call":
            result: Any = await client.call_tool(params["name"], params.get("arguments"))
        else:
            result = await client.read_resource(params["uri"])
    except Exception as error:  # whatever it is, the app is told
        return {"error": str(error)}
    return {"result": as_sent(result)}


def as_sent(result: Any) -> dict[str, Any]:
    """A result as it is on the wire."""
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


@contextmanager
def _serving(client: Client | None, modules: Path, loop: asyncio.AbstractEventLoop) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            names = {"/": _HERE / "host_page.html", "/sandbox.html": _HERE / "sandbox.html"}
            file = names.get(path, modules / path.removeprefix("/modules/"))
            if not file.is_file():
                self.send_error(404)
                return
            policy = {"Content-Security-Policy": POLICY} if path == "/sandbox.html" else {}
            self._send(file.read_bytes(), _KINDS.get(file.suffix, "text/plain"), policy)

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = asyncio.run_coroutine_threadsafe(_answer(client, asked), loop).result()
            self._send(json.dumps(answer).encode(), "application/json", {})

        def _send(self, body: bytes, kind: str, headers: dict[str, str]) -> None:
            self.send_response(200)
            for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()
