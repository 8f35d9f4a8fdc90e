"""Latency histograms and counts of calls for Prometheus, which cost little to add to."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, islice
from math import ceil
from typing import Final

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

WINDOW: Final = 1000  # the last observations that are kept, of one value of the label and of all together


@dataclass(frozen=True, slots=True)
class LatencyFigures:
    """The observations of one value of the label."""

    count: int
    seconds: float  # all together
    counts: tuple[int, ...]  # between the bounds, and beyond the last
    window: tuple[float, ...]  # the last observations, in order of their seconds


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """The value that this share of the values doesn't exceed, which is one of them; None: there are none."""
    return ordered[max(0, ceil(share * len(ordered)) - 1)] if ordered else None


class CallCounts(Collector):
    """The number of calls by tool and outcome. Only the event loop changes the numbers."""

    def __init__(self, name: str, documentation: str) -> None:
        self._name = name
        self._documentation = documentation
        self.by_tool: dict[str, dict[str, int]] = {}  # counts by outcome

    def add(self, tool: str, outcomes: Iterable[str]) -> None:
        """Add a tool, with counts of 0."""
        self.by_tool.setdefault(tool, dict.fromkeys(outcomes, 0))

    def collect(self) -> Iterable[Metric]:
        family = CounterMetricFamily(self._name, self._documentation, labels=["tool", "outcome"])
        for tool, counts in self.by_tool.items():
            for outcome, count in counts.items():
                family.add_metric([tool, outcome], count)
        yield family


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

    def figures(self) -> dict[str, LatencyFigures]:
        """The figures of all values that were observed."""
        return {
            value: LatencyFigures(
                sum(self._counts[value]), self._sums[value], tuple(self._counts[value]), tuple(sorted(recent))
            )
            for value, recent in self._recent.items()
        }

    def collect(self) -> Iterable[Metric]:
        family = HistogramMetricFamily(self._name, self._documentation, labels=[self._label])
        bounds = [*map(str, self.bounds), "+Inf"]
        for value, counts in self._counts.items():
            family.add_metric([value], list(zip(bounds, accumulate(counts), strict=True)), self._sums[value])
        yield family
