"""Opens files for reading. The engine opens files only here, so that one check covers them all.

A process that reads files for clients installs a guard with restrict(). The guard then checks every
descriptor after it is opened and before a byte is read, so a path that changes between check and opening
does no harm. Pipes, devices and standard input are refused then, because no path describes their content.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeAlias

from acuity.errors import PathError

# Gets a descriptor and its requested path; raises PathError if it must not be read.
Guard: TypeAlias = Callable[[int, str], None]

_PLAIN: Final = os.O_RDONLY | os.O_CLOEXEC
# For untrusted paths: opening must neither wait for a pipe's writer nor take over a terminal.
_WARY: Final = _PLAIN | os.O_NONBLOCK | os.O_NOCTTY

# Blocks of a fingerprint, of 4 MiB in all: a smaller file is read completely.
_BLOCKS: Final = 64
_BLOCK: Final = 1 << 16

_KINDS: Final = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link that leads to no file",
}

_LARGE: Final = 64 << 20  # bytes of a file whose digest is worth remembering
_SETTLED: Final = 2 * 10**9  # nanoseconds after which a change shows in a file's time
_MOST_DIGESTS: Final = 4096
Identity = tuple[str, int, int, int, int]
_DIGESTS: Final[dict[Identity, str]] = {}  # of the files that this process has read

_guard: Guard | None = None


def restrict(guard: Guard | None) -> None:
    """Let this process read only files that the guard accepts; None removes the guard."""
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


def regular_opener(path: str, flags: int) -> int:
    """For open() of what is read as a whole, with or without a guard: raises PathError for pipes and devices.

    A pipe without a writer would block for ever, and a device may never end.
    """
    if _guard is not None:
        return open_local(path)
    fd = os.open(path, _WARY)
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):  # open() refuses a folder in its own words
        return fd
    os.close(fd)
    kind = _KINDS.get(stat.S_IFMT(mode), "something special")
    raise PathError(f"'{path}' is not a regular file: it is {kind}, so name a file")


def local_size(path: str | os.PathLike[str]) -> int | None:
    """The size of a plain file in bytes; None if the path leads to anything else or to nothing."""
    try:
        status = _status(path)
    except PathError:
        raise
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def fingerprint(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The size of a plain file, and a digest of blocks all over it; None if it can't be read or is none.

    It tells apart files of raw video too, whose sizes are equal and whose first and last frames may be black.
    """
    size = local_size(path)
    if size is None:
        return None
    import hashlib

    digest = hashlib.sha256()
    try:
        with open(path, "rb", opener=local_opener) as file:
            for number in range(_BLOCKS):
                file.seek(max(size - _BLOCK, 0) * number // (_BLOCKS - 1))
                digest.update(file.read(_BLOCK))
    except OSError:
        return None
    return {"bytes": size, "sha256": digest.hexdigest()}


def list_local(folder: str) -> list[str]:
    """The names in a folder, hidden ones left out; raises OSError.

    A guard knows descriptors of files, not folders, so a process that has one lists nothing.
    """
    if _guard is not None:
        raise PathError(f"'{folder}' is not searched for images here: name a file")
    return [name for name in os.listdir(folder or os.curdir) if not name.startswith(".")]


def refuse_special(mode: int, what: str) -> None:
    """Raise PathError unless the mode is a plain file's; `what` names the file."""
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something special")
        raise PathError(f"{what} is {kind}, and only plain files are read here: name a file")


def _status(path: str | os.PathLike[str]) -> os.stat_result:
    if _guard is None:
        return os.stat(path)  # opening a pipe would wake its writer
    fd = open_local(path)
    try:
        return os.fstat(fd)
    finally:
        os.close(fd)


class DigestCache(Protocol):
    """Remembers documents by key; a cache file is one."""

    def document(self, key: str) -> Any: ...

    def remember(self, key: str, document: Any) -> None: ...


def identity(path: str) -> Identity:
    """A key that changes when the file does: its path, size, times and inode; raises OSError."""
    status = os.stat(path)
    # The time of the last change of the inode can't be set back, as that of the bytes can.
    return os.path.abspath(path), status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def file_digest(path: str, memory: DigestCache | None = None) -> str:
    """SHA-256 of a file's bytes, remembered while its size, times and inode stay the same."""
    about = identity(path)
    if about in _DIGESTS:
        return _DIGESTS[about]
    if about[1] < _LARGE:
        memory = None
    key = f"digest of {about}"
    known = None if memory is None else memory.document(key)
    digest = known if isinstance(known, str) else ""
    if not digest:
        import hashlib

        with open(path, "rb", buffering=0, opener=local_opener) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    if time.time_ns() - about[2] <= _SETTLED:
        return digest  # another change might leave the same times
    if memory is not None and known is None:
        memory.remember(key, digest)
    while len(_DIGESTS) >= _MOST_DIGESTS:
        _DIGESTS.pop(next(iter(_DIGESTS)), None)
    _DIGESTS[about] = digest
    return digest
