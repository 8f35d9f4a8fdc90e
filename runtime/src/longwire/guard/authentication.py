"""Finds out who sends a request: by a token of the server, of OAuth, or by asking the operator's auth hook.

They are asked in this order. A token in the server's own file is judged by that alone; one with the form of
OAuth's is never shown to the hook.

An address that sends many wrong tokens is slowed down: until its allowance has filled up again, only those
who were let in from there before are let in. So nobody can guess on, and those who are in stay in. A token
that can't have been guessed is let in always: a long one of many different characters, such as `--live`
makes, and one with a good signature. So a flood of wrong tokens keeps out nobody who has such a token.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_types import INVALID_REQUEST

from longwire.guard.auth_hook import AuthHook
from longwire.guard.grants import Rejected, Undecided, Verdict
from longwire.guard.proxies import parse_address
from longwire.guard.refusal_lines import RefusalLines
from longwire.guard.tokens import Tokens, bearer, digest, is_unguessable
from longwire.names import own_names
from longwire.principals.limits import BUSY
from longwire.principals.principal import Principal
from longwire.principals.rates import Allowances, Rate, whole_seconds
from longwire.wire.http.request import HeaderList, Request, Responder
from longwire.wire.replies import error_payload

if TYPE_CHECKING:  # it takes a moment to load, and few servers need it
    from longwire.guard.oauth.resource_server import ResourceServer

logger: Final = logging.getLogger(__name__)

WRONG_TOKENS: Final = Rate(20, 60.0)  # wrong tokens that one address may send
_TOLD: Final = Rate(1, 60.0)  # log lines about one address that guesses
_MOST_PROVEN: Final = 8192  # pairs of an address and who was let in from there


class Refusal(NamedTuple):
    """The answer to a request that isn't admitted."""

    status: int
    word: str  # for counters
    reason: str
    headers: HeaderList = ()
    code: int = INVALID_REQUEST

    def answer(
        self, request: Request, responder: Responder, lines: RefusalLines, *, plain: bool = False
    ) -> None:
        """Answer with a JSON-RPC error, or `plain` with {"error": "…"}."""
        lines.refused(request, self.status, neighbourhood(request.address), self.word, self.reason)
        said = json.dumps({"error": self.reason}).encode()
        body = said if plain else error_payload(None, self.code, self.reason)
        responder.answer(self.status, body, b"application/json", self.headers)


_MISSING: Final = "this server takes a bearer token in the Authorization header"
_UNKNOWN: Final = "the token is unknown or has expired"


