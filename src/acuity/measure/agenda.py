"""What a measurement measures, and when: who asked for it, and the plan of every frame that follows.

An agenda never changes: steering makes another from it, which takes its place between two frames.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from acuity.errors import FeatureError
from acuity.features.extractor import REACH, Extractor
from acuity.measure.collector import Collector
from acuity.measure.epochs import FOREVER, Epochs
from acuity.measure.plan import NOTHING, ExtractorSet, Plan, make_plan
from acuity.measure.sampling import Sampling
from acuity.measure.segments import Slot


class Need(NamedTuple):
    """Frames that an extractor must be computed for."""

    extractor: Extractor
    first: int
    stop: int


@dataclass(frozen=True, slots=True)
class Agenda:
    """The askers, and what follows from them."""

    steps: Sampling
    asked: tuple[Slot | Extractor, ...] = ()  # in order: models by their slots, features by their extractors
    measured: ExtractorSet = field(default_factory=ExtractorSet)  # whatever was or will be, in report order
    plans: Epochs[Plan] = field(default_factory=lambda: Epochs(NOTHING))
    now: int = 0  # the frame from which plans were made last
    past: ExtractorSet = field(default_factory=ExtractorSet)  # what was measured before it
    since: Mapping[str, int] = field(default_factory=dict)  # when extractors with late features started
    claims: int = 0  # how often frames that had a model were given to another

    @property
    def slots(self) -> tuple[Slot, ...]:
        return tuple(asker for asker in self.asked if isinstance(asker, Slot))

    def slot(self, name: str) -> Slot:
        for slot in self.slots:
            if slot.name == name:
                return slot
        there = ", ".join(slot.name for slot in self.slots) or "none"
        raise FeatureError(f"no model is reported as '{name}': there are {there}")

    def outputs(self, length: int = FOREVER) -> dict[str, Slot]:
        """The slot behind each score column."""
        return {output: slot for slot in self.slots for output in slot.outputs(length)}

    def ask(self, asker: Slot | Extractor) -> Agenda:
        """With one more who asks; only before the first frame."""
        asked = (*self.asked, asker)
        return replace(self, asked=asked, measured=_needed(asked))

    def put(self, slot: Slot) -> Agenda:
        """With this slot in place of the one of its name."""
        asked = tuple(
            slot if isinstance(asker, Slot) and asker.name == slot.name else asker for asker in self.asked
        )
        return replace(self, asked=asked)

    def restarted(self) -> Agenda:
        """The same where no frame was fed yet: only those who ask now count."""
        fresh = Agenda(self.steps, self.asked, _needed(self.asked))
        return fresh if self.plans.at(0) is NOTHING else fresh.planned(0)

    def ready(self, extractor: Extractor, now: int) -> int:
        """The first frame from `now` on whose figures will be there, if it is computed from `now` on."""
        if now and extractor.identity in self.plans.at(now - 1).extractors:
            return max(now, extractor.settled(self.since.get(extractor.identity, now)))
        return extractor.settled(now)

    def planned(self, now: int) -> Agenda:
        """With plans for the frames from `now` on that compute what is asked for, and no more."""
        needs = list(_needs(self.asked, now))
        edges = {now, *(need.first for need in needs), *(need.stop for need in needs)} - {FOREVER}
        plans = self.plans
        for edge in sorted(edges):
            extractors = [need.extractor for need in needs if need.first <= edge < need.stop]
            plans = plans.assign(make_plan(extractors), edge)
        going_on = self.plans.at(now - 1).extractors if now else {}
        since = {identity: start for identity, start in self.since.items() if identity in going_on}
        for extractor in plans.at(now):
            if _is_late(extractor):
                since.setdefault(extractor.identity, now)
        made = (plan for _, _, plan in self.plans.spans(self.now, now)) if now > self.now else ()
        past = ExtractorSet([*self.past, *(extractor for plan in made for extractor in plan)])
        measured = ExtractorSet([*past, *(need.extractor for need in needs)])
        return replace(self, plans=plans, since=since, measured=measured, now=now, past=past)

    def prepare(self, collector: Collector) -> None:
        """Make the columns and derivations that the frames to come need."""
        runs = []
        for extractor in self.plans.at(self.now):
            identity = extractor.identity
            if identity in self.since:
                spans = self.plans.spans(self.now)
                stop = next((first for first, _, plan in spans if identity not in plan.extractors), FOREVER)
                runs.append((extractor, self.since[identity], stop))
        collector.replan(self.now, [*self.measured.keys(), *self.measured.hidden_keys()], runs)

    def kept(self, extractors: Iterable[Extractor], stop: int) -> list[tuple[int, int]]:
        """Frames before `stop` for which all figures of these are there or will be, as (first, stop)."""
        ranges = [(0, stop)]
        for extractor in extractors:
            ranges = _intersect(ranges, _known(self.plans, extractor, stop))
        return ranges

    def gives(self, key: str, index: int) -> bool:
        """Whether a frame has this feature or will have it."""
        for extractor in self.plans.at(index):
            if key in extractor.keys(late=False):
                return True
            if key in extractor.keys(late=True):
                return any(first <= index for first, _ in _known(self.plans, extractor, index + 1)[-1:])
        return False


def _needed(asked: Iterable[Slot | Extractor]) -> ExtractorSet:
    return ExtractorSet(need.extractor for need in _needs(asked, 0))


def _needs(asked: Iterable[Slot | Extractor], now: int) -> Iterator[Need]:
    for asker in asked:
        if isinstance(asker, Extractor):
            yield Need(asker, now, FOREVER)
            continue
        # Those who held the last frames may still wait for figures of the next ones.
        for first, stop, holder in asker.holders.spans(max(now - REACH, 0)):
            for extractor in holder.extractors:
                begin = now if _is_late(extractor) else max(first, now)
                end = stop + extractor.lookahead if stop < FOREVER else FOREVER
                if begin < end:
                    yield Need(extractor, begin, end)


def _is_late(extractor: Extractor) -> bool:
    return any(feature.late for feature in extractor.features)


def _known(plans: Epochs[Plan], extractor: Extractor, stop: int) -> list[tuple[int, int]]:
    """Frames before `stop` for which the plans give all figures of the extractor, as (first, stop)."""
    found: list[tuple[int, int]] = []
    start: int | None = None
    for first, _, plan in plans.spans(0, stop + extractor.lookahead):
        there = plan.extractors.get(extractor.identity)
        if there is not None and there.covers(extractor):
            start = first if start is None else start
        elif start is not None:
            found.append((extractor.settled(start), min(first - extractor.lookahead, stop)))
            start = None
    if start is not None:
        found.append((extractor.settled(start), stop))
    return [(first, end) for first, end in found if first < end]


def _intersect(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found = []
    i = j = 0
    while i < len(left) and j < len(right):
        first, stop = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if first < stop:
            found.append((first, stop))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return found
