"""Checks of Host, Origin and token in front of every HTTP endpoint.

A page in a browser can make a name of its own resolve to 127.0.0.1 and then talk to a server here as if it
were its own (DNS rebinding). The Host header gives such a page away, and Origin any other foreign page. A
page of an admitted origin may send requests and read the answers (CORS).
"""

from __future__ import annotations

import re
import socket
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from longwire.errors import SettingsError
from longwire.guard.auth_hook import AuthHook
from longwire.guard.authentication import Authentication, Refusal
from longwire.guard.origins import Origins
from longwire.guard.proxies import TrustedProxies, parse_address
from longwire.guard.refusal_lines import RefusalLines
from longwire.guard.tokens import Tokens
from longwire.names import own_names
from longwire.principals.principal import PRINCIPAL, Principal
from longwire.text import quoted
from longwire.wire.http.request import CURRENT_ID, Handler, HeaderList, Request, Responder
from longwire.wire.http.routes import answer_text
from longwire.wire.listeners import Address, is_loopback

if TYPE_CHECKING:
    from longwire.guard.oauth.resource_server import ResourceServer

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


def _for_page(request: Request, responder: Responder) -> bool:
    """Let the page that sent a request, if one did, read its answer; False: it is answered already."""
    origin = request.headers.get("origin")
    if origin is None:
        # An image or script of a foreign page: it could read nothing, but it would keep a place.
        if request.headers.get("sec-fetch-site") != "cross-site":
            return True
        answer_text(responder, 403, "foreign pages may not use this server")
        return False
    request.answer_headers = page_headers(origin)
    if request.method != "OPTIONS":
        return True
    # Parameters of tools have headers of their own names, so those that are asked for are allowed.
    asked = request.headers.get("access-control-request-headers", "").split(",")
    parameters = [name.strip() for name in asked if _PARAMETER.fullmatch(name.strip())]
    allowed = ", ".join([_HEADERS, *parameters]).encode()
    responder.answer(204, headers=[*_ALLOWED, (b"access-control-allow-headers", allowed)])
    return False


def page_headers(origin: str) -> HeaderList:
    """The headers that let a page of that origin read an answer."""
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", _EXPOSED),
        (b"vary", b"Origin"),
    ]


_ASKED: Final = frozenset({"host", "origin", "authorization"})
# A host and its port, and nothing else: `urlsplit` would take what follows a slash for a path, and pass it.
_HOST: Final = re.compile(r"[A-Za-z0-9._~%!$&'()*+,;=:\[\]-]+")
_NO_ORIGIN: Final = Refusal(403, "origin", "requests from other machines take an allowed Origin, or a token")
_MOST_KNOWN: Final = 256  # pairs of Host and Origin that are remembered as admitted


@dataclass(frozen=True, slots=True)
class HttpSecurity:
    """The checks of Host and Origin at one HTTP endpoint."""

    names: frozenset[str] = frozenset()  # host names that clients may call this server by
    reachable: bool = False  # from other machines, by any of this one's addresses
    origins: Origins = field(default_factory=Origins)  # if there are any: the pages that may use it

    def knows_host(self, header: str | None) -> bool:
        host = _host(f"//{header}") if header else None
        if host is None:
            return False
        # For an address no name was resolved, so none can have been rebound.
        number = host.partition("%")[0] if ":" in host else host  # an IPv6 address may name its interface
        by_number = self.reachable and parse_address(number) is not None
        return is_loopback(host) or host in self.names or by_number

    def knows_origin(self, origin: str | None, host_header: str | None) -> bool:
        """Whether a request comes from no page at all, or from one of an admitted origin."""
        if origin is None:
            return True
        if self.origins:
            return origin in self.origins
        host = _host(origin) if origin.startswith(("http://", "https://")) else None
        if host is None:
            return False
        return is_loopback(host) or host in self.names or host == _host(f"//{host_header}")

    def admits_pageless(self, principal: Principal, address: str) -> bool:
        """Whether a request without an Origin may pass: if origins are listed, remote ones need a token."""
        return not self.origins or principal.has_token or is_loopback(address)


@dataclass(frozen=True, slots=True)
class Access:
    """The checks that all HTTP endpoints of a server have in common."""

    tokens: Tokens = field(default_factory=Tokens)
    names: frozenset[str] = frozenset()  # further host names this server is called by
    wrong_host: str = "start it with --allow-host, or use its address"  # the remedy for other names
    local_pages: bool = False  # whether pages of this machine's own servers may read answers
    origins: Origins = field(default_factory=Origins)  # if there are any: those whose pages may use it
    hook: AuthHook | None = None
    oauth: ResourceServer | None = None  # whose tokens are accepted too
    proxies: TrustedProxies = field(default_factory=TrustedProxies, compare=False)  # who speak for clients
    plain_refusals: bool = False  # {"error": "…"}, not JSON-RPC: what is behind the checks is no MCP
    refused: Counter[str] = field(default_factory=Counter, repr=False, compare=False)  # by reason
    authentication: Authentication = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # One for all endpoints: a client that guesses at one port is slowed down at all of them.
        object.__setattr__(self, "authentication", Authentication(self.tokens, self.hook, oauth=self.oauth))

    def at(self, address: Address) -> HttpSecurity:
        """The checks for an endpoint at that address; raises SettingsError if strangers could get in."""
        reachable, names = not is_loopback(address.host), set(self.names)
        if reachable:
            if not self.authentication:
                raise SettingsError(
                    f"'{address.host}' can be reached from other machines, which takes a token: set "
                    f"token_file (--token-file FILE) or {own_names().token_variable}, or listen on 127.0.0.1"
                )
            names |= {socket.gethostname(), address.host}
        if self.oauth is not None:
            names.add(self.oauth.host)
        return HttpSecurity(frozenset(name.lower() for name in names), reachable, self.origins)


