"""The public keys of an authorization server: which algorithms each is for, and where they come from.

A key is used only with algorithms of its own kind. So nobody can have a public key taken for the secret of an
HMAC, and what a token says about its key (`jwk`, `jku`, `x5c`, `x5u`) is never read.

Keys come from a file that is read again when it changes, or from a URL.

Keys of a URL are kept for a while and then fetched in the background, so a server that is slow or down delays
nobody whose key is known. A token with an unknown key has them fetched at once, but not often.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import httpx2
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWK, PyJWTError

from longwire.errors import SettingsError
from longwire.foreign_json import parse_json
from longwire.text import quoted
from longwire.wire.listeners import is_loopback

LONGEST: Final = 256 << 10  # bytes of a set
_MOST: Final = 100  # keys of a set
_LONGEST_ID: Final = 256  # characters of a key's id
_RSA_BITS: Final = range(2048, 8192 + 1)  # fewer can be broken, more take long
_PRIVATE: Final = ("d", "p", "q", "k")  # members that no public key has

_RSA: Final = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
_KINDS: Final[Mapping[tuple[object, object], frozenset[str]]] = {
    ("RSA", None): _RSA,
    ("EC", "P-256"): frozenset({"ES256"}),
    ("EC", "P-384"): frozenset({"ES384"}),
    ("EC", "P-521"): frozenset({"ES512"}),
    ("OKP", "Ed25519"): frozenset({"EdDSA"}),
    ("OKP", "Ed448"): frozenset({"EdDSA"}),
}
ALGORITHMS: Final = frozenset[str]().union(*_KINDS.values())


@dataclass(frozen=True, slots=True)
class SigningKey:
    id: str | None
    algorithms: frozenset[str]
    public: Any  # of cryptography; PyJWT knows each kind


@dataclass(frozen=True, slots=True, eq=False)
class KeySet:
    """The usable keys of a set. Another object is another state of the set."""

    keys: Sequence[SigningKey]

    @classmethod
    def parse(cls, document: bytes, source: str) -> KeySet:
        """Parse a JSON document; keys that can't be used here are passed over. Raises SettingsError."""
        if len(document) > LONGEST:
            raise SettingsError(f"the key set '{source}' has more than {LONGEST} bytes: it should be small")
        try:
            found = parse_json(document)
        except ValueError:
            raise SettingsError(f"the key set '{source}' is no JSON: it should be a JWK Set") from None
        listed = found.get("keys") if isinstance(found, dict) else None
        if not isinstance(listed, list) or len(listed) > _MOST:
            raise SettingsError(f"the key set '{source}' has no list 'keys' of up to {_MOST} keys")
        usable = [key for entry in listed if (key := _key(entry)) is not None]
        if not usable:
            raise SettingsError(
                f"the key set '{source}' has no usable key: it should have public RSA keys of 2048 bits or "
                "more, or keys of P-256, P-384, P-521, Ed25519 or Ed448, for signatures"
            )
        return cls(usable)

    def find(self, key_id: str | None, algorithm: str) -> Sequence[SigningKey] | None:
        """The keys that a token may be signed with; None: this set doesn't have its key.

        A token that names no key can only be signed with the only key that fits.
        """
        if key_id is None:
            fitting = [key for key in self.keys if algorithm in key.algorithms]
            return fitting if len(fitting) == 1 else ()
        named = [key for key in self.keys if key.id == key_id]
        return [key for key in named if algorithm in key.algorithms] if named else None


def checked_id(given: object) -> str | None:
    """The id of a key in a token or a set; raises ValueError."""
    if given is None or (isinstance(given, str) and 0 < len(given) <= _LONGEST_ID):
        return given
    raise ValueError(f"{quoted(given)} is no id of a key")


def _key(entry: object) -> SigningKey | None:
    """The key of an entry; None: it isn't usable here."""
    if not isinstance(entry, dict) or any(name in entry for name in _PRIVATE):
        return None
    kind = entry.get("kty")
    algorithms = _KINDS.get((kind, entry.get("crv") if kind != "RSA" else None))
    operations = entry.get("key_ops")
    if algorithms is None or entry.get("use", "sig") != "sig":
        return None
    if operations is not None and (not isinstance(operations, list) or "verify" not in operations):
        return None
    if (named := entry.get("alg")) is not None:
        algorithms &= {named} if isinstance(named, str) else set()
    if not algorithms:
        return None
    try:
        public = PyJWK(entry, min(algorithms)).key
        key_id = checked_id(entry.get("kid"))
    except (PyJWTError, ValueError, TypeError, KeyError, AttributeError):
        return None
    if isinstance(public, RSAPublicKey) and public.key_size not in _RSA_BITS:
        return None
    return SigningKey(key_id, algorithms, public)


logger: Final = logging.getLogger(__name__)

FRESH: Final = 300.0  # seconds after which keys are fetched again
KEPT: Final = 24 * 3600.0  # seconds that keys are used while no others can be had
SPACING: Final = 30.0  # seconds between two attempts to fetch them
_FIRST_SPACING: Final = 5.0  # the same as long as there are none
_TIMEOUT: Final = 5.0  # seconds for one attempt, all of it
_EVENT: Final = {"event": "oauth_keys"}

