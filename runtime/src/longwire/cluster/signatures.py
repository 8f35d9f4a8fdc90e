"""Signed requests between nodes, without I/O: what is signed, how, and what is refused.

A node that passes a request on sends it with one more header:

    longwire-forwarded: v1 FROM TO TIME NONCE PRINCIPAL MAC

MAC is an HMAC with the cluster's key over all of these, the method, path and query, every header that is
passed on, and the digest of the body. TO is the label and the incarnation of the receiver, so that nothing
can be replayed at another node, or at one that was restarted and has forgotten its nonces. TIME is Redis's
clock, which all nodes share, whatever their own clocks say.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from longwire.errors import SettingsError
from longwire.foreign_json import parse_json
from longwire.principals.principal import Principal
from longwire.principals.rates import parse_rate
from longwire.wire.http.request import Request

FORWARDED: Final = "longwire-forwarded"
PREFIX: Final = "longwire-"  # of headers between nodes, which no client may send
WINDOW: Final = 30.0  # seconds that a signature counts, before and after its time
_VERSION: Final = "v1"
_MOST_NONCES: Final = 200_000  # of one window: more requests can't be told from replays

# Headers about the connection of client and node, or for that node alone: never passed on.
_OWN: Final = frozenset((
    "host", "connection", "keep-alive", "content-length", "transfer-encoding", "te", "trailer", "upgrade",
    "expect", "authorization", "proxy-authorization", "proxy-connection", "cookie", "origin",
))  # fmt: skip


class BadSignature(Exception):
    """A request that isn't a fresh one of another node for this one: a word for counters, and the reason."""

    def __init__(self, word: str, reason: str) -> None:
        super().__init__(reason)
        self.word = word


def unsigned() -> BadSignature:
    """The refusal of a request that no node has signed."""
    return BadSignature("unsigned", "the request isn't signed: this port is for other nodes")


@dataclass(frozen=True, slots=True)
class Sender:
    """The node that passed a request on, and the client on whose behalf."""

    node: str
    principal: Principal
    address: str  # of the client
    peer: str  # with its port


def passed_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of a request that go to another node."""
    passed = (name for name in headers if name not in _OWN and not name.startswith(PREFIX))
    return {name: headers[name] for name in passed}


class Signatures:
    """Signs the requests that this node passes on, and checks those of others, whose nonces it remembers."""

    def __init__(self, key: bytes, node: str, incarnation: str, clock: Callable[[], float]) -> None:
        self._key = key
        self._node = node
        self._incarnation = incarnation
        self._clock = clock
        self._nonces: set[str] = set()
        self._older: set[str] = set()  # of the window before
        self._turn = clock() + 2 * WINDOW  # when the older ones are forgotten

    def header(self, request: Request, node: str, incarnation: str) -> str:
        """The value of FORWARDED for a request to that node."""
        nonce, time = secrets.token_urlsafe(18), f"{self._clock():.3f}"
        fields = (_VERSION, self._node, f"{node}/{incarnation}", time, nonce, _document(request))
        return " ".join((*fields, _mac(self._key, fields, request)))

    def check(self, request: Request) -> Sender:
        """The sender of a request; raises BadSignature."""
        given = request.headers.get(FORWARDED)
        if given is None:
            raise unsigned()
        fields = given.split(" ")
        if len(fields) != 7 or fields[0] != _VERSION or request.repeated:
            raise BadSignature("forged", "the signature has another form")
        *signed, mac = fields
        if not hmac.compare_digest(mac.encode(), _mac(self._key, signed, request).encode()):
            raise BadSignature("forged", "the signature is wrong: nodes of a cluster share one secret")
        _, node, receiver, time, nonce, document = signed
        # From here on it was a node that made it, or somebody who has one of its requests.
        if node == self._node:
            raise BadSignature("own", f"it is of a node with this one's label '{node}': labels are for one")
        if receiver != f"{self._node}/{self._incarnation}":
            raise BadSignature("misdirected", f"it is for '{receiver}', and this is another node or process")
        self._check_time(float(time))
        self._remember(nonce)
        return _sender(node, document)

    def _check_time(self, time: float) -> None:
        late = self._clock() - time
        if abs(late) > WINDOW:
            how = "old" if late > 0 else "ahead"
            raise BadSignature("stale", f"it is {abs(late):.0f} s {how}, and {WINDOW:.0f} s are the most")

    def _remember(self, nonce: str) -> None:
        now = self._clock()
        if now >= self._turn:
            self._older = self._nonces if now < self._turn + 2 * WINDOW else set()
            self._nonces = set()
            self._turn = now + 2 * WINDOW
        if nonce in self._nonces or nonce in self._older:
            raise BadSignature("replayed", "it came before")
        if len(self._nonces) >= _MOST_NONCES:
            raise BadSignature("flooded", "more requests came in a minute than can be told from replays")
        self._nonces.add(nonce)


def _mac(key: bytes, fields: list[str] | tuple[str, ...], request: Request) -> str:
    """The MAC of a request. Each part has its length before it, so that no part passes for two."""
    found = hmac.new(key, digestmod="sha256")
    headers = sorted(passed_headers(request.headers).items())
    body = hashlib.sha256(request.body).hexdigest()
    parts = [*fields, request.method, request.path, request.query, body]
    for text in (*parts, *(text for header in headers for text in header)):
        data = text.encode("utf-8", "surrogateescape")
        found.update(b"%d:" % len(data))
        found.update(data)
    return found.hexdigest()


def _document(request: Request) -> str:
    """The principal and address of a request, as text without blanks."""
    principal = request.principal
    document: dict[str, Any] = {
        "key": principal.key,
        "scopes": sorted(principal.scopes),
        "lists": {kind: None if own is None else sorted(own) for kind, own in principal.lists.items()},
        "rate": None if principal.rate is None else str(principal.rate),
        "address": request.address,
        "peer": request.peer,
    }
    return base64.urlsafe_b64encode(json.dumps(document, separators=(",", ":")).encode()).decode()


def _sender(node: str, document: str) -> Sender:
    try:
        found = parse_json(base64.urlsafe_b64decode(document))
        rate = None if found["rate"] is None else parse_rate(found["rate"])
        lists = {kind: None if own is None else frozenset(own) for kind, own in found["lists"].items()}
        principal = Principal(str(found["key"]), frozenset(found["scopes"]), rate=rate).limited_to(lists)
        return Sender(node, principal, str(found["address"]), str(found["peer"]))
    except (ValueError, KeyError, TypeError, binascii.Error, SettingsError):
        raise BadSignature("forged", "its principal can't be read: nodes should be of one version") from None
