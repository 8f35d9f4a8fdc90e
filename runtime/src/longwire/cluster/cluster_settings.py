"""The settings of one node of a cluster, checked: nothing is connected or opened.

The secret that the nodes share is one of them. Each use has a key of its own, made of it (HKDF, RFC 5869), so
that nothing made for one passes for the other.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from longwire.cluster.redis_address import RedisAddress
from longwire.cluster.redis_link import check_label, check_prefix
from longwire.errors import SettingsError
from longwire.text import quoted

SHORTEST: Final = 32  # characters
_LONGEST: Final = 4096  # bytes
_SALT: Final = b"longwire/cluster/1"
_OTHERS: Final = 0o007  # permissions of everybody


@dataclass(frozen=True, slots=True)
class ClusterKeys:
    """The keys with which the nodes of one cluster sign and seal."""

    forwarding: bytes = field(repr=False)  # requests that one node passes on to another
    request_state: bytes = field(repr=False)  # of calls that take several rounds
    fingerprint: str = ""  # tells whether two nodes have the same secret, and nothing else about it

    @classmethod
    def of(cls, secret: bytes) -> ClusterKeys:
        """The keys that all nodes with this secret have."""
        forwarding, request_state = (_derived(secret, use) for use in (b"forwarding", b"request-state"))
        return cls(forwarding, request_state, _derived(secret, b"fingerprint", 16).hex())


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
    """A sentence about a fault of a secret's file that can be used; None: there is none."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return None
    if stat.S_ISREG(mode) and mode & _OTHERS:
        return f"everybody on this machine can use the cluster's secret '{path}': chmod 600 it"
    return None


def _derived(secret: bytes, use: bytes, length: int = 32) -> bytes:
    return HKDF(hashes.SHA256(), length, _SALT, use).derive(secret)


_HOST: Final = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")


def check_address(address: str) -> None:
    """Raise SettingsError for an address that other nodes can't reach."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    plain = parts.scheme == "http" and not (parts.path.strip("/") or parts.query or parts.fragment)
    if not plain or "@" in parts.netloc or not host or not port or not _HOST.fullmatch(host):
        raise SettingsError(f"{quoted(address)} is no address of a node: write http://HOST:PORT")
    if address.endswith("/"):
        raise SettingsError(f"{quoted(address)} ends with a slash: leave it out")
    try:
        anywhere = ip_address(host).is_unspecified
    except ValueError:
        anywhere = False
    if anywhere:
        raise SettingsError(f"{quoted(address)} is where a port listens, not where it is: name this machine")


def _given(check: Callable[[Any], object], remedy: str) -> Callable[[Any], None]:
    """The check of a value that has to be there."""

    def run(value: object) -> None:
        if value is None:
            raise SettingsError(remedy)
        check(value)

    return run


# By the name of the key. The checks raise SettingsError.
CHECKS: Final[dict[str, Callable[[Any], object]]] = {
    "redis": RedisAddress,
    "node": _given(check_label, "a node of a cluster has a label of its own, such as n1: set [cluster] node"),
    "address": _given(
        check_address,
        "the other nodes have to know where this one is: set [cluster] address to http://HOST:PORT",
    ),
    "secret_file": _given(
        read_secret,
        "the nodes of a cluster share a secret: write one with 'openssl rand -hex 32' to a file, "
        "and set [cluster] secret_file",
    ),
    "prefix": check_prefix,
}
