"""Turns that several processes take: places and a fair line of tickets, as files of one folder.

    place-0, place-1, … place-short   one for each job that may run at once; taken: locked by the process that
                                      runs it, and holds the client
    line/…                            an empty file for each job that waits, named as its ticket
    processes/                        a locked file for each process (Instance)
    lock                              locked while somebody looks at the line or changes it

The system releases the locks of a process that ends, for whatever reason: its places are free at once, and
its tickets are removed by the next that sees them.
"""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from acuity.errors import JobError
from acuity.jobs.turns import Item, Ticket, Turns

logger: Final = logging.getLogger(__name__)

_POLL: Final = 0.05  # seconds
_NAME: Final = 64  # bytes of a client's digest at most


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


class SharedTurns(Turns[Item]):
    """The turns of this process among those that use the folder, all with the same number of places."""

    poll: float | None = _POLL

    def __init__(
        self, folder: Path, places: int, limit: int, each: int | None = None, most: int | None = None
    ) -> None:
        super().__init__(places, limit, each, most)
        self._folder = folder
        self._tickets = folder / "line"
        self._instance: Instance | None = None
        self._lock = -1

    def open(self) -> None:
        try:
            self._tickets.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = _opened(self._folder / "lock")
            self._instance = Instance(self._folder / "processes")
            self._instance.tidy()
        except OSError as error:
            raise self._unusable(error) from error

    def close(self) -> None:
        super().close()
        if self._instance is not None:
            self._instance.close()
            self._instance = None
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def next(self) -> Item | None:
        try:
            return super().next()
        except JobError as error:  # it is asked again soon
            logger.warning("%s", error)
            return None

    def leave(self, item: Item) -> None:
        place = self._running.pop(item, None)
        if place is not None:
            # A child that was just forked has the descriptor until it runs its program.
            fcntl.flock(place.descriptor, fcntl.LOCK_UN)
            os.close(place.descriptor)

    def positions(self) -> Iterator[tuple[Item, int]]:
        try:
            yield from super().positions()
        except JobError as error:
            logger.warning("%s", error)

    @contextmanager
    def _alone(self) -> Iterator[str]:
        if self._instance is None:
            raise JobError("the server is stopping and takes no more work: try again when it is back")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            try:
                yield self._instance.id
            finally:
                fcntl.flock(self._lock, fcntl.LOCK_UN)
        except OSError as error:
            raise self._unusable(error) from error

    def _line(self) -> list[Ticket]:
        """The tickets of running processes."""
        assert self._instance is not None
        found = set(self._waiting)  # even if somebody removed their files
        alive: dict[str, bool] = {}
        for name in os.listdir(self._tickets):
            try:
                ticket = Ticket.parse(name)
            except ValueError:
                continue  # not one of ours
            process = ticket.process
            if process not in alive:
                alive[process] = self._instance.alive(process)
            if alive[process]:
                found.add(ticket)
            else:
                (self._tickets / name).unlink(missing_ok=True)
        return [*found]

    @contextmanager
    def _places(self) -> Iterator[tuple[dict[bool, int], Counter[str]]]:
        """The free places as locked descriptors; the block's end unlocks those that were not taken."""
        free: dict[bool, int] = {}
        running: Counter[str] = Counter()
        try:
            for number, short in enumerate(self._kinds):
                place = _opened(self._folder / f"place-{'short' if short else number}")
                try:
                    fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    if not short:
                        running[os.pread(place, _NAME, 0).decode("ascii", "replace")] += 1
                    os.close(place)
                    continue
                if short in free:
                    os.close(place)
                else:
                    free[short] = place
            yield free, running
        finally:
            for place in free.values():
                os.close(place)

    def _take(self, descriptor: int, ticket: Ticket) -> None:
        os.pwrite(descriptor, ticket.client.encode(), 0)  # digests have one length

    def _write(self, ticket: Ticket) -> None:
        os.close(_opened(self._tickets / ticket.name))

    def _erase(self, ticket: Ticket) -> None:
        with suppress(OSError):
            (self._tickets / ticket.name).unlink(missing_ok=True)

    def _unusable(self, error: OSError) -> JobError:
        return JobError(
            f"the folder '{self._folder}', by which the server's processes take turns, can't be used "
            f"({error.strerror}): restart the server"
        )


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
