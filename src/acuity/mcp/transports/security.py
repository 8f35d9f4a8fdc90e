"""Who may speak HTTP to the server: checks of Host, Origin and token in front of every endpoint.

A page in a browser can make a name of its own resolve to 127.0.0.1 and then talk to a server here as if it
were its own (DNS rebinding). The Host header gives such a page away, and Origin any other foreign page.
"""

from __future__ import annotations

import hmac
import ipaddress
import logging
import socket
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from mcp_types import INVALID_REQUEST
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from acuity.mcp.settings import SettingsError
from acuity.mcp.tokens import TOKEN_VARIABLE
from acuity.mcp.transports.address import Address, is_loopback
from acuity.mcp.transports.messages import encode, error_message

logger: Final = logging.getLogger(__name__)

_ASKED: Final = frozenset({b"host", b"origin", b"authorization"})
_ALLOW_HOST: Final = "start it with --allow-host, or use its address"


@dataclass(frozen=True, slots=True)
class HttpSecurity:
    """What an HTTP endpoint asks of its clients."""

    token: str | None = field(default=None, repr=False)
    names: frozenset[str] = frozenset()  # host names that clients may call this server by
    reachable: bool = False  # from other machines, by any of this one's addresses
    wrong_host: str = _ALLOW_HOST  # the remedy for who calls it by another name

    @classmethod
    def for_address(
        cls, address: Address, *, token: str | None = None, names: Collection[str] = ()
    ) -> HttpSecurity:
        """The checks for what listens there; raises SettingsError if strangers could get in."""
        reachable = not is_loopback(address.host)
        if reachable and token is None:
            raise SettingsError(
                f"'{address.host}' can be reached from other machines, which takes a token: "
                f"pass --token-file FILE or set {TOKEN_VARIABLE}, or listen on 127.0.0.1"
            )
        own = {socket.gethostname(), address.host} if reachable else set()
        return cls(token, frozenset(name.lower() for name in {*names, *own}), reachable)

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

    def knows_token(self, authorization: str | None) -> bool:
        if self.token is None:
            return True
        scheme, _, given = (authorization or "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self.token.encode())


class Guarded:
    """An application behind those checks."""

    def __init__(self, app: ASGIApp, security: HttpSecurity) -> None:
        self._app = app
        self._security = security

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = self._refusal(scope) if scope["type"] == "http" else None
        await (refused or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        # In one pass: this is asked for every request.
        headers = {name: value.decode("latin-1") for name, value in scope["headers"] if name in _ASKED}
        host, origin = headers.get(b"host"), headers.get(b"origin")
        if not self._security.knows_host(host):
            return _refuse(421, f"this server isn't called '{host}': {self._security.wrong_host}")
        if not self._security.knows_origin(origin, host):
            return _refuse(403, f"pages of '{origin}' may not use this server")
        # Before it sends a token a browser asks whether the page may, without one.
        preflight = scope["method"] == "OPTIONS" and origin is not None
        if not preflight and not self._security.knows_token(headers.get(b"authorization")):
            response = _refuse(401, "this server takes a bearer token in the Authorization header")
            response.headers["WWW-Authenticate"] = 'Bearer realm="acuity"'
            return response
        return None


@lru_cache(maxsize=256)  # clients send the same ones again and again
def _host(url: str) -> str | None:
    """The host of a URL in lower case, without port and brackets; None where it makes no sense."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for what is none
        return parts.hostname if parts.username is None else None
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
