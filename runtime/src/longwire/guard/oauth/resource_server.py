"""This server as an OAuth 2.1 resource server: the principals of tokens, and refusals where there is none.

The answers are those of the MCP specification (authorization, 2025-11-25 and 2026-07-28) and of RFC 6750 and
RFC 9728: 401 and 403 name the document that says where tokens are to be had.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Final
from urllib.parse import quote, urlsplit

import pydantic_core
from mcp.server.auth.provider import AccessToken, TokenVerifier

from longwire.errors import SettingsError
from longwire.guard.grants import NO_SCOPES, Rejected, Scopes, Undecided
from longwire.guard.oauth.jwt_verifier import JwtVerifier, Verifier
from longwire.guard.oauth.key_sources import checked_url, key_source
from longwire.guard.tokens import digest
from longwire.names import own_names
from longwire.principals.principal import Principal
from longwire.wire.http.request import Handler, HeaderList, Request, Responder
from longwire.wire.http.routes import JSON, for_methods

logger: Final = logging.getLogger(__name__)

METADATA: Final = "/.well-known/oauth-protected-resource"
_MOST_KNOWN: Final = 4096  # tokens that are remembered
_MOST_ASKED: Final = 256  # tokens that are being checked
_SCOPE: Final = re.compile(r"[!#-\[\]-~]+", re.ASCII)  # RFC 6749
_REFRESHING: Final = "offline_access"  # a scope that clients ask for, and no resource names
_BUSY: Final = Undecided("too many tokens are being checked: try again later", word="keys")
# Open to every page: there is nothing in it that isn't meant for everybody.
_FOR_PAGES: Final[HeaderList] = [(b"access-control-allow-origin", b"*"), (b"cache-control", b"max-age=300")]
_PREFLIGHT: Final[HeaderList] = [
    (b"access-control-allow-methods", b"GET, HEAD, OPTIONS"),
    (b"access-control-allow-headers", b"*"),
    (b"access-control-max-age", b"600"),
    *_FOR_PAGES,
]


class ResourceServer:
    """Says whom the tokens of an authorization server stand for."""

    def __init__(
        self,
        verifier: Verifier,
        *,
        issuer: str,
        resource: str,
        scopes: Scopes = NO_SCOPES,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`resource` is the URL that clients know this server by; raises SettingsError if it is none."""
        self._verifier = verifier
        self._issuer = checked_url(issuer, "the OAuth issuer")
        self._resource = checked_url(resource, "the OAuth resource")
        self._scopes = scopes
        self._wall = wall
        self._version = verifier.version
        self._known: OrderedDict[bytes, tuple[Principal, float]] = OrderedDict()  # with their ends
        self._asked: dict[bytes, asyncio.Task[Principal | Rejected | Undecided]] = {}
        parts = urlsplit(resource)
        path = parts.path.rstrip("/")
        self.host: Final = parts.hostname or ""  # the name that clients call this server by
        self._metadata_url = f"{parts.scheme}://{parts.netloc}{METADATA}{path}"
        page = for_methods(("GET", "HEAD", "OPTIONS"), self._show)
        # Open to all, by path: at the root, and where RFC 9728 puts that of a resource with a path.
        self.pages: Final[Mapping[str, Handler]] = dict.fromkeys(
            (METADATA, f"{METADATA}/mcp", f"{METADATA}{path}"), page
        )

        self.takes: Final = verifier.takes  # whether a token is this object's to judge
        self.signed: Final = verifier.signed  # whether tokens prove themselves, so that none can be guessed

    def owns(self, principal: Principal) -> bool:
        """Whether a token of OAuth proved this principal."""
        return " " in principal.key and principal.has_token  # names of other tokens have no blanks

    def reload(self) -> None:
        """Read the keys again, and find out anew what the scopes of tokens open."""
        self._known.clear()
        self._verifier.reload()

    def find(self, token: str) -> Principal | Rejected | Undecided | None:
        """The principal of a token, as far as it is known at once; None: `ask` has to be called."""
        proof = digest(token)
        if self._version is not (version := self._verifier.version):
            self._version = version
            self._known.clear()  # the key of a token may be gone
        if (known := self._known.get(proof)) is not None:
            if self._wall() < known[1]:
                return known[0]
            del self._known[proof]
        found = self._verifier.verify(token)
        return None if found is None else self._remembered(found, proof)

    def ask(self, token: str, done: Callable[[Principal | Rejected | Undecided], None]) -> None:
        """Have `done` called with what the verifier says: later, from a task."""
        proof = digest(token)
        task = self._asked.get(proof)  # one check answers all that ask the same at once
        if task is None:
            if len(self._asked) >= _MOST_ASKED:
                done(_BUSY)
                return
            task = self._asked[proof] = asyncio.get_running_loop().create_task(self._decide(token, proof))
            task.add_done_callback(lambda _: self._asked.pop(proof, None))

        def ended(task: asyncio.Task[Principal | Rejected | Undecided]) -> None:
            if not task.cancelled():
                done(task.result())

        task.add_done_callback(ended)

    async def _decide(self, token: str, proof: bytes) -> Principal | Rejected | Undecided:
        return self._remembered(await self._verifier.decide(token), proof)

    def _remembered(
        self, found: AccessToken | Rejected | Undecided, proof: bytes
    ) -> Principal | Rejected | Undecided:
        if not isinstance(found, AccessToken):
            return found
        principal = self._principal(found, proof)
        self._known[proof] = (principal, self._verifier.lasts(found))
        self._known.move_to_end(proof)
        if len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)
        return principal

    @property
    def _supported(self) -> list[str]:
        """The scopes that open something."""
        return sorted(n for n in self._scopes.tools if _SCOPE.fullmatch(n) and n != _REFRESHING)

    def _principal(self, access: AccessToken, proof: bytes) -> Principal:
        """The principal of a token: its subject at its issuer, or the client where there is no subject.

        The blank in the name keeps it from being that of a token file or a hook, the quoting one subject from
        being another.
        """
        issuer = str((access.claims or {}).get("iss") or self._issuer)
        subject = access.subject
        quoted = quote(subject or access.client_id, safe="@", errors="surrogatepass")
        name = quoted if subject else f"client:{quoted}"
        scopes = frozenset(access.scopes)
        # Where scopes open tools, a token without any opens none.
        own: frozenset[str] | None = frozenset() if self._scopes.tools else None
        lists = self._scopes.allowlists(scopes, {"tools": own})
        made = Principal.of_token(f"{quote(issuer, safe=':/?&=%+@,;~')} {name}", scopes)
        return replace(made.limited_to(lists), proof=proof)

    # ---- what clients are told --------------------------------------------------------------

    def challenge(
        self, error: str = "", description: str = "", scopes: Collection[str] | None = None
    ) -> bytes:
        """The WWW-Authenticate header of a refusal; the scopes are those to ask for, all if not given."""
        wanted = " ".join(self._supported if scopes is None else scopes)
        said = {"realm": own_names().name, "error": error, "error_description": description}
        said |= {"scope": wanted, "resource_metadata": self._metadata_url}
        return b"Bearer " + ", ".join(f'{name}="{text}"' for name, text in said.items() if text).encode()

    def missing_scope(self, principal: Principal, tool: str) -> str | None:
        """A scope that would open a tool which this principal may not call; None: none would."""
        if not self.owns(principal) or principal.may_call(tool):
            return None
        for name in self._supported:
            if any(fnmatchcase(tool, pattern) for pattern in self._scopes.tools[name]):
                return name
        return None

    def granted_scopes(self, principal: Principal) -> list[str]:
        """The scopes of a principal that mean something here."""
        return [name for name in self._supported if name in principal.scopes]

    def _show(self, request: Request, responder: Responder) -> None:
        if request.method == "OPTIONS":
            responder.answer(204, headers=_PREFLIGHT)
            return
        document: dict[str, object] = {
            "resource": self._resource,
            "authorization_servers": [self._issuer],
            "bearer_methods_supported": ["header"],
            "resource_name": own_names().title,
        }
        if self._supported:
            document["scopes_supported"] = list(self._supported)
        responder.answer(200, pydantic_core.to_json(document), JSON, _FOR_PAGES)


