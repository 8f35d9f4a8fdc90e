"""The HTTP application: one port, several paths; Streamable HTTP at /mcp.

Clients that shake hands get sessions; a request without one is a single exchange.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Final, TypeAlias

from mcp.server.lowlevel import Server
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from acuity.mcp.settings import Settings
from acuity.mcp.wire.http_body import CheckedBody
from acuity.mcp.wire.security import Guarded, HttpSecurity
from acuity.mcp.wire.sessions import Sessions

PATH: Final = "/mcp"


def streamable_app(server: Server[Any], settings: Settings, *, security: HttpSecurity) -> ASGIApp:
    """An application with nothing else, for any ASGI server that runs lifespans."""
    return Guarded(HttpApp(*streamable_paths(server, settings)), security)


def streamable_paths(server: Server[Any], settings: Settings) -> tuple[dict[str, ASGIApp], Lifespan]:
    """The endpoint, and what has to be entered while it is served."""
    sessions = Sessions(
        server,
        most=settings.connections,
        most_each=settings.connections_each,
        idle_timeout=settings.idle_timeout,
        body=settings.body,
    )
    return {PATH: CheckedBody(sessions.serve, settings.body)}, sessions.run


Lifespan: TypeAlias = Callable[[], AbstractAsyncContextManager[None]]


class HttpApp:
    """Hands each request to the application of its path; the lifespan is entered by the ASGI server."""

    def __init__(self, paths: Mapping[str, ASGIApp], lifespan: Lifespan = nullcontext) -> None:
        self._paths = paths
        self._lifespan = lifespan

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        app = self._paths.get(scope["path"])
        if app is None:
            text = f"there is nothing here: use {' or '.join(self._paths)}"
            app = PlainTextResponse(text, status_code=404)
        await app(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self._lifespan():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


class Methods:
    """An application for these methods only."""

    def __init__(self, app: ASGIApp, methods: Collection[str]) -> None:
        self._app = app
        self._methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in self._methods:
            await self._app(scope, receive, send)
            return
        allowed = ", ".join(self._methods)
        refused = PlainTextResponse(f"use {allowed}", status_code=405, headers={"Allow": allowed})
        await refused(scope, receive, send)
