"""The stores of sessions, by the names that the setting has for them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from longwire.counters import RuntimeCounters
from longwire.errors import SettingsError
from longwire.journal.buffered_journal import BufferedJournal, SessionStore
from longwire.journal.journal import Journal
from longwire.journal.journal_file import JournalFile, check_journal_file
from longwire.text import quoted


class FileStore(NamedTuple):
    """A kind of store that is a file."""

    check: Callable[[Path], None]  # raises SettingsError if the file can't be one, and changes nothing
    open: Callable[[Path, float], SessionStore]  # without the sessions that were last seen before that time


# Redis is none of them: it is the store of nodes, each of which has a label and a lease.
_FILES: Final = {
    "sqlite": FileStore(check_journal_file, lambda path, expired: JournalFile(path, expired=expired))
}


def file_store(setting: str) -> tuple[FileStore, str] | None:
    """The store that a setting such as `sqlite:PATH` names, with its path; None: memory."""
    if setting == "memory":
        return None
    kind, _, path = setting.partition(":")
    if kind not in _FILES or not path:
        nodes = ", or set [cluster] redis" if kind in ("redis", "rediss") else ""
        before, at, place = setting.rpartition("@")
        shown = f"{kind}:…@{place}" if at and before else setting  # without the password of an address
        raise SettingsError(f"{quoted(shown)} is no store: use memory or sqlite:PATH{nodes}")
    if path == ":memory:":
        raise SettingsError(f"{quoted(setting)} names no file: use memory")
    return _FILES[kind], path


def open_journal(setting: str, *, ttl: float, counters: RuntimeCounters) -> Journal:
    """The journal that the setting names; raises SettingsError. Called on the running loop.

    Sessions that nobody has used for `ttl` seconds are not continued.
    """
    if (found := file_store(setting)) is None:
        return Journal()
    store, path = found
    return BufferedJournal(store.open(Path(path).absolute(), time.time() - ttl), counters)
