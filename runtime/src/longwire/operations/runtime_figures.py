"""Prometheus metrics of the Streamable HTTP runtime: its counters, and its sessions at the moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from longwire.counters import RuntimeCounters
from longwire.declared import named

if TYPE_CHECKING:
    from longwire.cluster.nodes import Nodes
    from longwire.sessions.session import Session


def _of_cluster(cluster: Nodes) -> Iterable[Metric]:
    held = cluster.holds_lease
    yield GaugeMetricFamily(named("cluster_redis_up"), "Whether Redis answers", cluster.link.healthy)
    yield GaugeMetricFamily(named("cluster_lease_held"), "Whether this node has its lease", held)
    if held:  # otherwise nobody knows
        yield GaugeMetricFamily(named("cluster_nodes"), "Nodes that live, this one included", cluster.living)
    yield CounterMetricFamily(
        named("cluster_redis_failures"),
        "Commands that Redis did not answer, or refused",
        cluster.link.failures,
    )


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
    (
        "sessions_taken_over",
        "mcp_sessions_taken_over",
        "Sessions of other nodes that go on at this one",
    ),
    ("sessions_kicked", "mcp_sessions_kicked", "Sessions that an operator ended"),
    (
        "sessions_resumed",
        "mcp_sessions_resumed",
        "Sessions of an earlier process that were used again",
    ),
    ("messages_delivered", "mcp_messages_delivered", "Messages written to event streams"),
    ("messages_resumed", "mcp_messages_resumed", "Messages written again to clients that came back"),
    ("messages_dropped", "mcp_pending_dropped", "Waiting notifications that made room for others"),
    ("streams_opened", "mcp_get_streams_opened", "Event streams opened with GET"),
    ("calls_lost", "mcp_calls_lost", "Calls that an earlier process left unanswered"),
    ("journal_failures", "mcp_store_failures", "Failures of the store of sessions"),
    ("requests_forwarded", "mcp_requests_forwarded", "Requests that another node answered"),
)


def labelled(
    name: str, text: str, labels: list[str], counts: Mapping[str, int] | Mapping[tuple[str, str], int]
) -> CounterMetricFamily:
    """Counts as one metric; `name` is without the product's, and without `_total`."""
    family = CounterMetricFamily(named(name), text, labels=labels)
    for key, count in sorted(counts.items()):
        family.add_metric([key] if isinstance(key, str) else [*key], count)
    return family


def plain_counts(counters: RuntimeCounters) -> Iterator[tuple[str, int]]:
    """The counts by the names of their metrics, without the product's: mcp_sessions_created."""
    for field, name, _ in _COUNTERS:
        yield name, getattr(counters, field)


class RuntimeFigures(Collector):
    """Reads the counters and the sessions at each scrape."""

    def __init__(
        self,
        counters: RuntimeCounters,
        sessions: Callable[[], Iterable[Session]] = tuple,
        cluster: Nodes | None = None,
    ) -> None:
        self._cluster = cluster
        self._counters = counters
        self._sessions = sessions

    def collect(self) -> Iterable[Metric]:
        counters = self._counters
        for field, name, text in _COUNTERS:
            yield CounterMetricFamily(named(name), text, getattr(counters, field))
        refused, forwards = counters.refused, counters.forwards_failed
        yield labelled("mcp_requests_refused", "Requests refused before a method ran", ["reason"], refused)
        asked = counters.client_requests
        yield labelled("mcp_client_requests", "Requests to clients", ["kind", "outcome"], asked)
        yield labelled("mcp_forwards_failed", "Requests that could not be passed on", ["outcome"], forwards)
        yield from self._gauges()
        if self._cluster is not None:
            yield from _of_cluster(self._cluster)

    def _gauges(self) -> Iterable[Metric]:
        sessions = gets = messages = size = risked = at_risk = 0
        for session in self._sessions():
            sessions += 1
            gets += session.open_gets
            messages += session.pending
            size += session.pending_bytes
            if session.at_risk:
                at_risk += 1
                risked += session.pending
        for name, text, value in (
            (named("mcp_sessions"), "Open sessions", sessions),
            (named("mcp_get_streams"), "Open event streams of sessions", gets),
            (named("mcp_pending_messages"), "Messages that wait for clients of sessions", messages),
            (named("mcp_pending_bytes"), "Bytes of these messages", size),
            (named("mcp_sessions_at_risk"), "Sessions that can't be stored for now", at_risk),
            (named("mcp_messages_at_risk"), "Messages that wait for clients of these sessions", risked),
        ):
            yield GaugeMetricFamily(name, text, value)
