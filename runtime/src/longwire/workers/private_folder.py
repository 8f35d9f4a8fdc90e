"""A folder for this process alone, removed at its end; the next process removes those of killed ones."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Final

_PREFIX: Final = "longwire-"
_LOCK: Final = "process.lock"
_YOUNG: Final = 60.0  # seconds in which a folder without a lock may still get one


class PrivateFolder:
    """A new folder that only this user can enter. A lock in it tells that its process lives."""

    def __init__(self) -> None:
        _remove_left()
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = os.open(self.path / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def remove(self) -> None:
        """Remove it with everything in it. May be called again."""
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


def _remove_left() -> None:
    """Remove the folders of this user whose process has ended."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            about = folder.lstat()
            if about.st_uid == os.getuid() and _is_left(folder, about.st_mtime):
                shutil.rmtree(folder, ignore_errors=True)


def _is_left(folder: Path, changed: float) -> bool:
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return time.time() - changed > _YOUNG
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
