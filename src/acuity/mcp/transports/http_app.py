"""Several endpoints behind one port: an ASGI application that knows its paths and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TypeAlias

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

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
