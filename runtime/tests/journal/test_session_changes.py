"""Changes that wait for the journal's file: however they are gathered, the same is stored in the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from journal_records import event, record
from longwire.journal.journal import EventRecord, SessionRecord, StreamRecord
from longwire.journal.session_changes import SessionChanges

_SMALL = st.integers(1, 3)
_CHANGE = st.one_of(
    st.tuples(st.just("save"), st.booleans()),
    st.tuples(st.just("save_stream"), _SMALL, st.booleans()),
    st.tuples(st.just("append"), _SMALL, st.binary(max_size=2)),
    st.tuples(st.just("append"), _SMALL, st.binary(max_size=2)),
    st.tuples(st.just("drop"), _SMALL),
    st.tuples(st.just("forget")),
)
# A batch of changes, and whether writing it fails: then it is written with the next.
_BATCHES = st.lists(st.tuples(st.lists(_CHANGE, max_size=4), st.booleans()), max_size=4)


@dataclass
class Stored:
    """What a file has of a session."""

    record: SessionRecord | None = None
    next_event: int = 1
    next_stream: int = 1
    streams: dict[int, StreamRecord] = field(default_factory=dict)
    events: dict[int, EventRecord] = field(default_factory=dict)

    def write(self, changes: SessionChanges) -> None:
        if changes.forgotten:
            self.__init__()  # type: ignore[misc]
        self.record = changes.record or self.record
        self.next_event = max(self.next_event, changes.next_event)
        self.next_stream = max(self.next_stream, changes.next_stream)
        self.streams |= changes.streams
        for number, found in changes.events.items():
            if found is None:
                self.events.pop(number, None)
            else:
                self.events[number] = found


def gathered(changes: list[Any]) -> SessionChanges:
    found = SessionChanges()
    for kind, *values in changes:
        if kind == "save":
            found.save(record(created=1.0, last_seen=2.0, initialized=values[0]))
        elif kind == "save_stream":
            found.save_stream(StreamRecord(values[0], values[0], answered=values[1]))
        elif kind == "append":
            found.append(event(values[0], payload=values[1]))
        elif kind == "drop":
            found.drop(values[0])
        else:
            found = SessionChanges(forgotten=True)
    return found


@settings(max_examples=examples(100), deadline=None)
@given(_BATCHES)
def test_batches_that_failed_are_written_with_the_next(batches: list[tuple[list[Any], bool]]) -> None:
    one_by_one, together = Stored(), Stored()
    waiting = SessionChanges()
    for changes, fails in batches:
        for change in changes:
            one_by_one.write(gathered([change]))
        waiting.absorb(gathered(changes))
        assert waiting.size >= sum(len(e.payload) for e in waiting.events.values() if e is not None)
        if not fails:
            together.write(waiting)
            waiting = SessionChanges()
    together.write(waiting)
    assert together == one_by_one
