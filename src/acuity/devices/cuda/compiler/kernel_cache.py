"""KernelCache: compiled kernels in Acuity's cache folder, which several processes may fill at once.

A file is written beside its place and renamed, so that it is always whole. It begins with a digest of its key
and its content: a file that is damaged, truncated, from elsewhere or of another version counts as
missing, and is replaced. A folder that can't be written costs time, and a note says so.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from acuity.cache_folder import FOLDER_VARIABLE, cache_folder

LARGEST: Final = 64 << 20  # bytes of all files; those used longest ago are deleted first
_LARGEST_FILE: Final = 32 << 20
_MAGIC: Final = b"acuity kernels 1\n"
_DIGEST: Final = hashlib.sha256().digest_size
_ENDING: Final = ".kernels"


def kernel_key(*parts: str) -> str:
    """The key for kernels that these texts determine."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class KernelCache:
    """Compiled kernels by key; any thread may use it."""

    def __init__(self, folder: str | None = None, *, largest: int = LARGEST) -> None:
        """`folder` is that of the kernels; None: in Acuity's cache folder."""
        self.notes: list[str] = []
        self._largest = largest
        try:
            self.folder: Path | None = Path(folder or os.path.join(cache_folder(), "kernels"))
        except RuntimeError as error:  # the user has no home
            self.folder = None
            self._note(_not_kept("the user's cache folder", str(error)))

    def find(self, key: str) -> bytes | None:
        """The kernels of that key, or None if there are none that can be used."""
        if self.folder is None:
            return None
        path = self.folder / f"{key}{_ENDING}"
        try:
            data = _read(path)
        except OSError:
            return None
        head = len(_MAGIC) + _DIGEST
        if data is None or data[:head] != _MAGIC + _digest(key, data[head:]):
            return None
        with suppress(OSError):
            os.utime(path)  # used now
        return data[head:]

    def keep(self, key: str, code: bytes) -> None:
        """Keep kernels, and delete those that were used longest ago."""
        if self.folder is None:
            return
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write(self.folder / f"{key}{_ENDING}", _MAGIC + _digest(key, code) + code)
            _delete_old(self.folder, self._largest)
        except OSError as error:
            self._note(_not_kept(f"'{self.folder}'", error.strerror or str(error)))

    def drop(self, key: str) -> None:
        """Forget kernels that the card doesn't load."""
        if self.folder is not None:
            with suppress(OSError):
                (self.folder / f"{key}{_ENDING}").unlink()

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def _not_kept(where: str, why: str) -> str:
    return (
        f"compiled kernels can't be kept in {where} ({why}), so every start compiles them: set "
        f"{FOLDER_VARIABLE} to a folder that can be written"
    )


def _write(path: Path, data: bytes) -> None:
    """Write a file beside its place and put it there at once; other processes may do the same."""
    from tempfile import mkstemp  # which takes long to import, beside a starting card

    descriptor, beside = mkstemp(prefix=f"{path.stem[:16]}-", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


def _delete_old(folder: Path, largest: int) -> None:
    """Delete what is beyond `largest` bytes, the files used longest ago first, but not the newest file."""
    files = []
    for entry in os.scandir(folder):
        with suppress(OSError):  # another process may have deleted it
            about = entry.stat(follow_symlinks=False)
            files.append((about.st_mtime, about.st_size, entry.path))
    together = 0
    for place, (_, size, path) in enumerate(sorted(files, reverse=True)):
        together += size
        if together > largest and place > 0:
            with suppress(OSError):
                os.unlink(path)


def _digest(key: str, code: bytes) -> bytes:
    return hashlib.sha256(key.encode() + code).digest()


def _read(path: Path) -> bytes | None:
    """The content of a plain file of this user or of root; None for any other file."""
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
        about = os.fstat(file.fileno())
        ours = about.st_uid in (os.geteuid(), 0)
        if not stat.S_ISREG(about.st_mode) or not ours or about.st_size > _LARGEST_FILE:
            return None
        return file.read(_LARGEST_FILE)
