"""Pages in browsers: what lets a page of an admitted origin send requests and read the answers (CORS)."""

from __future__ import annotations

from typing import Final

from acuity.mcp.wire.http.request import HeaderList, Request, Responder
from acuity.mcp.wire.http.routes import answer_text

_ALLOWED: Final[HeaderList] = [
    (b"access-control-allow-methods", b"GET, POST, DELETE, OPTIONS"),
    (
        b"access-control-allow-headers",
        b"Accept, Authorization, Content-Type, Last-Event-ID, "
        b"MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, X-MCP-Session",
    ),
    (b"access-control-max-age", b"600"),
]


def for_page(request: Request, responder: Responder) -> Responder | None:
    """The responder for a request whose origin was admitted; None: it is answered already."""
    origin = request.headers.get("origin")
    if origin is None:
        # An image or script of a foreign page: it could read nothing, but it would keep a place.
        if request.headers.get("sec-fetch-site") == "cross-site":
            answer_text(responder, 403, "foreign pages may not use this server")
            return None
        return responder
    added = [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", b"Mcp-Session-Id, Retry-After"),
        (b"vary", b"Origin"),
    ]
    if request.method == "OPTIONS":
        responder.answer(204, headers=[*_ALLOWED, *added])
        return None
    return _WithHeaders(responder, added)


class _WithHeaders:
    """A responder that adds headers to the answer."""

    def __init__(self, inner: Responder, added: HeaderList) -> None:
        self._inner = inner
        self._added = added
        self.send, self.end = inner.send, inner.end
        self.on_gone, self.on_room = inner.on_gone, inner.on_room

    @property
    def gone(self) -> bool:
        return self._inner.gone

    @property
    def unsent(self) -> int:
        return self._inner.unsent

    def answer(self, status: int, body: bytes = b"", kind: bytes = b"", headers: HeaderList = ()) -> None:
        self._inner.answer(status, body, kind, [*headers, *self._added])

    def begin_events(self, headers: HeaderList = ()) -> None:
        self._inner.begin_events([*headers, *self._added])
