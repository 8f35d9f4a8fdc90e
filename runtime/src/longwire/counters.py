"""The counts of the runtime: plain integers, which operations/metrics.py turns into Prometheus figures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class RuntimeCounters:
    """The counts of one server since it started. Only its event loop changes them."""

    sessions_created: int = 0
    sessions_deleted: int = 0
    sessions_expired: int = 0
    sessions_evicted: int = 0
    sessions_revoked: int = 0  # their principal has no token any more
    sessions_kicked: int = 0  # by an operator
    sessions_moved: int = 0  # to another node, which took them over
    sessions_taken_over: int = 0  # from another node
    sessions_resumed: int = 0  # after a restart, or taken over from another node
    refused: Counter[str] = field(default_factory=Counter)  # requests, by reason: one word each
    messages_delivered: int = 0  # events that were written to a client
    messages_dropped: int = 0  # notifications that made room for others
    messages_resumed: int = 0  # events that were written again to a client that came back
    streams_opened: int = 0  # GETs
    # Requests to clients, by kind and outcome: ("sampling", "answered"). Kinds: sampling, elicitation, roots,
    # ping, other. Outcomes: answered, failed, timeout, cancelled, ended, late, unknown, full, warned,
    # dropped, refused.
    client_requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    calls_lost: int = 0  # in flight when an earlier process ended; their clients are told
    journal_failures: int = 0
    requests_forwarded: int = 0  # that another node of the cluster answered
    forwards_failed: Counter[str] = field(default_factory=Counter)  # by outcome: unreachable, moved, lost, …
    # Of workers: starts, restarts, queued, late, unknown_id, unknown_event, notify_failed, flood, and the
    # error classes of contract/envelopes.py for connections and queues.
    worker_events: Counter[str] = field(default_factory=Counter)
    worker_failures: Counter[str] = field(default_factory=Counter)  # calls, by error class

    def count_request(self, kind: str, outcome: str) -> None:
        """Count a request to a client."""
        self.client_requests[kind, outcome] += 1
