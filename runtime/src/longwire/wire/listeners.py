"""Sockets that a server listens on: TCP ports, on loopback unless a host is named, and files of Unix sockets.

A socket's file is made for its owner alone, told apart from a dead server's, and removed at the end. Needs
none of the protocol's libraries, so that an address can be refused before any of them is loaded.
"""

from __future__ import annotations

import errno
import fcntl
import ipaddress
import os
import socket
import stat
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from longwire.errors import SettingsError

LOOPBACK: Final = "127.0.0.1"
# Connections that wait to be accepted: when a node is restarted, thousands of streams come back. The system
# takes no more than net.core.somaxconn.
BACKLOG: Final = 4096
LONGEST_PATH: Final = 107  # bytes, with a zero after them
_ATTEMPTS: Final = 100  # to lock a socket's folder
_REST: Final = 0.02  # seconds between them
_CREDENTIALS: Final = struct.Struct("3i")  # process, user and group, as Linux has them


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a port; port 0 lets the system choose."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """`8080`, `localhost:8080`, `0.0.0.0:8080` or `[::1]:8080`; raises SettingsError."""
        if "://" in text:
            raise SettingsError(f"'{text}' is no address: leave out '{text.partition('://')[0]}://'")
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
    family, resolved = resolve(address)
    # With the protocol named, or asyncio doesn't know it for TCP and leaves Nagle's delay on: 40 ms a call.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(str(resolved[0]) != "::"))
        listener.bind(resolved)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise SettingsError(_why_not(address, error)) from None
    return listener


def bound(listener: socket.socket) -> Address:
    host, port = listener.getsockname()[:2]
    return Address(str(host), int(port))


def resolve(address: Address) -> tuple[int, tuple[Any, ...]]:
    """The family, and the address as sockets of that family take it; raises SettingsError."""
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


@contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    """A socket that listens there; its file goes with it. Raises SettingsError."""
    check_socket_path(path)
    with _alone_in(path.parent):
        _make_room(path)
        listener = _bound(path)
    ours, owner = os.stat(path), os.getpid()
    try:
        yield listener
    finally:
        listener.close()
        if os.getpid() == owner:  # a forked child has a copy of this block, not of the server
            _remove(path, ours)


def check_socket_path(path: Path) -> None:
    """Raise SettingsError if no socket can be made there, whoever uses it. Changes nothing."""
    if "\0" in str(path):
        raise SettingsError(
            f"the socket path {str(path)!r} has a zero byte, as no file's name has: leave it out"
        )
    if (length := len(os.fsencode(path))) > LONGEST_PATH:
        raise SettingsError(
            f"the socket path '{path}' has {length} bytes, {LONGEST_PATH} are the most: shorten it"
        )
    os.close(_open_folder(path.parent))
    if _is_no_socket(path):
        raise SettingsError(f"'{path}' exists and is no socket: choose another path")


def peer_may_connect(client: socket.socket) -> bool:
    """Whether the process at the other end runs as this process's user, or as root.

    The file's mode says the same, unless somebody changes it.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    found = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(found)
    return user in (0, os.geteuid())


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keep other servers that start at the same time from taking each other's file for a dead one's."""
    descriptor = _open_folder(folder)
    try:
        _lock(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, folder: Path) -> None:
    """Lock a folder; raises SettingsError. Servers hold it for a moment only, others maybe for ever."""
    for _ in range(_ATTEMPTS):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_REST)
        except OSError as error:
            raise SettingsError(
                f"the socket's folder '{folder}' can't be locked: {error.strerror}; name another"
            ) from None
        else:
            return
    raise SettingsError(
        f"another process keeps the socket's folder '{folder}' locked: end it, or name a folder of your own"
    )


def _open_folder(folder: Path) -> int:
    try:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise SettingsError(
            f"the socket's folder '{folder}' can't be used: {error.strerror}; make it, or name another"
        ) from None


def _make_room(path: Path) -> None:
    """Remove what a dead server left behind."""
    check_socket_path(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)  # nobody listens
            return
        except FileNotFoundError:
            return
        except BlockingIOError:
            pass  # somebody does, and has a full queue
        except PermissionError:
            raise SettingsError(f"'{path}' belongs to somebody else: choose another path") from None
    raise SettingsError(f"'{path}' is in use by another server: stop it or choose another path")


def _is_no_socket(path: Path) -> bool:
    try:
        return not stat.S_ISSOCK(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False


def _bound(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # Its file is made with this mode. The umask would do as well, but belongs to the whole process.
        os.fchmod(listener.fileno(), 0o700)
        listener.bind(str(path))
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise SettingsError(f"can't make the socket '{path}': {error.strerror}") from None
    return listener


def _remove(path: Path, ours: os.stat_result) -> None:
    """Remove the file unless it is another server's by now."""
    with suppress(OSError):
        if os.path.samestat(os.lstat(path), ours):
            path.unlink()
