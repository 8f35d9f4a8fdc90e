"""Pages of this machine's own servers may use an endpoint; security.py has checked that they are."""

from __future__ import annotations

from typing import Final

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_PREFLIGHT: Final = {
    "Access-Control-Allow-Methods": "GET, POST, DELETE, OPTIONS",
    "Access-Control-Allow-Headers": "Accept, Authorization, Content-Type, Last-Event-ID, "
    "MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, X-MCP-Session",
    "Access-Control-Max-Age": "600",
}
_FOREIGN: Final = Response("foreign pages may not use this server\n", 403)


class LoopbackPages:
    """An application that pages may read the answers of, behind the check of their origin."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        origin = headers.get("origin")
        if origin is None:
            # An image or script of a foreign page: it could read nothing, but it would keep a place.
            foreign = headers.get("sec-fetch-site") == "cross-site"
            await (_FOREIGN if foreign else self._app)(scope, receive, send)
            return
        added = allowing(origin)

        async def allow(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *added]}
            await send(message)

        if scope["method"] == "OPTIONS":
            await Response(status_code=204, headers=_PREFLIGHT)(scope, receive, allow)
        else:
            await self._app(scope, receive, allow)


def allowing(origin: str) -> list[tuple[bytes, bytes]]:
    """The headers that let a page of that origin read the answer."""
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", b"Mcp-Session-Id"),
        (b"vary", b"Origin"),
    ]