class Authentication:
    """The tokens, the authorization server and the hook of a server, and the addresses that guessed."""

    def __init__(
        self,
        tokens: Tokens,
        hook: AuthHook | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        oauth: ResourceServer | None = None,
    ) -> None:
        self._tokens = tokens
        self._hook = hook
        self._oauth = oauth
        challenge = _challenge() if oauth is None else oauth.challenge()
        self._missing = Refusal(401, "token", _MISSING, [(b"www-authenticate", challenge)])
        self._wrong = Allowances(clock)
        self._told = Allowances(clock)  # of addresses that guess: log lines
        # Each address with a principal that it proved, or with the digest of a token that the hook knew.
        self._proven: OrderedDict[tuple[str, str | bytes], None] = OrderedDict()

    def __bool__(self) -> bool:
        """Whether clients have to prove who they are."""
        return self._hook is not None or self._oauth is not None or bool(self._tokens)

    def check(self, request: Request) -> Principal | Refusal | None:
        """The sender of a request, or a refusal, as far as the server itself knows; None: call `ask`."""
        token = bearer(request.headers.get("authorization"))
        if token is not None:
            place, found = neighbourhood(request.address), self._known(token)
            principal, other = (found, None) if isinstance(found, Principal) else (None, found)
            wait = self._wrong.wait(place, WRONG_TOKENS)
            # A right guess is answered like a wrong one.
            if (
                wait > 0
                and not (principal is not None and is_unguessable(token))
                and not self._is_signed(token, found)
                and (place, principal.key if principal else digest(token)) not in self._proven
            ):
                return _slowed(wait)
            if principal is not None:
                self._note_right(place, principal.key)
                return principal
            if other is not None:
                return self._refusal(other, place, token)
            if self._is_oauths(token):
                return None
            if self._hook is None:
                return self._refusal(None, place, token)
        return self._missing if self._hook is None else None

    def ask(self, request: Request, done: Callable[[Principal | Refusal], None]) -> None:
        """Have `done` called with what the authorization server or the hook says: at once or later."""
        token = bearer(request.headers.get("authorization"))
        is_oauths = token is not None and self._is_oauths(token)

        def decided(verdict: Verdict) -> None:
            place = neighbourhood(request.address)
            if not isinstance(verdict, Principal):
                wait = self._wrong.wait(place, WRONG_TOKENS)
                signed = verdict is not None and token is not None and self._is_signed(token, verdict)
                hidden = wait > 0 and is_oauths and not signed
                done(_slowed(wait) if hidden else self._refusal(verdict, place, token))
                return
            if token is not None:
                self._note_right(place, verdict.key if is_oauths else digest(token))
            done(verdict)

        if is_oauths and token is not None and self._oauth is not None:
            self._oauth.ask(token, decided)
        else:
            assert self._hook is not None
            self._hook.ask(token, request.headers, request.address, decided)

    def _known(self, token: str) -> Verdict:
        """The verdict on a token, as far as it is known at once."""
        if (principal := self._tokens.find(token)) is not None:
            return principal
        return self._oauth.find(token) if self._oauth is not None and self._oauth.takes(token) else None

    def _is_signed(self, token: str, found: Verdict) -> bool:
        """Whether a token is no guess: its issuer has signed it, or the verifier has yet to be asked."""
        if self._oauth is None or not self._oauth.signed:
            return False
        if isinstance(found, Principal):
            return self._oauth.owns(found)
        return self._oauth.takes(token) if found is None else isinstance(found, Rejected) and found.authentic

    def _is_oauths(self, token: str) -> bool:
        """Whether a token that isn't the server's own is for the authorization server to judge."""
        return self._oauth is not None and self._oauth.takes(token)

    def _refusal(self, verdict: Undecided | Rejected | None, place: str, token: str | None) -> Refusal:
        """The answer to an unknown sender; a wrong token counts as a guess."""
        if isinstance(verdict, Undecided):
            headers = [(b"retry-after", str(verdict.retry_after).encode())]
            return Refusal(503, verdict.word, verdict.reason, headers, BUSY)
        if token is None:
            return self._missing
        if verdict is None or not verdict.authentic:
            self._note_wrong(place)
        reason = _UNKNOWN if verdict is None else verdict.reason
        if self._oauth is None:
            challenge = _challenge() + b', error="invalid_token"'
        else:
            challenge = self._oauth.challenge("invalid_token", reason)
        return Refusal(401, "token", reason, [(b"www-authenticate", challenge)])

    def _note_wrong(self, place: str) -> None:
        self._wrong.take(place, WRONG_TOKENS)
        if self._wrong.wait(place, WRONG_TOKENS) == 0 or self._told.wait(place, _TOLD) > 0:
            return
        self._told.take(place, _TOLD)
        text = (
            "too many wrong tokens came from %s: only clients with long tokens, or that were let in from "
            "there before, are let in"
        )
        logger.warning(text, place, extra={"event": "guessing", "address": place})

    def _note_right(self, place: str, proof: str | bytes) -> None:
        key = (place, proof)
        self._proven[key] = None
        self._proven.move_to_end(key)
        if len(self._proven) > _MOST_PROVEN:
            self._proven.popitem(last=False)


def _slowed(wait: float) -> Refusal:
    seconds = whole_seconds(wait)
    reason = f"too many wrong tokens came from this address: try again in {seconds} s"
    return Refusal(429, "guesses", reason, [(b"retry-after", str(seconds).encode())], BUSY)


@lru_cache(maxsize=1024)
def neighbourhood(address: str) -> str:
    """The address, or the network of an IPv6 address: whoever has one of its addresses has them all."""
    found = parse_address(address.partition("%")[0])
    if found is None or found.version == 4:
        return str(found or address)
    return str(ipaddress.IPv6Network((int(found), 64), strict=False))


def _challenge() -> bytes:
    return f'Bearer realm="{own_names().name}"'.encode()