def resource_server(
    issuer: str | None,
    audiences: Collection[str],
    jwks: str | None,
    resource: str | None,
    scopes: Scopes = NO_SCOPES,
) -> ResourceServer:
    """The resource server of these settings; raises SettingsError.

    Without audiences, tokens have to be for the resource.
    """
    given = {"oauth_issuer": issuer, "oauth_jwks": jwks, "oauth_resource": resource}
    if issuer is None or jwks is None or resource is None:
        lacking = " and ".join(name for name, value in given.items() if value is None)
        raise SettingsError(f"OAuth takes oauth_issuer, oauth_jwks and oauth_resource: set {lacking} too")
    verifier = JwtVerifier(issuer, audiences or (resource,), key_source(jwks))
    return ResourceServer(verifier, issuer=issuer, resource=resource, scopes=scopes)


_UNKNOWN: Final = Rejected("the token is unknown or has expired")
_FAILED: Final = Undecided("the token can't be checked now: try again later", word="keys")
_REMEMBERED: Final = 5.0  # seconds
_TIMEOUT: Final = 5.0  # seconds for an answer


class SdkVerifier(Verifier):
    """Asks the verifier about each token. Its answer is remembered for some seconds."""

    def __init__(self, verifier: TokenVerifier, *, resource: str | None = None) -> None:
        """With a `resource`, only tokens that the verifier says are for it are accepted."""
        self._verifier = verifier
        self._resource = resource

    def lasts(self, access: AccessToken) -> float:
        end = time.time() + _REMEMBERED
        return end if access.expires_at is None else min(end, access.expires_at)

    async def decide(self, token: str) -> AccessToken | Rejected | Undecided:
        try:
            async with asyncio.timeout(_TIMEOUT):
                found = await self._verifier.verify_token(token)
        except Exception as error:  # without its text, which may repeat the token
            fields = {"event": "oauth_verifier"}
            logger.error("the token verifier failed: %s", type(error).__name__, extra=fields)
            return _FAILED
        if found is None or (found.expires_at is not None and found.expires_at <= time.time()):
            return _UNKNOWN
        if self._resource is not None and found.resource != self._resource:
            return Rejected("the token is for another audience")
        return found
