"""Checkpoint: the exact figures of a clip's first frames, from which another measurement can go on."""

from __future__ import annotations

import binascii
from collections.abc import Iterable, Mapping, Sized
from typing import TYPE_CHECKING, Any, Self

from acuity.arrays import np
from acuity.errors import ResumeError
from acuity.measure.agenda import Agenda
from acuity.measure.collector import Collector
from acuity.records import NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ColumnFigures(NamedTuple):
    """The figures of one column, and which of them exist."""

    values: NDArray[np.float64]
    written: NDArray[np.bool_]


class Checkpoint(NamedTuple):
    """The figures that workers computed for the first frames, as they handed them to the collector.

    Scores and figures that are derived from several frames are not kept: they follow from these, and those of
    the last frames would be wrong where the clip goes on.
    """

    frames: int
    subject: dict[str, Any]  # what was measured, in plain values: equal for measurements of the same figures
    columns: Mapping[str, ColumnFigures]

    @classmethod
    def of(cls, agenda: Agenda, collector: Collector, frames: int) -> Self:
        """The checkpoint of a measurement that wasn't steered, after `frames` frames."""
        columns = {}
        for key in _computed(agenda):
            if collector.has(key):
                (values,), written = collector.table([key], frames)
                columns[key] = ColumnFigures(np.array(values), np.array(written, bool))
        return cls(frames, _subject(agenda), columns)

    def check(self, agenda: Agenda) -> None:
        """Raise ResumeError unless the agenda measures the same."""
        for part, found in _subject(agenda).items():
            if found != self.subject.get(part):
                raise ResumeError(f"the earlier measurement had other {part}: this one cannot go on from it")
        if unknown := set(self.columns).difference(_computed(agenda)):
            raise ResumeError(f"the earlier measurement had {min(unknown)}, which this one doesn't compute")

    def row(self, index: int) -> dict[str, float]:
        """The figures of one frame."""
        return {
            key: float(values[index]) for key, (values, written) in self.columns.items() if written[index]
        }

    def to_document(self) -> dict[str, Any]:
        """Plain values for JSON. Figures are little-endian doubles in base64, without the missing ones."""
        columns = {
            key: {"values": _encode(values[written].astype("<f8")), "frames": _encode(np.packbits(written))}
            for key, (values, written) in self.columns.items()
        }
        return {"frames": self.frames, "subject": self.subject, "columns": columns}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """The checkpoint from its document; raises ValueError, TypeError or KeyError if it is malformed."""
        frames = document["frames"]
        if not isinstance(frames, int) or frames < 1:
            raise ValueError("a checkpoint has at least one frame")
        columns = {}
        for key, column in document["columns"].items():
            packed = _decode(column["frames"], np.uint8)
            if len(packed) != -(-frames // 8):
                raise ValueError(f"the column '{key}' has another number of frames")
            written = np.unpackbits(packed, count=frames).astype(bool)
            values = np.full(frames, np.nan)
            values[written] = _decode(column["values"], "<f8")
            columns[str(key)] = ColumnFigures(values, written)
        return cls(frames, dict(document["subject"]), columns)


def _subject(agenda: Agenda) -> dict[str, Any]:
    """The models, extractors and sampling of the agenda at the first frame, in plain values."""
    models = {slot.name: slot.holders.at(0).model for slot in agenda.slots}
    return {
        "models": {name: [model.label, model.options] for name, model in models.items()},
        "extractors": [{"name": entry.name, **entry.settings} for entry in agenda.measured],
        "subsample": agenda.steps.at(0),
    }


def is_steered(agenda: Agenda) -> bool:
    """Whether models, features or sampling changed after the first frame."""
    epochs: list[Sized] = [agenda.plans, agenda.steps, *(slot.holders for slot in agenda.slots)]
    return any(len(entry) > 1 for entry in epochs)


def _computed(agenda: Agenda) -> Iterable[str]:
    """The columns that workers write, which others are derived from."""
    for extractor in agenda.measured:
        yield from extractor.keys(late=False)
        yield from extractor.hidden_keys()


def _encode(array: NDArray[Any]) -> str:
    return binascii.b2a_base64(array.tobytes(), newline=False).decode()


def _decode(text: str, dtype: Any) -> NDArray[Any]:
    return np.frombuffer(binascii.a2b_base64(text, strict_mode=True), dtype)  # its Error is a ValueError
