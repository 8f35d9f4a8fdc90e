"""Latency histograms for Prometheus that cost little to add to."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate

from prometheus_client.core import HistogramMetricFamily, Metric
from prometheus_client.registry import Collector


class Latencies(Collector):
    """A histogram of seconds with one label, whose values are known beforehand.

    The library's own looks at one bucket after the other under a lock, for every request. Only the event loop
    changes this one.
    """

    def __init__(
        self, name: str, documentation: str, label: str, values: Iterable[str], buckets: Sequence[float]
    ) -> None:
        self._name = name
        self._documentation = documentation
        self._label = label
        self._buckets = tuple(buckets)
        self._counts = {value: [0] * (len(self._buckets) + 1) for value in values}
        self._sums = dict.fromkeys(self._counts, 0.0)

    def observe(self, value: str, seconds: float) -> None:
        """Add one; raises KeyError for a value of the label that isn't known."""
        self._counts[value][bisect_left(self._buckets, seconds)] += 1
        self._sums[value] += seconds

    def collect(self) -> Iterable[Metric]:
        family = HistogramMetricFamily(self._name, self._documentation, labels=[self._label])
        bounds = [*map(str, self._buckets), "+Inf"]
        for value, counts in self._counts.items():
            family.add_metric([value], list(zip(bounds, accumulate(counts), strict=True)), self._sums[value])
        yield family
