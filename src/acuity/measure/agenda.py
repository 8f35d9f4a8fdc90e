"""The agenda of a measurement: the requested models and features, and the plan of every frame.

An agenda is immutable: steering makes a new one, which replaces it between two frames.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from acuity.errors import FeatureError
from acuity.features.extractor import REACH, Extractor
from acuity.measure.collector import Collector
from acuity.measure.epochs import FOREVER, Epochs, Sampling
from acuity.measure.plan import NOTHING, ExtractorSet, Plan, make_plan
from acuity.measure.segments import Slot
from acuity.records import NamedTuple, Record, field


class Need(NamedTuple):
    """The frames for which an extractor must be computed."""

    extractor: Extractor
    first: int
    stop: int


class Agenda(Record):
    """The requested models and features, and the plans that follow from them."""

    steps: Sampling
    requested: tuple[Slot | Extractor, ...] = ()  # in order: slots for models, extractors for features
    measured: ExtractorSet = field(default_factory=ExtractorSet)  # past and future, in report order
    plans: Epochs[Plan] = field(default_factory=lambda: Epochs(NOTHING))
    now: int = 0  # the first frame of the latest plans
    past: ExtractorSet = field(default_factory=ExtractorSet)  # what was measured before it
    since: Mapping[str, int] = field(default_factory=dict)  # first frames of extractors with late features
    claims: int = 0  # how often frames that had a model were assigned to another

    @property
    def slots(self) -> tuple[Slot, ...]:
        return tuple(item for item in self.requested if isinstance(item, Slot))

    def slot(self, name: str) -> Slot:
        for slot in self.slots:
            if slot.name == name:
                return slot
        there = ", ".join(slot.name for slot in self.slots) or "none"
        raise FeatureError(f"no model is reported as '{name}': there are {there}")

    def outputs(self, length: int = FOREVER) -> dict[str, Slot]:
        """The slot behind each score column."""
        return {output: slot for slot in self.slots for output in slot.outputs(length)}

    def request(self, item: Slot | Extractor) -> Agenda:
        """The agenda with one more model or feature; only before the first frame."""
        requested = (*self.requested, item)
        return self.changed(requested=requested, measured=_needed(requested))

    def with_slot(self, slot: Slot) -> Agenda:
        """The agenda with this slot in place of the one of the same name."""
        requested = tuple(
            slot if isinstance(item, Slot) and item.name == slot.name else item for item in self.requested
        )
        return self.changed(requested=requested)

    def from_first_frame(self) -> Agenda:
        """The agenda for a measurement without frames, which measures only what is requested now."""
        fresh = Agenda(self.steps, self.requested, _needed(self.requested))
        return fresh if self.plans.at(0) is NOTHING else fresh.planned(0)

    def ready(self, extractor: Extractor, now: int) -> int:
        """The first frame with exact figures, if the extractor is computed from `now` on."""
        if now and extractor.identity in self.plans.at(now - 1).extractors:
            return max(now, extractor.settled(self.since.get(extractor.identity, now)))
        return extractor.settled(now)

    def planned(self, now: int) -> Agenda:
        """The agenda with plans from `now` on that compute exactly what is requested."""
        needs = list(_needs(self.requested, now))
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
        return self.changed(plans=plans, since=since, measured=measured, now=now, past=past)

    def prepare(self, collector: Collector) -> None:
        """Create the columns and derivations for the frames from `now` on."""
        runs = []
        for extractor in self.plans.at(self.now):
            identity = extractor.identity
            if identity in self.since:
                spans = self.plans.spans(self.now)
                stop = next((first for first, _, plan in spans if identity not in plan.extractors), FOREVER)
                runs.append((extractor, self.since[identity], stop))
        collector.replan(self.now, [*self.measured.keys(), *self.measured.hidden_keys()], runs)

    def kept(self, extractors: Iterable[Extractor], stop: int) -> list[tuple[int, int]]:
        """Frames before `stop` that have or will have all figures of these extractors, as (first, stop)."""
        ranges = [(0, stop)]
        for extractor in extractors:
            ranges = _intersect(ranges, _known(self.plans, extractor, stop))
        return ranges

    def has_feature(self, key: str, index: int) -> bool:
        """Whether a frame has this feature or will have it."""
        for extractor in self.plans.at(index):
            if key in extractor.keys(late=False):
                return True
            if key in extractor.keys(late=True):
                return any(first <= index for first, _ in _known(self.plans, extractor, index + 1)[-1:])
        return False


def _needed(requested: Iterable[Slot | Extractor]) -> ExtractorSet:
    return ExtractorSet(need.extractor for need in _needs(requested, 0))


def _needs(requested: Iterable[Slot | Extractor], now: int) -> Iterator[Need]:
    for item in requested:
        if isinstance(item, Extractor):
            yield Need(item, now, FOREVER)
            continue
        # The models of the last frames may still need figures of the next ones.
        for first, stop, holder in item.holders.spans(max(now - REACH, 0)):
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
