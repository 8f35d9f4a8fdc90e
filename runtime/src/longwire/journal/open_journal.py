"""The kinds of journals, by what the setting `store` begins with. A new kind is a line in the table."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from longwire.counters import RuntimeCounters
from longwire.errors import SettingsError
from longwire.journal.buffered_journal import BufferedJournal
from longwire.journal.journal import Journal, NoJournal
from longwire.journal.journal_file import JournalFile

# Opens a journal: given what follows the colon, seconds until an unused session ends, and the counters.
Opener: TypeAlias = Callable[[str, float, RuntimeCounters], Journal]

_FORMS: Final = "write 'memory', or 'sqlite:' and the path of a file"


def open_journal(store: str, *, ttl: float, counters: RuntimeCounters) -> Journal:
    """The journal that the setting names; raises SettingsError. Called on the running loop.

    Sessions that nobody has used for `ttl` seconds are not continued.
    """
    kind, _, where = store.partition(":")
    opener = _OPENERS.get(kind)
    if opener is None:
        raise SettingsError(f"the session store '{store}' is of no known kind: {_FORMS}")
    return opener(where, ttl, counters)


def _memory(where: str, _: float, __: RuntimeCounters) -> Journal:
    if where:
        raise SettingsError(f"the session store 'memory:{where}' names a place in memory: {_FORMS}")
    return NoJournal()


def _sqlite(where: str, ttl: float, counters: RuntimeCounters) -> Journal:
    if not where:
        raise SettingsError(f"the session store 'sqlite:' names no file: {_FORMS}")
    file = JournalFile(Path(where).absolute(), expired=time.time() - ttl)
    return BufferedJournal(file, counters)


def _redis(where: str, _: float, __: RuntimeCounters) -> Journal:
    """Refuse: sessions are in Redis for several nodes, each of which has a label and a lease."""
    raise SettingsError(
        "the session store 'redis' is that of a cluster's nodes: leave the store out, "
        "and set [cluster] redis to the address of Redis"
    )


_OPENERS: Final[dict[str, Opener]] = {"memory": _memory, "sqlite": _sqlite, "redis": _redis, "rediss": _redis}
