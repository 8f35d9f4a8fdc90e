"""Figures for Prometheus: latencies, counters of the runtime, its sessions and its workers."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, islice
from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple, get_args

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from longwire.counters import RuntimeCounters
from longwire.names import named
from longwire.workers.worker import WorkerState

if TYPE_CHECKING:
    from longwire.cluster.nodes import Nodes
    from longwire.sessions.session import Session
    from longwire.workers.pool import WorkerPool

WINDOW: Final = 1000  # the last observations that are kept, of one value of the label and of all together


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """The value that this share of the values doesn't exceed, which is one of them; None: there are none."""
    return ordered[max(0, ceil(share * len(ordered)) - 1)] if ordered else None


class Latencies(Collector):
    """A histogram of seconds with one label, whose values are known beforehand.

    The library's own histogram looks at one bucket after the other under a lock, for every request. Only the
    event loop changes this one.
    """

    def __init__(
        self, name: str, documentation: str, label: str, values: Iterable[str], buckets: Sequence[float]
    ) -> None:
        self._name = name
        self._documentation = documentation
        self._label = label
        self.bounds = tuple(buckets)  # seconds
        self._counts = {value: [0] * (len(self.bounds) + 1) for value in values}
        self._sums = dict.fromkeys(self._counts, 0.0)
        # The last observations of each value, and of all. Adding to a deque runs in C.
        self._recent: defaultdict[str, deque[float]] = defaultdict(partial(deque, maxlen=WINDOW))
        self._all: deque[float] = deque(maxlen=WINDOW)
        self.count = 0  # of all there were

    def add(self, value: str) -> None:
        """Add a value of the label, with counts of 0."""
        self._counts.setdefault(value, [0] * (len(self.bounds) + 1))
        self._sums.setdefault(value, 0.0)

    def observe(self, value: str, seconds: float) -> None:
        """Add an observation; raises KeyError for a value of the label that isn't known."""
        self._counts[value][bisect_left(self.bounds, seconds)] += 1
        self._sums[value] += seconds
        self._recent[value].append(seconds)
        self._all.append(seconds)
        self.count += 1

    def newest(self, number: int = WINDOW) -> tuple[float, ...]:
        """The newest observations of all values of the label, at most so many, the shortest first."""
        return tuple(sorted(islice(reversed(self._all), number)))

    def figures(self) -> Iterator[tuple[str, list[int], float, list[float]]]:
        """Of each value that was observed: counts between the bounds, the sum, the last ones in order."""
        for value, recent in self._recent.items():
            yield value, list(self._counts[value]), self._sums[value], sorted(recent)

    def collect(self) -> Iterable[Metric]:
        family = HistogramMetricFamily(self._name, self._documentation, labels=[self._label])
        bounds = [*map(str, self.bounds), "+Inf"]
        for value, counts in self._counts.items():
            family.add_metric([value], list(zip(bounds, accumulate(counts), strict=True)), self._sums[value])
        yield family


class Figures(Collector):
    """Metrics that a function makes at each scrape."""

    def __init__(self, make: Callable[[], Iterable[Metric]]) -> None:
        self._make = make

    def collect(self) -> Iterable[Metric]:
        return self._make()


def _of_cluster(cluster: Nodes) -> Iterable[Metric]:
    held = cluster.holds_lease
    yield GaugeMetricFamily(named("cluster_redis_up"), "Whether Redis answers", cluster.link.healthy)
    yield GaugeMetricFamily(named("cluster_lease_held"), "Whether this node has its lease", held)
    if held:  # otherwise nobody knows
        yield GaugeMetricFamily(named("cluster_nodes"), "Nodes that live, this one included", cluster.living)
    failed, text = cluster.link.failures, "Commands that Redis did not answer, or refused"
    yield CounterMetricFamily(named("cluster_redis_failures"), text, failed)


