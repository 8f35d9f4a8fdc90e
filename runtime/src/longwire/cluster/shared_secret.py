"""The secret that the nodes of a cluster share, and the keys that are made of it.

Each use has a key of its own (HKDF, RFC 5869), so that nothing made for one passes for the other.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from longwire.errors import SettingsError

SHORTEST: Final = 32  # characters
_LONGEST: Final = 4096  # bytes
_SALT: Final = b"longwire/cluster/1"
_OTHERS: Final = 0o007  # permissions of everybody


@dataclass(frozen=True, slots=True)
class ClusterKeys:
    """What the nodes of one cluster sign and seal with."""

    forwarding: bytes = field(repr=False)  # requests that one node passes on to another
    request_state: bytes = field(repr=False)  # of calls that take several rounds
    fingerprint: str = ""  # tells whether two nodes have the same secret, and nothing else about it

    @classmethod
    def of(cls, secret: bytes) -> ClusterKeys:
        """The keys that all nodes with this secret have."""
        return cls(
            hkdf(secret, b"forwarding", salt=_SALT),
            hkdf(secret, b"request-state", salt=_SALT),
            hkdf(secret, b"fingerprint", salt=_SALT, length=16).hex(),
        )


def read_secret(path: Path) -> bytes:
    """The secret of a file, without the blanks around it; raises SettingsError, which doesn't repeat it."""
    try:
        with path.open("rb") as file:
            found = file.read(_LONGEST + 1)
    except OSError as error:
        raise SettingsError(
            f"can't read the cluster's secret '{path}': {os.strerror(error.errno or 0)}; "
            "name a file that all nodes have"
        ) from None
    if len(found) > _LONGEST:
        raise SettingsError(f"the cluster's secret '{path}' has over {_LONGEST} bytes: make a shorter one")
    secret = found.strip()
    if len(secret) < SHORTEST:
        raise SettingsError(
            f"the cluster's secret '{path}' has {len(secret)} characters, and {SHORTEST} are the least: "
            "make one with 'openssl rand -hex 32'"
        )
    return secret


def secret_oversight(path: Path) -> str | None:
    """What is wrong with a secret's file that can be used; None: nothing."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return None
    if stat.S_ISREG(mode) and mode & _OTHERS:
        return f"everybody on this machine can use the cluster's secret '{path}': chmod 600 it"
    return None


def hkdf(secret: bytes, info: bytes, *, salt: bytes = b"", length: int = 32) -> bytes:
    """HMAC-based key derivation with SHA-256."""
    size = hashlib.sha256().digest_size
    pseudorandom = hmac.digest(salt or bytes(size), secret, "sha256")
    made, block = b"", b""
    for number in range(1, -(-length // size) + 1):
        block = hmac.digest(pseudorandom, block + info + bytes([number]), "sha256")
        made += block
    return made[:length]