class Guarded:
    """A handler behind the checks. Sets PRINCIPAL for everything that an admitted request starts."""

    def __init__(
        self,
        access: Access,
        handler: Handler,
        address: Address,
        *,
        for_operators: bool = False,
        open_paths: Collection[str] = (),
        is_open: Callable[[Request], bool] | None = None,
    ) -> None:
        """The checks are those for that address.

        Ports of operators take no token from this machine: programs there that scrape or probe have none.
        Open paths, and other requests of which `is_open` says so, take none from anybody.
        """
        self._access = access
        self._handler = handler
        self.proxies = access.proxies
        self._security = access.at(address)
        no_token = for_operators and is_loopback(address.host)
        self._authentication = Authentication(Tokens()) if no_token else access.authentication
        self._for_pages = not for_operators
        oauth = access.oauth if self._for_pages else None
        # Handlers, by path, for everybody: no token and no origin is asked for.
        self._open_pages: Mapping[str, Handler] = {} if oauth is None else oauth.pages
        self._open_paths = frozenset(open_paths)  # these take no token
        self._is_open = is_open or (lambda _: False)  # nor do these
        self._lines = RefusalLines()
        self._on_refused = self._lines.answered
        self._known: dict[tuple[str | None, str | None], None] = {}  # pairs of Host and Origin that passed
        self._allowed = access.origins.allowed  # the origins that were allowed then

    def __call__(self, request: Request, responder: Responder) -> None:
        self.proxies.locate(request)
        refusal = self._refusal(request)
        if refusal is not None:
            self._refuse(refusal, request, responder)
            return
        if (page := self._open_pages.get(request.path)) is not None:
            page(request, responder)
            return
        if self._serves_pages and not _for_page(request, responder):
            return
        if not self._authentication or self._takes_no_token(request):
            self._decided(request, responder, request.principal)
            return
        found = self._authentication.check(request)
        if found is None:
            self._authentication.ask(request, partial(self._decided, request, responder))
        else:
            self._decided(request, responder, found)

    def admits(self, request: Request, responder: Responder) -> bool:
        """Check a request whose body has not arrived yet; answers it and returns False if it is refused.

        So no client without a token can make the server read and keep a long body.
        """
        self.proxies.locate(request)
        refusal = self._refusal(request)
        if refusal is None and request.path in self._open_pages:
            return True
        takes_token = self._authentication and request.method == "POST" and not self._takes_no_token(request)
        if refusal is None and takes_token:
            found = self._authentication.check(request)
            refusal = found if isinstance(found, Refusal) else None
            request.answer_headers = self.page_headers(request.headers)
        if refusal is not None:
            self._refuse(refusal, request, responder)
        return refusal is None

    def page_headers(self, headers: Mapping[str, str]) -> HeaderList:
        """The headers that let the page which sent a request read a refusal, by the request's headers."""
        origin, host = headers.get("origin"), headers.get("host")
        if not self._serves_pages or origin is None:
            return ()
        known = self._security.knows_host(host) and self._security.knows_origin(origin, host)
        return page_headers(origin) if known else ()

    @property
    def _serves_pages(self) -> bool:
        return self._for_pages and (self._access.local_pages or bool(self._access.origins))

    def _takes_no_token(self, request: Request) -> bool:
        return request.path in self._open_paths or self._is_open(request)

    def _refusal(self, request: Request) -> Refusal | None:
        """Why a request may not come here, whoever sends it."""
        for name in request.repeated:
            if name in _ASKED:
                return Refusal(400, "doubled", f"the request has two {name.title()} headers: send one")
        host, origin = request.headers.get("host"), request.headers.get("origin")
        if self._allowed is not self._access.origins.allowed:  # they were read again
            self._allowed = self._access.origins.allowed
            self._known.clear()
        if (host, origin) in self._known:
            return None
        if host is None:
            return Refusal(400, "host", "the request has no Host header: send one")
        if not self._security.knows_host(host):
            remedy = self._access.wrong_host
            return Refusal(421, "host", f"this server isn't called {quoted(host)}: {remedy}")
        if request.path in self._open_pages:
            return None
        if not self._security.knows_origin(origin, host):
            return Refusal(403, "origin", f"pages of {quoted(origin)} may not use this server")
        if len(self._known) < _MOST_KNOWN:
            self._known[host, origin] = None
        return None

    def _decided(self, request: Request, responder: Responder, found: Principal | Refusal) -> None:
        if isinstance(found, Refusal):
            self._refuse(found, request, responder)
            return
        if responder.gone:  # the hook took its time
            return
        pageless = "origin" not in request.headers and not self._takes_no_token(request)
        if pageless and not self._security.admits_pageless(found, request.address):
            self._refuse(_NO_ORIGIN, request, responder)
            return
        request.principal = found
        request.on_refused = self._on_refused
        copy_context().run(self._handle, request, responder)

    def _handle(self, request: Request, responder: Responder) -> None:
        PRINCIPAL.set(request.principal)
        CURRENT_ID.set(request.id)
        self._handler(request, responder)

    def _refuse(self, refusal: Refusal, request: Request, responder: Responder) -> None:
        self._access.refused[refusal.word] += 1
        refusal.answer(request, responder, self._lines, plain=self._access.plain_refusals)


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