# Field of RuntimeCounters, name of the metric without `_total`, meaning.
_COUNTERS: Final = (
    ("sessions_created", "mcp_sessions_created", "Sessions that began"),
    ("sessions_deleted", "mcp_sessions_deleted", "Sessions that their client ended"),
    ("sessions_expired", "mcp_sessions_expired", "Sessions that ended because nobody used them"),
    ("sessions_evicted", "mcp_sessions_evicted", "Sessions that made room for others"),
    (
        "sessions_revoked",
        "mcp_sessions_revoked",
        "Sessions that ended because their principal has no token any more",
    ),
    ("sessions_moved", "mcp_sessions_moved", "Sessions that another node took over"),
    ("sessions_taken_over", "mcp_sessions_taken_over", "Sessions of other nodes that go on at this one"),
    ("sessions_kicked", "mcp_sessions_kicked", "Sessions that an operator ended"),
    ("sessions_resumed", "mcp_sessions_resumed", "Sessions of an earlier process that were used again"),
    ("messages_delivered", "mcp_messages_delivered", "Messages written to event streams"),
    ("messages_resumed", "mcp_messages_resumed", "Messages written again to clients that came back"),
    ("messages_dropped", "mcp_pending_dropped", "Waiting notifications that made room for others"),
    ("streams_opened", "mcp_get_streams_opened", "Event streams opened with GET"),
    ("calls_lost", "mcp_calls_lost", "Calls that an earlier process left unanswered"),
    ("journal_failures", "mcp_store_failures", "Failures of the store of sessions"),
    ("requests_forwarded", "mcp_requests_forwarded", "Requests that another node answered"),
)


def labelled(
    name: str,
    text: str,
    labels: list[str],
    counts: Mapping[str, int] | Mapping[tuple[str, str], int],
    make: type[CounterMetricFamily | GaugeMetricFamily] = CounterMetricFamily,
) -> CounterMetricFamily | GaugeMetricFamily:
    """Counts as one metric; `name` is without the product's, and without `_total`."""
    family = make(named(name), text, labels=labels)
    for key, count in sorted(counts.items()):
        family.add_metric([key] if isinstance(key, str) else [*key], count)
    return family


def plain_counts(counters: RuntimeCounters) -> Iterator[tuple[str, int]]:
    """The counts by the names of their metrics, without the product's: mcp_sessions_created."""
    for field, name, _ in _COUNTERS:
        yield name, getattr(counters, field)


def runtime_figures(
    counters: RuntimeCounters, sessions: Callable[[], Iterable[Session]] = tuple, cluster: Nodes | None = None
) -> Iterator[Metric]:
    """The counters of a runtime, and its sessions at the moment."""
    for field, name, text in _COUNTERS:
        yield CounterMetricFamily(named(name), text, getattr(counters, field))
    refused, forwards = counters.refused, counters.forwards_failed
    yield labelled("mcp_requests_refused", "Requests refused before a method ran", ["reason"], refused)
    asked = counters.client_requests
    yield labelled("mcp_client_requests", "Requests to clients", ["kind", "outcome"], asked)
    yield labelled("mcp_forwards_failed", "Requests that could not be passed on", ["outcome"], forwards)
    for (name, text), value in zip(_OF_SESSIONS.items(), session_totals(sessions()), strict=True):
        yield GaugeMetricFamily(named(name), text, value)
    if cluster is not None:
        yield from _of_cluster(cluster)


class SessionTotals(NamedTuple):
    sessions: int
    gets: int
    pending: int
    pending_bytes: int
    at_risk: int
    pending_at_risk: int


def session_totals(sessions: Iterable[Session]) -> SessionTotals:
    """What the sessions have together."""
    found = gets = pending = size = risked = at_risk = 0
    for session in sessions:
        found += 1
        gets += session.open_gets
        pending += session.pending
        size += session.pending_bytes
        if session.at_risk:
            at_risk += 1
            risked += session.pending
    return SessionTotals(found, gets, pending, size, at_risk, risked)


# The metrics of SessionTotals, in its order.
_OF_SESSIONS: Final = {
    "mcp_sessions": "Open sessions",
    "mcp_get_streams": "Open event streams of sessions",
    "mcp_pending_messages": "Messages that wait for clients of sessions",
    "mcp_pending_bytes": "Bytes of these messages",
    "mcp_sessions_at_risk": "Sessions that can't be stored for now",
    "mcp_messages_at_risk": "Messages that wait for clients of these sessions",
}


def worker_figures(workers: WorkerPool, counters: RuntimeCounters) -> Iterator[Metric]:
    """The states of workers, their calls, and what happened to them."""
    statuses, gauge = workers.statuses(), GaugeMetricFamily
    states = {state: sum(one.state == state for one in statuses) for state in get_args(WorkerState)}
    yield labelled("mcp_workers", "Workers, by state", ["state"], states, gauge)
    running = {status.id: status.in_flight for status in statuses}
    yield labelled("mcp_worker_calls_in_flight", "Calls that a worker runs", ["worker"], running, gauge)
    yield GaugeMetricFamily(named("mcp_worker_queue"), "Calls that wait for a worker", workers.queued)
    yield labelled("mcp_worker_events", "What happened to workers", ["event"], counters.worker_events)
    failed = counters.worker_failures
    yield labelled("mcp_worker_failures", "Calls that failed in workers", ["error_class"], failed)
