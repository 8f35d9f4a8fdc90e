"""The scores of one model over a measurement, and the segments of frames that it is reported for.

A name in the report may have several models over the frames of a clip.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING

from acuity.errors import ScoreError
from acuity.measure.collector import Collector, Figures
from acuity.measure.epochs import FOREVER, Epochs
from acuity.records import NamedTuple

if TYPE_CHECKING:
    from acuity.models.inputs import AnyModel


class Prediction:
    """A model and its scores, which are predicted on first use and then kept.

    Scores are kept for each model, whichever frames it is reported for. So a model that is swapped in again,
    or assigned to earlier frames, finds its scores, and no thread can overwrite another model's.
    """

    def __init__(self, model: AnyModel, features: Collector) -> None:
        self.model = model
        self.outputs = model.output_names()
        self.extractors = tuple(model.make_extractors())
        self.inputs = model.feature_keys()
        self._features = features
        self._scores = Collector()
        self._scores.declare(self.outputs)

    def at(self, index: int, output: str) -> float | None:
        """One frame's score, or None while a feature it needs is missing."""
        known = self._scores.get(output, index)
        if known is not None:
            return known
        row = self._features.row(self.inputs, index)
        if row is None:
            return None
        scores = self.model.outputs({place: [value] for place, value in enumerate(row)})
        self._scores.write(index, {name: float(values[0]) for name, values in scores.items()})
        return float(scores[output][0])

    def fill(self, wanted: Iterable[range]) -> None:
        """Predict at once all wanted frames that have their features and no score yet."""
        spans = [span for span in wanted if span]
        if not spans:
            return
        begin, length = spans[0].start, spans[-1].stop
        features, ready = self._features.table(self.inputs, length, begin)
        _, scored = self._scores.table(self.outputs, length, begin)
        missing = [n for span in spans for n in span if ready[n - begin] and not scored[n - begin]]
        if len(missing) < length - begin:
            features = [array("d", [column[frame - begin] for frame in missing]) for column in features]
        if missing:
            self._scores.write_all(missing, self.model.outputs(dict(enumerate(features))))

    def check(self, index: int, output: str, score: float) -> None:
        """Raise ScoreError if the score of a frame is not a finite number."""
        if math.isfinite(score):
            return
        row = self._features.row(self.inputs, index) or []
        hidden = {key for extractor in self.extractors for key in extractor.hidden_keys()}  # the model's own
        figures = zip(self.inputs, row, strict=False)
        bad = [key for key, value in figures if not math.isfinite(value) and key not in hidden]
        why = (
            f"its {bad[0]} is none either"
            if bad
            else "the picture is of one colour or noise, which it can't judge"
            if self.model.selective
            else "the model's arithmetic goes beyond all bounds, so check its file"
        )
        raise ScoreError(
            f"the score '{output}' of frame {index} by '{self.model.label}' is not a number: {why}"
        )

    def check_all(self, first: int, stop: int, output: str) -> None:
        """Raise ScoreError for the first of these frames whose score exists and is not a finite number."""
        for index in self.infinite(output, first, stop)[:1]:
            self.check(index, output, self.column(output, stop)[index])

    def column(self, output: str, length: int) -> Figures:
        """The first scores; NaN if missing."""
        return self._scores.column(output, length)

    def infinite(self, output: str, first: int, stop: int) -> list[int]:
        """Those of these frames whose score exists and is not a finite number."""
        (scores,), there = self._scores.table([output], stop, first)
        odd = [place for place, score in enumerate(scores) if not math.isfinite(score)]
        return [first + place for place in odd if there[place]]


class Segment(NamedTuple):
    """Consecutive frames that one model scores."""

    name: str  # the column of its scores
    label: str  # version or path of the model
    first: int
    last: int
    options: str = ""  # the model's changed options, in the notation of --model

    @property
    def model(self) -> str:
        """The label with the options."""
        return f"{self.label}:{self.options}" if self.options else self.label

    def __str__(self) -> str:
        return f"{self.model} in frames {self.first} to {self.last}"


class Slot(NamedTuple):
    """A name in the report, and the model behind it at each frame."""

    name: str
    holders: Epochs[Prediction]
    requested: str = ""  # the model that was asked for, with its options

    def hand_over(self, prediction: Prediction, now: int, first: int) -> Slot:
        """The slot with another model from `first` on; the present one keeps the frames until then."""
        waiting = self.holders.assign(self.holders.at(now), now)
        return self._replace(holders=waiting.assign(prediction, first))

    def assign(self, prediction: Prediction, ranges: Iterable[tuple[int, int]]) -> Slot:
        """The slot with these frames, as (first, stop), assigned to that model."""
        holders = self.holders
        for first, stop in ranges:
            holders = holders.assign(prediction, first, stop)
        return self._replace(holders=holders)

    def outputs(self, length: int = FOREVER) -> list[str]:
        """The score columns of all models of the first frames, the slot's own name first."""
        holders = (holder for _, _, holder in self.holders.spans(0, length))
        return list(dict.fromkeys(output for holder in holders for output in holder.outputs))

    def replaced(self, length: int) -> str | None:
        """The model that was asked for, if steering has taken all of the first frames from it."""
        models = {segment.model for segment in self.segments(length)}
        return self.requested if models and self.requested not in models else None

    def segments(self, length: int) -> list[Segment]:
        """The segments of the first `length` frames."""
        found = []
        for first, stop, holder in self.holders.spans(0, length):
            model, last = holder.model, min(stop, length) - 1
            # One of several outputs has no column of the slot's own name.
            name = self.name if self.name in holder.outputs else holder.outputs[0]
            found.append(Segment(name, model.label, first, last, model.options))
        return found
