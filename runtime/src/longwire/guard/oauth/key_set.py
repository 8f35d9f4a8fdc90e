"""The public keys of an authorization server (a JSON Web Key Set), and which algorithms each is for.

A key is used only with algorithms of its own kind. So nobody can have a public key taken for the secret of an
HMAC, and what a token says about its key (`jwk`, `jku`, `x5c`, `x5u`) is never read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWK, PyJWTError

from longwire.errors import SettingsError
from longwire.foreign_json import parse_json
from longwire.text import quoted

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
class Key:
    """One key that signatures can be checked with."""

    id: str | None
    algorithms: frozenset[str]
    public: Any  # of cryptography; PyJWT knows each kind


@dataclass(frozen=True, slots=True, eq=False)
class KeySet:
    """The usable keys of a set. Another object is another state of the set."""

    keys: Sequence[Key]

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

    def find(self, key_id: str | None, algorithm: str) -> Sequence[Key] | None:
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


def _key(entry: object) -> Key | None:
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
    return Key(key_id, algorithms, public)
