"""Tells which of the servers that share a data folder are running: each locks a file of its own."""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

_SUFFIX: Final = ".lock"


class Instance:
    """This server's lock file. The system releases the lock when the process ends, for whatever reason."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError."""
        self.id = secrets.token_hex(8)
        folder.mkdir(mode=0o700, exist_ok=True)
        self._path = folder / f"{self.id}{_SUFFIX}"
        unnamed = folder / f"{self.id}.new"
        self._fd = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            unnamed.rename(self._path)  # so that other servers never see it unlocked
        except BaseException:
            os.close(self._fd)
            unnamed.unlink(missing_ok=True)
            raise

    def alive(self, other: str) -> bool:
        """Whether that server is running."""
        return other == self.id or _locked(self._path.with_name(f"{other}{_SUFFIX}"))

    def tidy(self) -> None:
        """Remove the lock files of servers that have ended."""
        for path in self._path.parent.glob(f"*{_SUFFIX}"):
            if path != self._path and not _locked(path):
                path.unlink(missing_ok=True)

    def close(self) -> None:
        if self._fd >= 0:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
            os.close(self._fd)
            self._fd = -1


def _locked(path: Path) -> bool:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
