"""A snapshot of a measurement, for reading it from any thread while frames are fed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.errors import FeatureError, NotReady
from acuity.features.extractor import Geometry
from acuity.measure.agenda import Agenda
from acuity.measure.collector import Collector
from acuity.measure.epochs import counted, is_counted
from acuity.measure.plan import ExtractorSet
from acuity.measure.results import Results
from acuity.measure.segments import Prediction, Segment, Slot


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
        wanted = np.zeros(self.frames - begin, bool)
        wanted[counted(self.agenda.steps, self.frames, begin) - begin] = True
        for slot in self.agenda.slots:
            spans = list(slot.holders.spans(begin, self.frames))
            for holder in dict.fromkeys(holder for _, _, holder in spans):
                own = wanted
                if len(spans) > 1:
                    own = np.zeros(len(wanted), bool)
                    for first, stop, other in spans:
                        if other is holder:
                            rows = slice(max(first - begin, 0), stop - begin)
                            own[rows] = wanted[rows]
                holder.fill(own, begin)

    def results(self, geometry: Geometry, fps: float, *, partial: bool, stopped_after: int | None) -> Results:
        """All figures known so far; raises ScoreError if a score isn't a number, unless partial.

        Beside other models, a lenient model's scores that are no numbers are undefined instead.
        """
        self.predict()
        rows = counted(self.agenda.steps, self.frames)
        plans = [plan for _, _, plan in self.agenda.plans.spans(0, max(self.frames, 1))]
        extractors = ExtractorSet(extractor for plan in plans for extractor in plan)
        keys = extractors.keys(self.frames)
        columns = {key: self.collector.column(key, self.frames)[rows] for key in keys}
        undefined = {key: self.collector.undefined(key, self.frames)[rows] for key in keys}
        if self.over:  # drop figures that the pictures don't have, such as chroma figures of luma alone
            columns = {key: column for key, column in columns.items() if self.collector.has(key)}
        labels: dict[str, str] = {}
        selective: set[str] = set()
        firm = any(not self._is_lenient(slot) for slot in self.agenda.slots)
        for slot in self.agenda.slots:
            for output in slot.outputs(max(self.frames, 1)):
                columns[output], labels[output] = self._scores(slot, output, rows)
                selects = all(holder.model.selective for _, _, holder in self._spans(slot))
                if selects and not np.isnan(columns[output]).all():
                    selective.add(output)  # the frames that it can't judge have no figure
                    continue
                if firm and self._is_lenient(slot):
                    undefined[output] = self._infinite(slot, output)[rows]
                    columns[output][undefined[output]] = np.nan
                elif not partial:
                    self._check_scores(slot, output)
        segments = self.segments()
        if len(self.agenda.plans) > 1 or len(segments) > len(self.agenda.slots):
            partial = True
            # Drop columns of extractors that ended before they had an exact figure of a counted frame.
            columns = {key: c for key, c in columns.items() if key in labels or not np.isnan(c).all()}
        return Results(
            frames=rows.tolist(),
            columns=columns,
            models=list(labels),
            model_labels=labels,
            width=geometry.width,
            height=geometry.height,
            fps=fps,
            aggregate=self._aggregate(extractors, geometry),
            partial=partial,
            undefined={key: which for key, which in undefined.items() if key in columns and which.any()},
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
                key: column[~np.isnan(column)]
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

    def _infinite(self, slot: Slot, output: str) -> NDArray[np.bool_]:
        """Which frames have a score of the slot that is not a finite number."""
        found = np.zeros(self.frames, bool)
        for first, stop, holder in self._spans(slot):
            if output in holder.outputs:
                found[first:stop] = holder.infinite(output, self.frames)[first:stop]
        return found

    def _check_scores(self, slot: Slot, output: str) -> None:
        for first, stop, holder in self._spans(slot):
            if output in holder.outputs:
                holder.check_all(first, min(stop, self.frames), output)

    def _scores(self, slot: Slot, output: str, rows: NDArray[np.intp]) -> tuple[NDArray[np.float64], str]:
        """A score column over all models of the slot, and the label of the last one."""
        values = np.full(self.frames, np.nan)
        label = ""
        for first, stop, holder in self._spans(slot):
            if output in holder.outputs:
                values[first:stop] = holder.column(output, self.frames)[first:stop]
                label = holder.model.label
        return values[rows], label
