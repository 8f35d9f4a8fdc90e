"""What a soak sees of the servers' processes, and the report at its end."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field

import psutil

# Memory may grow by this share between the second quarter and the end.
_GROWTH = 1.10
_SLACK = 8 << 20  # bytes: what an allocator may hold back in a process that did nothing wrong


@dataclass(frozen=True, slots=True)
class Sample:
    """A process at one moment."""

    seconds: float
    rss: int
    descriptors: int
    children: int


@dataclass(slots=True)
class Watched:
    """A server process that is looked at now and then."""

    name: str
    pid: int
    before: Watched | None = None  # the process whose place it took: it may become as large
    samples: list[Sample] = field(default_factory=list)

    def look(self, seconds: float) -> None:
        with suppress(psutil.Error):
            process = psutil.Process(self.pid)
            rss, descriptors = process.memory_info().rss, process.num_fds()
            self.samples.append(Sample(seconds, rss, descriptors, len(process.children(recursive=True))))

    def growth(self) -> tuple[float, float]:
        """The median memory in the second quarter and in the last, in bytes."""
        quarter = max(1, len(self.samples) // 4)
        early = [sample.rss for sample in self.samples[quarter : 2 * quarter]] or [0]
        late = [sample.rss for sample in self.samples[-quarter:]] or [0]
        return statistics.median(early), statistics.median(late)

    def is_flat(self) -> bool:
        early, late = self.growth()
        usual = max(early, self.before.growth()[1]) if self.before is not None else early
        return not early or late <= usual * _GROWTH + _SLACK


@dataclass(slots=True)
class Report:
    """The outcome of a soak."""

    seconds: float
    counts: dict[str, int]
    faults: dict[str, int]
    strange: Sequence[str]
    events: dict[str, int]  # what was done to the servers
    left: dict[str, int]  # what must be 0 when all clients have gone
    watched: Sequence[Watched]
    waits: Mapping[str, Mapping[str, Sequence[float]]]  # of the measured client; see Waits.figures

    def add(self, counts: Mapping[str, int], faults: Mapping[str, int], strange: Sequence[str]) -> None:
        """Add what other clients saw."""
        self.counts = dict(Counter(self.counts) + Counter(counts))
        self.faults = dict(Counter(self.faults) + Counter(faults))
        self.strange = [*self.strange, *strange]

    @property
    def ok(self) -> bool:
        flat = all(process.is_flat() for process in self.watched)
        return not self.faults and flat and not any(self.left.values())

    def lines(self) -> list[str]:
        """The report for people."""
        shown = [f"soak of {self.seconds:.0f} s: {'ok' if self.ok else 'NOT OK'}"]
        for title, found in (
            ("what clients saw", self.counts),
            ("what was done to the servers", self.events),
            ("what must not happen", self.faults),
            ("left at the end", self.left),
        ):
            shown.append(f"{title}:")
            shown += [f"  {name.replace('_', ' '):28} {many}" for name, many in sorted(found.items())]
        shown.append("a measured client, alone and beside a hostile one, in milliseconds:")
        for what, figures in self.waits.items():
            told = (f"{name} {alone:g} and {beside:g}" for name, (alone, beside) in figures.items())
            shown.append(f"  {what:28} {', '.join(told)}")
        shown.append("memory, median of the second quarter and of the last:")
        for process in self.watched:
            early, late = process.growth()
            descriptors = [sample.descriptors for sample in process.samples] or [0]
            grows = "" if process.is_flat() else " (grows)"
            shown.append(
                f"  {process.name:28} {early / 2**20:.1f} and {late / 2**20:.1f} MiB{grows}, "
                f"descriptors {min(descriptors)} to {max(descriptors)}"
            )
        return shown + list(self.strange)

    def json(self) -> str:
        return json.dumps({"ok": self.ok, **asdict(self)}, indent=1)
