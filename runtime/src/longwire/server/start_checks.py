"""Checks of a configuration before the server starts: faults that would stop it, settings without effect.

Nothing is bound, created or locked. Sentences begin with the key's line in the file, its option or its
variable.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from longwire.cluster.cluster_settings import CHECKS as CLUSTER_CHECKS
from longwire.cluster.cluster_settings import secret_oversight
from longwire.config.effective import Effective, Source
from longwire.config.key import Problems
from longwire.contract.envelopes import command_words
from longwire.declared import declared
from longwire.errors import SettingsError
from longwire.journal.stores import file_store
from longwire.wire.listeners import Address, check_socket_path, is_loopback, resolve

PORTS: Final = ("server.http", "server.sse", "server.metrics")  # with the tokens of clients
ADMIN: Final = "admin.listen"  # with tokens of its own
PEERS: Final = "cluster.peers"  # with signatures
_SHARED: Final = {"server.http", "server.sse"}  # may be the same port
_OF_HTTP: Final = "sessions are of Streamable HTTP only: set http too"
_ANY: Final = ("0.0.0.0", "::")  # hosts that stand for all addresses of the machine


@contextmanager
def blaming(found: Effective, path: str, source: Source | None = None) -> Iterator[None]:
    """Begin the sentences of errors with where the key is set."""
    try:
        yield
    except SettingsError as error:
        if not error.problems:
            raise
        raise SettingsError(*(f"{found.named(path, source)}: {said}" for said in error.problems)) from None


@contextmanager
def noting(problems: Problems, found: Effective, path: str, source: Source | None = None) -> Iterator[None]:
    """Note errors, with where the key is set, and go on behind the block."""
    with problems.noted(), blaming(found, path, source):
        yield


def check_start(found: Effective) -> None:
    """Raise SettingsError for what the server can't start with: all of it at once."""
    problems = Problems()
    for check in declared().checks:
        with problems.noted():
            check(found, problems)
    for path, look in _SINGLE.items():
        with noting(problems, found, path):
            look(found)
    for check in _CHECKS:
        with problems.noted():
            check(found, problems)
    problems.tell()


def _check_data(found: Effective) -> None:
    data = found["server.data"]
    folder = Path(os.path.realpath(data))
    there = next(place for place in (folder, *folder.parents) if place.exists())
    if not there.is_dir():
        raise SettingsError(f"the data folder '{data}' can't be made: '{there}' is no folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise SettingsError(
            f"the data folder '{data}' can't be used: '{there}' can't be written; name another folder"
        )


def _check_ports(found: Effective, problems: Problems) -> None:
    used: dict[str, tuple[Address, Any]] = {}
    for path in (*PORTS, ADMIN, PEERS):
        with noting(problems, found, path):
            if (address := found[path]) is not None:
                used[path] = address, resolve(address)
    for (first, (one, known)), (second, (other, also)) in combinations(used.items(), 2):
        shared = {first, second} == _SHARED and one == other
        if not shared and _overlap(known, also):
            place = found.source(first).place
            with noting(problems, found, second):
                raise SettingsError(f"{other} is the port of {first} already ({place}): choose another")


def _overlap(one: tuple[int, tuple[Any, ...]], other: tuple[int, tuple[Any, ...]]) -> bool:
    """Whether two addresses can't be listened on at once."""
    (family, (host, port, *_)), (other_family, (other_host, other_port, *_)) = one, other
    if port != other_port or port == 0:
        return False
    if family != other_family:  # '::' takes both families
        return bool((host if family == socket.AF_INET6 else other_host) == "::")
    return bool(host == other_host) or host in _ANY or other_host in _ANY


def _check_admin(found: Effective) -> None:
    """The token of operators may leave the machine encrypted only: an eavesdropper could end sessions."""
    address = found[ADMIN]
    if address is not None and not is_loopback(address.host) and found["server.tls_certificate"] is None:
        raise SettingsError(
            f"'{address.host}' can be reached from other machines, which takes TLS: "
            "set tls_certificate, or listen on 127.0.0.1"
        )


def _check_socket(found: Effective) -> None:
    if (path := found["server.uds"]) is not None:
        check_socket_path(path)


def _check_store(found: Effective) -> None:
    store = file_store(found["store.sessions"])
    if store is not None and found["server.http"] is not None:
        path = store[1]
        folder, data = os.path.dirname(os.path.abspath(path)), os.path.abspath(found["server.data"])
        if folder != data or os.path.exists(data):  # otherwise a start makes it
            store[0].check(Path(path))


