"""SHA-256 of files, remembered while they stay unchanged."""

from __future__ import annotations

import hashlib
import os
import time
from typing import Any, Final, Protocol

from acuity.video.local_file import local_opener

_CHUNK: Final = 1 << 20
_LARGE: Final = 64 << 20  # bytes of a file whose digest is worth remembering
_SETTLED: Final = 2 * 10**9  # nanoseconds after which a change shows in a file's time
_MOST_DIGESTS: Final = 4096
Identity = tuple[str, int, int, int, int]
_DIGESTS: Final[dict[Identity, str]] = {}  # of the files that this process has read


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
    digest = known if isinstance(known, str) else _read_digest(path)
    if time.time_ns() - about[2] <= _SETTLED:
        return digest  # another change might leave the same times
    if memory is not None and known is None:
        memory.remember(key, digest)
    while len(_DIGESTS) >= _MOST_DIGESTS:
        _DIGESTS.pop(next(iter(_DIGESTS)), None)
    _DIGESTS[about] = digest
    return digest


def _read_digest(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0, opener=local_opener) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
