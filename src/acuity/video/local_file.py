"""Opening files for reading: the one place where the engine does it, so that one check covers them all.

A process that reads for others installs a guard with restrict(). From then on every descriptor is shown
to the guard right after it was opened and before a byte of it is read, so nothing that happens to a path
between a check and the opening matters. Pipes, devices and standard input are refused meanwhile: what
comes out of them isn't what any path leads to.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import Final, TypeAlias

from acuity.errors import PathError

# Gets a descriptor and the path that was asked for; raises PathError where it must not be read.
Guard: TypeAlias = Callable[[int, str], None]

_PLAIN: Final = os.O_RDONLY | os.O_CLOEXEC
# A path that nobody vouches for: opening it must neither wait for a writer nor take over a terminal.
_WARY: Final = _PLAIN | os.O_NONBLOCK | os.O_NOCTTY

_KINDS: Final = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link that leads to no file",
}

_guard: Guard | None = None


def restrict(guard: Guard | None) -> None:
    """Let the whole process read only what the guard lets pass; None takes the guard away."""
    global _guard
    _guard = guard


def restricted() -> bool:
    return _guard is not None


def open_local(path: str | os.PathLike[str]) -> int:
    """A descriptor to read from, which the caller closes; raises OSError, ValueError or PathError."""
    name = os.fspath(path)
    guard = _guard
    if guard is None:
        return os.open(name, _PLAIN)
    fd = os.open(name, _WARY)
    try:
        refuse_special(os.fstat(fd).st_mode, f"'{name}'")
        guard(fd, name)
    except BaseException:
        os.close(fd)
        raise
    return fd


def local_opener(path: str, flags: int) -> int:
    """For open(path, "rb", opener=local_opener)."""
    return open_local(path)


def local_size(path: str | os.PathLike[str]) -> int | None:
    """Bytes of a plain file; None for whatever else a path may lead to, or for nothing at all."""
    try:
        status = _status(path)
    except PathError:
        raise
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def refuse_special(mode: int, what: str) -> None:
    """Raise PathError for what is no plain file; `what` names it."""
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something special")
        raise PathError(f"{what} is {kind}, and only plain files are read here: name a file")


def _status(path: str | os.PathLike[str]) -> os.stat_result:
    if _guard is None:
        return os.stat(path)  # opening would make a pipe's writer believe that somebody reads
    fd = open_local(path)
    try:
        return os.fstat(fd)
    finally:
        os.close(fd)