def _check_cluster(found: Effective, problems: Problems) -> None:
    if found["cluster.redis"] is None:
        return
    for name, check in CLUSTER_CHECKS.items():
        path = f"cluster.{name}"
        set_at = "cluster.redis" if found.source(path).kind == "default" else path
        with noting(problems, found, set_at):
            check(found[path])
    with noting(problems, found, "cluster.redis"):
        if found[PEERS] is None:
            raise SettingsError("the other nodes need a port of this one: set [cluster] peers to [HOST:]PORT")
    with noting(problems, found, "cluster.redis"):
        if found["server.http"] is None:
            raise SettingsError("the nodes of a cluster share sessions of Streamable HTTP: set http too")
    with noting(problems, found, PEERS):
        peers, address = found[PEERS], found["cluster.address"]
        far = address is not None and not is_loopback(urlsplit(address).hostname or "")
        if peers is not None and is_loopback(peers.host) and far:
            raise SettingsError(
                f"'{peers}' can be reached from this machine only, and other nodes are sent to {address}: "
                "listen on 0.0.0.0, or on an address of the nodes' own network"
            )
    if found.source("store.sessions").kind != "default":
        with noting(problems, found, "store.sessions"):
            raise SettingsError("a node of a cluster keeps its sessions in Redis: leave the store out")


def _check_workers(found: Effective, problems: Problems) -> None:
    named = [path for path in _WORKERS if found[path]]
    if not named:
        return
    with noting(problems, found, named[0]):
        if found["server.http"] is None:
            raise SettingsError("workers serve Streamable HTTP only: set http too")
        for path in ("server.stdio", "server.uds", "server.sse"):
            if found[path]:
                name = path.partition(".")[2]
                raise SettingsError(f"workers serve Streamable HTTP only: leave {name} out")
    if (command := found["workers.command"]) is not None:
        with noting(problems, found, "workers.command"):
            program = command_words(command)[0]
            if shutil.which(program) is None:
                raise SettingsError(f"there is no program '{program}': install it, or correct it")
    for path in found["workers.sockets"]:
        with noting(problems, found, "workers.sockets"):
            if not os.path.isabs(path):
                raise SettingsError(f"the socket '{path}' is not absolute: write the whole path")


_WORKERS: Final = ("workers.method_workers", "workers.command", "workers.sockets")
# Checks of one key each.
_SINGLE: Final[dict[str, Callable[[Effective], None]]] = {
    "server.data": _check_data,
    ADMIN: _check_admin,
    "server.uds": _check_socket,
    "store.sessions": _check_store,
}
_CHECKS: Final = (_check_ports, _check_cluster, _check_workers)


def start_warnings(found: Effective) -> list[str]:
    """Sentences about settings that are allowed, but that have no effect."""
    said = [f"the variable {name} means nothing: did you mean {near}?" for name, near in found.mistyped]
    said += declared().warnings(found)
    each, most = found["mcp.max_sessions_per_principal"], found["mcp.max_sessions"]
    if each > most and found.source("mcp.max_sessions_per_principal").kind != "default":
        said.append(
            f"{found.named('mcp.max_sessions_per_principal')}: {each} is more than max_sessions, {most}: "
            "lower it, or raise max_sessions"
        )
    remote_admin = found[ADMIN] is not None and not is_loopback(found[ADMIN].host)
    no_http = found["server.http"] is found["server.sse"] is None
    stored = found.source("store.sessions").kind != "default"
    tls = "TLS is for HTTP only: set http or sse too"
    rows = [  # keys, whether they have no effect if they are set, and why
        ("store.sessions", stored and found["server.http"] is None, _OF_HTTP),
        ("admin.token_file", found[ADMIN] is None, "not used: set the port of admin too"),
        ("server.tls_certificate", no_http and not remote_admin, tls),
        ("server.tls_key", no_http and not remote_admin, tls),
        ("auth.oauth_issuer", no_http, "OAuth is for HTTP only: set http or sse too"),
        ("auth.token", found["auth.token_file"] is not None, "not used: there is a token file"),
    ]
    said += [f"{found.named(path)}: {why}" for path, idle, why in rows if idle and found[path] is not None]
    return [*said, *_cluster_warnings(found), *_proxy_warnings(found)]


def _proxy_warnings(found: Effective) -> Iterator[str]:
    """Warn where proxies surely connect in place of clients, and none is set."""
    if found.source("auth.trusted_proxies").kind != "default":
        return
    http = found["server.http"] or found["server.sse"]
    named = found["auth.allow_host"] and http is not None and is_loopback(http.host)
    blamed = "cluster.redis" if found["cluster.redis"] is not None else "auth.allow_host" if named else None
    if blamed is not None:
        yield (
            f"{found.named(blamed)}: clients behind a proxy count as one: name it in [auth] trusted_proxies, "
            "or set that to [] if there is none"
        )


def _cluster_warnings(found: Effective) -> Iterator[str]:
    if found["cluster.redis"] is None:
        for name in ("node", "peers", "address", "secret_file", "prefix"):
            path = f"cluster.{name}"
            if found.source(path).kind != "default":
                yield f"{found.named(path)}: this server is in no cluster: set [cluster] redis too"
    elif (oversight := secret_oversight(found["cluster.secret_file"])) is not None:
        yield f"{found.named('cluster.secret_file')}: {oversight}"
