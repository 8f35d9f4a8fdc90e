"""A snapshot of a measurement, for reading it from any thread while frames are fed."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator

from acuity.arrays import np
from acuity.errors import FeatureError, NotReady
from acuity.features.extractor import Geometry
from acuity.measure.agenda import Agenda
from acuity.measure.collector import Collector, Figures
from acuity.measure.epochs import counted, is_counted
from acuity.measure.plan import ExtractorSet
from acuity.measure.results import Columns, Results
from acuity.measure.segments import Prediction, Segment, Slot
from acuity.records import NamedTuple


class Snapshot(NamedTuple):
    """The frames and the agenda of a measurement at one moment; its figures may be newer.

    The number of frames must be read before the agenda, which then covers all of these frames.
    """

    frames: int
    agenda: Agenda
    collector: Collector
    over: bool  # no more frames come

    def score_at(self, index: int, name: str | None) -> float:
        slots = self.agenda.slots
        if name is None:
            if not slots:
                raise FeatureError(
                    "no model was added, so there are no scores: ask feature_at() for features"
                )
            name = slots[0].outputs()[0]
        slot = next((slot for slot in slots if slot.name == name), None) or self.agenda.outputs().get(name)
        if slot is None:
            there = ", ".join(self.agenda.outputs()) or "none"
            raise FeatureError(f"no model is reported as '{name}': there are {there}")
        if 0 <= index < self.frames and is_counted(self.agenda.steps, index):
            holder = slot.holders.at(index)
            if name not in holder.outputs:
                raise NotReady(
                    f"frame {index} has no {name}, because '{holder.model.label}' holds there, which has none"
                )
            score = holder.at(index, name)
            if score is not None:
                holder.check(index, name, score)
                return score
        raise self._missing(index, name)

    def feature_at(self, index: int, key: str) -> float:
        if key in self.agenda.outputs():
            return self.score_at(index, key)
        known = self.agenda.measured.keys()
        if key not in known:
            raise FeatureError(f"nothing named '{key}' is measured: there are {', '.join(known) or 'none'}")
        if 0 <= index < self.frames:
            value = self.collector.get(key, index)
            if value is not None:
                return value
            if is_counted(self.agenda.steps, index) and not self.agenda.has_feature(key, index):
                raise NotReady(f"frame {index} has no {key}, because it was not measured there")
        raise self._missing(index, key)

    def _missing(self, index: int, name: str) -> NotReady:
        if 0 <= index < self.frames and not is_counted(self.agenda.steps, index):
            step = self.agenda.steps.at(index)
            return NotReady(f"frame {index} has no {name}, because one frame in {step} is measured")
        if self.over:
            return NotReady(f"frame {index} has no {name}: {self.frames} frames were measured")
        return NotReady(f"frame {index} has no {name} yet: feed more frames or flush")

    def segments(self) -> list[Segment]:
        return [segment for slot in self.agenda.slots for segment in slot.segments(self.frames)]

    def predict(self, begin: int = 0) -> None:
        """Predict every frame from `begin` on whose features are known."""
        if begin >= self.frames:
            return
        for slot in self.agenda.slots:
            own: dict[Prediction, list[range]] = {}
            for first, stop, holder in slot.holders.spans(begin, self.frames):
                frames = counted(self.agenda.steps, min(stop, self.frames), max(first, begin))
                own.setdefault(holder, []).extend(frames)
            for holder, wanted in own.items():
                holder.fill(wanted)

    def results(self, geometry: Geometry, fps: float, *, partial: bool, stopped_after: int | None) -> Results:
        """All figures known so far; raises ScoreError if a score isn't a number, unless partial.

        Beside other models, a lenient model's scores that are no numbers are undefined instead.
        """
        self.predict()
        rows = counted(self.agenda.steps, self.frames)
        frames = [frame for span in rows for frame in span]
        plans = [plan for _, _, plan in self.agenda.plans.spans(0, max(self.frames, 1))]
        extractors = ExtractorSet(extractor for plan in plans for extractor in plan)
        keys = extractors.keys(self.frames)
        columns = {key: _picked(self.collector.column(key, self.frames), rows) for key in keys}
        undefined = {key: self.collector.undefined(key, self.frames) for key in keys}
        if self.over:  # drop figures that the pictures don't have, such as chroma figures of luma alone
            columns = {key: column for key, column in columns.items() if self.collector.has(key)}
        labels: dict[str, str] = {}
        selective: set[str] = set()
        firm = any(not self._is_lenient(slot) for slot in self.agenda.slots)
        for slot in self.agenda.slots:
            for output in slot.outputs(max(self.frames, 1)):
                scores, labels[output] = self._scores(slot, output)
                columns[output] = _picked(scores, rows)
                selects = all(holder.model.selective for _, _, holder in self._spans(slot))
                if selects and not _is_empty(columns[output]):
                    selective.add(output)  # the frames that it can't judge have no figure
                    continue
                if firm and self._is_lenient(slot):
                    undefined[output] = self._infinite(slot, output)
                    for frame in undefined[output]:
                        scores[frame] = math.nan
                    columns[output] = _picked(scores, rows)
                elif not partial:
                    self._check_scores(slot, output)
        segments = self.segments()
        if len(self.agenda.plans) > 1 or len(segments) > len(self.agenda.slots):
            partial = True
            # Drop columns of extractors that ended before they had an exact figure of a counted frame.
            columns = {key: c for key, c in columns.items() if key in labels or not _is_empty(c)}
        return Results(
            frames=frames,
            columns=Columns(columns),
            models=list(labels),
            model_labels=labels,
            width=geometry.width,
            height=geometry.height,
            fps=fps,
            aggregate=self._aggregate(extractors, geometry),
            partial=partial,
            undefined={
                key: np.isin(frames, which)
                for key, which in undefined.items()
                if key in columns and not set(which).isdisjoint(frames)
            },
            selective=frozenset(selective),
            segments=segments,
            steps=[(first, step) for first, _, step in self.agenda.steps.spans(0, self.frames)],
            stopped_after=stopped_after,
            replaced={slot.name: old for slot in self.agenda.slots if (old := slot.replaced(self.frames))},
        )

    def _aggregate(self, extractors: ExtractorSet, geometry: Geometry) -> dict[str, float]:
        """Figures of the whole clip, from all computed frames, also those that subsampling leaves out."""
        found: dict[str, float] = {}
        for extractor in extractors:
            columns = {
                key: np.array([value for value in column if value == value])
                for key in extractor.hidden_keys()
                if len(column := self.collector.column(key, self.frames))
            }
            if columns:
                found.update(extractor.aggregate(columns, geometry))
        return found

    def _is_lenient(self, slot: Slot) -> bool:
        """Whether every model of the slot is lenient."""
        return all(holder.model.lenient for _, _, holder in self._spans(slot))

    def _spans(self, slot: Slot) -> Iterator[tuple[int, int, Prediction]]:
        """The models of the slot with their frames, as (first, stop, model)."""
        return slot.holders.spans(0, max(self.frames, 1))

    def _infinite(self, slot: Slot, output: str) -> list[int]:
        """The frames with a score of the slot that is not a finite number."""
        return [
            frame
            for first, stop, holder in self._spans(slot)
            if output in holder.outputs
            for frame in holder.infinite(output, first, min(stop, self.frames))
        ]

    def _check_scores(self, slot: Slot, output: str) -> None:
        for first, stop, holder in self._spans(slot):
            if output in holder.outputs:
                holder.check_all(first, min(stop, self.frames), output)

    def _scores(self, slot: Slot, output: str) -> tuple[Figures, str]:
        """A score column over all models of the slot, and the label of the last one."""
        values = array("d", [math.nan]) * self.frames
        label = ""
        for first, stop, holder in self._spans(slot):
            if output in holder.outputs:
                values[first:stop] = holder.column(output, self.frames)[first:stop]
                label = holder.model.label
        return values, label


def _picked(column: Figures, rows: Iterable[range]) -> Figures:
    """The figures of these frames."""
    found = array("d")
    for span in rows:
        found += column[span.start : span.stop : span.step]
    return found


def _is_empty(column: Figures) -> bool:
    return all(value != value for value in column)
