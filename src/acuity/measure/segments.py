"""Slots and segments: a name in the report may have several models over the frames of a clip."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from acuity.measure.epochs import FOREVER, Epochs
from acuity.measure.prediction import Prediction


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
        return [
            Segment(
                _column(self.name, holder),
                holder.model.label,
                first,
                min(stop, length) - 1,
                holder.model.options,
            )
            for first, stop, holder in self.holders.spans(0, length)
        ]


def _column(name: str, holder: Prediction) -> str:
    """The main score column of a model; one of several outputs has no column of the slot's own name."""
    return name if name in holder.outputs else holder.outputs[0]
