"""Which model holds where: a name in the report may have several over the frames of a clip."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from acuity.measure.epochs import FOREVER, Epochs
from acuity.measure.prediction import Prediction


class Segment(NamedTuple):
    """Frames that one model was predicted for."""

    name: str  # the column of its scores
    label: str  # version or path of the model
    first: int
    last: int
    options: str = ""  # what was changed in the model, in the notation of --model

    @property
    def model(self) -> str:
        """The label with the options."""
        return f"{self.label}:{self.options}" if self.options else self.label


class Slot(NamedTuple):
    """A name in the report, and who holds it at each frame."""

    name: str
    holders: Epochs[Prediction]

    def hand_over(self, prediction: Prediction, now: int, first: int) -> Slot:
        """From `first` on another one holds; until then the present one does, and nobody who was to come."""
        waiting = self.holders.assign(self.holders.at(now), now)
        return self._replace(holders=waiting.assign(prediction, first))

    def give(self, prediction: Prediction, ranges: Iterable[tuple[int, int]]) -> Slot:
        """These frames, as (first, stop), are given to that one."""
        holders = self.holders
        for first, stop in ranges:
            holders = holders.assign(prediction, first, stop)
        return self._replace(holders=holders)

    def outputs(self, length: int = FOREVER) -> list[str]:
        """The score columns of all who hold one of the first frames, the slot's own name first."""
        holders = (holder for _, _, holder in self.holders.spans(0, length))
        return list(dict.fromkeys(output for holder in holders for output in holder.outputs))

    def segments(self, length: int) -> list[Segment]:
        """Who holds the first frames."""
        return [
            Segment(self.name, holder.model.label, first, min(stop, length) - 1, holder.model.options)
            for first, stop, holder in self.holders.spans(0, length)
        ]