Fetch: TypeAlias = Callable[[str], Awaitable[bytes]]


class FileKeys:
    """The keys of a file. It is looked at for each new token, and read if it has changed."""

    may_know_more: Final = False  # there is nothing to refresh because of an unknown key

    def __init__(self, path: str) -> None:
        """Read the file; raises SettingsError."""
        self._path = path
        self._seen = self._stamp()
        self._keys = self._read()

    @property
    def keys(self) -> KeySet:
        stamp = self._stamp()
        if stamp != self._seen and stamp is not None:
            self._seen = stamp
            self.reload()
        return self._keys

    async def refresh(self) -> None:
        self.reload()

    def reload(self) -> None:
        """Read the keys again; if that fails, the old ones stay and the log says why."""
        try:
            self._keys = self._read()
        except SettingsError as error:
            logger.error("the keys stay as they were: %s", error, extra=_EVENT)
        else:
            logger.info("read the key set again", extra={**_EVENT, "keys": len(self._keys.keys)})

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self._path)
        except (OSError, ValueError):
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self) -> KeySet:
        try:
            with Path(self._path).open("rb") as file:
                document = file.read(LONGEST + 1)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise SettingsError(
                f"can't read the key set '{self._path}': {reason}: name a file that can be read"
            ) from None
        return KeySet.parse(document, self._path)


class UrlKeys:
    def __init__(
        self, url: str, fetch: Fetch | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._url = checked_url(url, "the address of the key set")
        self._fetch = fetch or fetch_document
        self._clock = clock
        self._keys: KeySet | None = None
        self._since = 0.0  # when they were fetched
        self._tried: float | None = None  # when that was last tried
        self._task: asyncio.Task[None] | None = None

    @property
    def keys(self) -> KeySet | None:
        """None: there are none yet, or none that are young enough."""
        if self._keys is None:
            return None
        age = self._clock() - self._since
        if age >= FRESH and self.may_know_more:
            self._attempt()
        return self._keys if age < KEPT else None

    @property
    def may_know_more(self) -> bool:
        """Whether it makes sense to refresh now because of a key that is unknown."""
        if self._task is not None or self._tried is None:
            return True
        return self._clock() - self._tried >= (_FIRST_SPACING if self._keys is None else SPACING)

    async def refresh(self) -> None:
        await asyncio.shield(self._attempt())  # one is for all who wait

    def reload(self) -> None:
        self._attempt()

    def _attempt(self) -> asyncio.Task[None]:
        if self._task is None:
            self._tried = self._clock()
            self._task = asyncio.get_running_loop().create_task(self._get())
        return self._task

    async def _get(self) -> None:
        try:
            async with asyncio.timeout(_TIMEOUT):
                document = await self._fetch(self._url)
            self._keys = KeySet.parse(document, self._url)
            self._since = self._clock()
            logger.info("got the key set", extra={**_EVENT, "keys": len(self._keys.keys)})
        except Exception as error:  # whatever it is, the next attempt may succeed
            late = f"no whole answer within {_TIMEOUT:g} s" if isinstance(error, TimeoutError) else ""
            reason = late or str(error) or type(error).__name__
            logger.warning("can't get the key set '%s': %s", self._url, reason, extra=_EVENT)
        finally:
            self._task = None


def key_source(place: str) -> FileKeys | UrlKeys:
    """The keys at a URL or in a file; raises SettingsError."""
    return UrlKeys(place) if "://" in place else FileKeys(place)


async def fetch_document(url: str) -> bytes:
    """Get a small document. Redirects aren't followed: they could lead to anybody's keys."""
    parts = urlsplit(url)
    on_this_machine = is_loopback(parts.hostname or "")  # no proxy knows the way to it
    # Reading the machine's certificates takes a third of a second.
    trust = await asyncio.to_thread(ssl.create_default_context) if parts.scheme == "https" else False
    headers = {"Accept": "application/jwk-set+json, application/json"}
    async with (
        httpx2.AsyncClient(
            timeout=_TIMEOUT,
            verify=trust,
            trust_env=not on_this_machine,
            follow_redirects=False,
            headers=headers,
        ) as http,
        http.stream("GET", url) as answer,
    ):
        if answer.status_code != 200:
            raise SettingsError(f"it answers with the status {answer.status_code}")
        found = b""
        async for part in answer.aiter_bytes():
            found += part
            if len(found) > LONGEST:
                raise SettingsError(f"it has more than {LONGEST} bytes")
        return found


def checked_url(text: str, what: str) -> str:
    """The URL if it is one of https, or of http on this machine; raises SettingsError."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port  # raises ValueError for a bad port
    except ValueError:
        host = None
    if host is None or not text.isascii() or not text.isprintable() or " " in text:
        raise SettingsError(f"{what} '{text}' is no URL: write one such as 'https://auth.example/keys'")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        raise SettingsError(f"{what} '{text}' isn't safe: use https, or http on this machine")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise SettingsError(f"{what} '{text}' has a user or a fragment: leave it out")
    return text
