"""Pages in browsers: what lets a page of an admitted origin send requests and read the answers (CORS)."""

from __future__ import annotations

import re
from typing import Final

from longwire.wire.http.request import HeaderList, Request, Responder
from longwire.wire.http.routes import answer_text

_ALLOWED: Final[HeaderList] = [
    (b"access-control-allow-methods", b"GET, POST, DELETE, OPTIONS"),
    (b"access-control-max-age", b"600"),
]
_HEADERS: Final = (
    "Accept, Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, "
    "Mcp-Name, X-MCP-Session, Traceparent, Tracestate, X-Request-Id"
)
_PARAMETER: Final = re.compile(r"mcp-param-[A-Za-z0-9!#$%&'*+.^_`|~-]+", re.IGNORECASE)
_EXPOSED: Final = b"Mcp-Session-Id, Retry-After, WWW-Authenticate, X-Request-Id"


def for_page(request: Request, responder: Responder) -> Responder | None:
    """The responder for a request whose origin was admitted; None: it is answered already."""
    origin = request.headers.get("origin")
    if origin is None:
        # An image or script of a foreign page: it could read nothing, but it would keep a place.
        if request.headers.get("sec-fetch-site") == "cross-site":
            answer_text(responder, 403, "foreign pages may not use this server")
            return None
        return responder
    added = page_headers(origin)
    if request.method == "OPTIONS":
        # Parameters of tools have headers of their own names, so those that are asked for are allowed.
        asked = request.headers.get("access-control-request-headers", "").split(",")
        parameters = [name.strip() for name in asked if _PARAMETER.fullmatch(name.strip())]
        allowed = ", ".join([_HEADERS, *parameters]).encode()
        responder.answer(204, headers=[*_ALLOWED, (b"access-control-allow-headers", allowed), *added])
        return None
    return _WithHeaders(responder, added)


def page_headers(origin: str) -> HeaderList:
    """The headers that let a page of that origin read an answer."""
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", _EXPOSED),
        (b"vary", b"Origin"),
    ]


def with_headers(responder: Responder, added: HeaderList) -> Responder:
    """A responder that adds these headers to the answer."""
    return _WithHeaders(responder, added) if added else responder


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
