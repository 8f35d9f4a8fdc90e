"""Where an HTTP endpoint listens: `[HOST:]PORT`, resolved and bound. Loopback unless a host is named."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from acuity.errors import SettingsError

LOOPBACK: Final = "127.0.0.1"
_BACKLOG: Final = 128


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a port; port 0 lets the system choose."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """`8080`, `localhost:8080`, `0.0.0.0:8080` or `[::1]:8080`; raises SettingsError."""
        host, colon, port = text.rpartition(":")
        if not colon:
            host = LOOPBACK
        elif host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            raise SettingsError(f"'{text}' is no address: put an IPv6 host in brackets, as in [::1]:8080")
        if not host:
            raise SettingsError(f"'{text}' names no host: use PORT, or HOST:PORT with 0.0.0.0 for any")
        if not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise SettingsError(f"'{text}' is no address: use [HOST:]PORT with a port from 0 to 65535")
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@lru_cache(maxsize=256)  # asked for each request
def is_loopback(host: str) -> bool:
    """Whether a host, as bound to, can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bind(address: Address) -> socket.socket:
    """A listening socket; raises SettingsError with what is wrong with the address."""
    family, resolved = _resolve(address)
    # With the protocol named, or asyncio doesn't know it for TCP and leaves Nagle's delay on: 40 ms a call.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(str(resolved[0]) != "::"))
        listener.bind(resolved)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise SettingsError(_why_not(address, error)) from None
    return listener


def bound(listener: socket.socket) -> Address:
    """The address that a socket was given."""
    host, port = listener.getsockname()[:2]
    return Address(str(host), int(port))


def _resolve(address: Address) -> tuple[int, tuple[Any, ...]]:
    """The family, and the address as sockets of that family take it."""
    try:
        found = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError):
        raise SettingsError(f"the host '{address.host}' is unknown: name one of this machine's") from None
    # A name such as localhost may have addresses of both families, one of which is off on this machine.
    first = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    return first[0], first[4]


def _why_not(address: Address, error: OSError) -> str:
    reasons = {
        errno.EADDRINUSE: f"{address} is in use already: choose another port, or 0 for any that is free",
        errno.EADDRNOTAVAIL: f"{address} is no address of this machine: choose one that is",
        errno.EACCES: f"{address} needs privileges: choose a port above 1023",
    }
    unknown = f"can't listen on {address}: {os.strerror(error.errno or 0)}"
    return reasons.get(error.errno or 0, unknown)
