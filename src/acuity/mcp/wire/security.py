"""Checks of Host, Origin and token in front of every HTTP endpoint.

A page in a browser can make a name of its own resolve to 127.0.0.1 and then talk to a server here as if it
were its own (DNS rebinding). The Host header gives such a page away, and Origin any other foreign page.
"""

from __future__ import annotations

import ipaddress
import logging
import re
import socket
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from mcp_types import INVALID_REQUEST

from acuity.errors import SettingsError
from acuity.mcp.principal import PRINCIPAL
from acuity.mcp.wire.http.request import Handler, HeaderList, Request, Responder
from acuity.mcp.wire.http.routes import answer_text, refuse
from acuity.mcp.wire.listeners import Address, is_loopback
from acuity.mcp.wire.messages import Refused
from acuity.mcp.wire.tokens import TOKEN_VARIABLE, Tokens, bearer

logger: Final = logging.getLogger(__name__)

_ASKED: Final = frozenset({"host", "origin", "authorization"})
_ALLOW_HOST: Final = "start it with --allow-host, or use its address"
# A host and its port, and nothing else: `urlsplit` would take what follows a slash for a path, and pass it.
_HOST: Final = re.compile(r"[A-Za-z0-9._~%!$&'()*+,;=:\[\]-]+")

_NO_TOKEN: Final = "this server takes a bearer token in the Authorization header"
_CHALLENGE: Final[HeaderList] = [(b"www-authenticate", b'Bearer realm="acuity"')]
_PREFLIGHT: Final[HeaderList] = [
    (b"access-control-allow-methods", b"GET, POST, DELETE, OPTIONS"),
    (
        b"access-control-allow-headers",
        b"Accept, Authorization, Content-Type, Last-Event-ID, "
        b"MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, X-MCP-Session",
    ),
    (b"access-control-max-age", b"600"),
]


@dataclass(frozen=True, slots=True)
class HttpSecurity:
    """The checks of one HTTP endpoint."""

    tokens: Tokens = field(default_factory=Tokens)
    names: frozenset[str] = frozenset()  # host names that clients may call this server by
    reachable: bool = False  # from other machines, by any of this one's addresses
    wrong_host: str = _ALLOW_HOST  # the remedy for clients that call it by another name

    @classmethod
    def for_address(
        cls, address: Address, *, tokens: Tokens | None = None, names: Collection[str] = ()
    ) -> HttpSecurity:
        """The checks for an endpoint at that address; raises SettingsError if strangers could get in."""
        reachable = not is_loopback(address.host)
        tokens = tokens or Tokens()
        if reachable and not tokens:
            raise SettingsError(
                f"'{address.host}' can be reached from other machines, which takes a token: "
                f"pass --token-file FILE or set {TOKEN_VARIABLE}, or listen on 127.0.0.1"
            )
        own = {socket.gethostname(), address.host} if reachable else set()
        return cls(tokens, frozenset(name.lower() for name in {*names, *own}), reachable)

    def knows_host(self, header: str | None) -> bool:
        """Whether a Host header names this server."""
        host = _host(f"//{header}") if header else None
        if host is None:
            return False
        # By number no name was resolved, so none can have been rebound.
        return is_loopback(host) or host in self.names or (self.reachable and _is_number(host))

    def knows_origin(self, origin: str | None, host_header: str | None) -> bool:
        """Whether a request comes from no page at all, or from one that may ask."""
        if origin is None:
            return True
        host = _host(origin) if origin.startswith(("http://", "https://")) else None
        if host is None:
            return False
        return is_loopback(host) or host in self.names or host == _host(f"//{host_header}")


@dataclass(frozen=True, slots=True)
class Access:
    """The checks that all HTTP endpoints of a server have in common."""

    tokens: Tokens = field(default_factory=Tokens)
    names: frozenset[str] = frozenset()  # further host names this server is called by
    wrong_host: str = _ALLOW_HOST
    local_pages: bool = False  # whether pages of this machine's own servers may read answers

    def at(self, address: Address) -> HttpSecurity:
        """The checks for an endpoint at that address; raises SettingsError if strangers could get in."""
        security = HttpSecurity.for_address(address, tokens=self.tokens, names=self.names)
        return replace(security, wrong_host=self.wrong_host)

    def guard(self, handler: Handler, address: Address) -> Handler:
        """The handler behind the checks for that address."""
        return Guarded(LocalPages(handler) if self.local_pages else handler, self.at(address))


class Guarded:
    """A handler behind the checks. Sets PRINCIPAL for everything that an admitted request starts."""

    def __init__(self, handler: Handler, security: HttpSecurity) -> None:
        self._handler = handler
        self._security = security

    def __call__(self, request: Request, responder: Responder) -> None:
        refusal = self._refusal(request)
        if refusal is not None:
            refusal.answer(responder)
            return
        before = PRINCIPAL.set(request.principal)
        try:
            self._handler(request, responder)
        finally:
            PRINCIPAL.reset(before)

    def _refusal(self, request: Request) -> _Refusal | None:
        """Note whose request it is, or return the answer that refuses it."""
        for name in request.repeated:
            if name in _ASKED:
                return _Refusal(400, f"the request has two {name.title()} headers: send one")
        headers = request.headers
        host, origin = headers.get("host"), headers.get("origin")
        if not self._security.knows_host(host):
            return _Refusal(421, f"this server isn't called '{host}': {self._security.wrong_host}")
        if not self._security.knows_origin(origin, host):
            return _Refusal(403, f"pages of '{origin}' may not use this server")
        # Before it sends a token a browser asks whether the page may, without one.
        preflight = request.method == "OPTIONS" and origin is not None
        tokens = self._security.tokens
        if tokens and not preflight:
            token = bearer(headers.get("authorization"))
            principal = tokens.find(token) if token is not None else None
            if principal is None:
                return _Refusal(401, _NO_TOKEN, _CHALLENGE)
            request.principal = principal
        return None


class _Refusal(NamedTuple):
    """The answer to a request that isn't admitted."""

    status: int
    reason: str
    headers: HeaderList = ()

    def answer(self, responder: Responder) -> None:
        logger.warning(
            "refused a request: %s", self.reason, extra={"event": "http_refused", "status": self.status}
        )
        refuse(responder, Refused(INVALID_REQUEST, self.reason), self.status, self.headers)


class LocalPages:
    """A handler whose answers pages may read (CORS), behind the check of their origin."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    def __call__(self, request: Request, responder: Responder) -> None:
        origin = request.headers.get("origin")
        if origin is None:
            # An image or script of a foreign page: it could read nothing, but it would keep a place.
            if request.headers.get("sec-fetch-site") == "cross-site":
                answer_text(responder, 403, "foreign pages may not use this server")
            else:
                self._handler(request, responder)
            return
        added = [
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-expose-headers", b"Mcp-Session-Id"),
            (b"vary", b"Origin"),
        ]
        if request.method == "OPTIONS":
            responder.answer(204, headers=[*_PREFLIGHT, *added])
        else:
            self._handler(request, _WithHeaders(responder, added))


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


@lru_cache(maxsize=256)  # clients send the same ones again and again
def _host(url: str) -> str | None:
    """The host of a URL in lower case, without port and brackets; None where it makes no sense."""
    if not _HOST.fullmatch(url.partition("//")[2]):
        return None
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises ValueError for a bad port
        return parts.hostname
    except ValueError:
        return None


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
