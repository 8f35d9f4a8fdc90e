"""The events that a session's log keeps: how many and how large they are, and which of them goes first."""

from __future__ import annotations

from longwire.sessions.streams import Event
from longwire.settings import WireLimits


class KeptEvents:
    """Counts the events of one log and knows in which order they make room for others."""

    def __init__(self, limits: WireLimits) -> None:
        self._limits = limits
        self._sent: list[Event] = []  # in the order of sending: the first go first
        self._droppable: dict[int, Event] = {}  # notifications that were not sent, by number
        self.kept = 0  # events, sent or not
        self.kept_bytes = 0
        self.pending = 0  # messages that were not sent
        self.pending_bytes = 0

    def _are_too_many(self) -> bool:
        """Whether the events exceed the bounds; a single event is kept whatever its size.

        First ids that await the store don't count: they are as many as connections that have just begun,
        and no message should make room for them.
        """
        limits, count = self._limits, len(self._sent) + self.pending
        return self.kept > 1 and (count > limits.max_pending or self.kept_bytes > limits.max_pending_bytes)

    def _fill_half(self, count: int, size: int) -> bool:
        """Whether so many events, of so many bytes, are more than half of what may be kept."""
        return count > self._limits.max_pending // 2 or size > self._limits.max_pending_bytes // 2

    def _count(self, event: Event) -> None:
        self.kept += 1
        self.kept_bytes += len(event.payload)
        self.pending += event.is_message
        self.pending_bytes += len(event.payload)
        if event.kind == "notification":
            self._droppable[event.number] = event

    def _mark_sent(self, event: Event) -> None:
        event.sent = True
        self._sent.append(event)
        self._forget_pending(event)

    def _discount(self, event: Event) -> None:
        self.kept -= 1
        self.kept_bytes -= len(event.payload)
        if event.sent:
            self._sent.remove(event)
        else:
            self._forget_pending(event)

    def _forget_pending(self, event: Event) -> None:
        self.pending -= event.is_message
        self.pending_bytes -= len(event.payload)
        self._droppable.pop(event.number, None)
