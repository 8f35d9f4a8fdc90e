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
from typing import Final
from urllib.parse import urlsplit

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp_types import INVALID_REQUEST
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from acuity.errors import SettingsError
from acuity.mcp.limits import ORIGIN, address_origin, token_origin
from acuity.mcp.wire.listeners import Address, is_loopback
from acuity.mcp.wire.messages import encode, error_message
from acuity.mcp.wire.tokens import TOKEN_VARIABLE, Tokens

logger: Final = logging.getLogger(__name__)

_ASKED: Final = frozenset({b"host", b"origin", b"authorization"})
_ALLOW_HOST: Final = "start it with --allow-host, or use its address"
# A host and its port, and nothing else: `urlsplit` would take what follows a slash for a path, and pass it.
_HOST: Final = re.compile(r"[A-Za-z0-9._~%!$&'()*+,;=:\[\]-]+")

_PREFLIGHT: Final = {
    "Access-Control-Allow-Methods": "GET, POST, DELETE, OPTIONS",
    "Access-Control-Allow-Headers": "Accept, Authorization, Content-Type, Last-Event-ID, "
    "MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, X-MCP-Session",
    "Access-Control-Max-Age": "600",
}
_FOREIGN: Final = Response("foreign pages may not use this server\n", 403)


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

    def guard(self, app: ASGIApp, address: Address) -> ASGIApp:
        """The application behind the checks for that address."""
        return Guarded(LocalPages(app) if self.local_pages else app, self.at(address))


class Guarded:
    """An application behind the checks. Sets ORIGIN for everything that an admitted request starts."""

    def __init__(self, app: ASGIApp, security: HttpSecurity) -> None:
        self._app = app
        self._security = security
        # By this the SDK holds a session to the token that began it.
        self._users = {name: _user(name) for name in security.tokens.principals}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        admitted = self._admit(scope)
        if isinstance(admitted, Response):
            await admitted(scope, receive, send)
            return
        before = ORIGIN.set(admitted)
        try:
            await self._app(scope, receive, send)
        finally:
            ORIGIN.reset(before)

    def _admit(self, scope: Scope) -> Response | str:
        """Return the origin of a request, or the answer that refuses it."""
        # In one pass: this is asked for every request.
        headers: dict[bytes, str] = {}
        for name, value in scope["headers"]:
            if name in _ASKED:
                if name in headers:
                    return _refuse(400, f"the request has two {name.decode().title()} headers: send one")
                headers[name] = value.decode("latin-1")
        host, origin = headers.get(b"host"), headers.get(b"origin")
        if not self._security.knows_host(host):
            return _refuse(421, f"this server isn't called '{host}': {self._security.wrong_host}")
        if not self._security.knows_origin(origin, host):
            return _refuse(403, f"pages of '{origin}' may not use this server")
        # Before it sends a token a browser asks whether the page may, without one.
        preflight = scope["method"] == "OPTIONS" and origin is not None
        if not self._users or preflight:
            return address_origin(scope)
        principal = self._security.tokens.principal(headers.get(b"authorization"))
        if principal is None:
            response = _refuse(401, "this server takes a bearer token in the Authorization header")
            response.headers["WWW-Authenticate"] = 'Bearer realm="acuity"'
            return response
        scope["user"] = self._users[principal]
        return token_origin(principal)


class LocalPages:
    """An application whose answers pages may read (CORS), behind the check of their origin."""

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
        added = [
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-expose-headers", b"Mcp-Session-Id"),
            (b"vary", b"Origin"),
        ]

        async def allow(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *added]}
            await send(message)

        if scope["method"] == "OPTIONS":
            await Response(status_code=204, headers=_PREFLIGHT)(scope, receive, allow)
        else:
            await self._app(scope, receive, allow)


def _user(principal: str) -> AuthenticatedUser:
    return AuthenticatedUser(AccessToken(token="", client_id=principal, scopes=[]))


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


def _refuse(status: int, reason: str) -> Response:
    logger.warning("refused a request: %s", reason, extra={"event": "http_refused", "status": status})
    return Response(
        encode(error_message(INVALID_REQUEST, reason)), status_code=status, media_type="application/json"
    )
