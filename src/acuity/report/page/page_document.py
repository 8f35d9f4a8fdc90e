"""The records of a page, and its document: what the page's script draws.

A page of any kind (a score, a comparison, a tuning) is the same records with other parts filled in. Texts may
come from anywhere: they are shown on one line, with characters that would change the order of others made
visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity import __version__
from acuity.report.document import plain
from acuity.report.page.packing import (
    DETAILS,
    Detail,
    Packed,
    decimals_for,
    pack,
    pack_ranges,
    packed_size,
    storable,
)
from acuity.report.tables import Table
from acuity.text import one_line

SCHEMA: Final = "acuity.page/1"
DATA_BUDGET: Final = 320_000  # characters of all packed columns
_TIME_DECIMALS: Final = 6  # of seconds; those of a constant rate take next to no room

Kind = Literal["score", "compare", "tune"]
Level = Literal["warning", "info"]


class Card(NamedTuple):
    """One figure at the top of the page."""

    label: str
    value: str
    detail: str = ""
    tone: Literal["plain", "warning"] = "plain"


class Column(NamedTuple):
    """The figures of one name, a row each; NaN where there is none."""

    name: str
    label: str
    kind: Literal["score", "metric", "feature"]
    values: NDArray[np.float64]
    unit: str = ""
    better: Literal["higher", "lower"] | None = None
    figures: Sequence[tuple[str, str]] = ()  # what is said of all rows: mean, percentiles, as text
    breaks: Sequence[int] = ()  # rows from which on another model scores, on another scale


class Event(NamedTuple):
    """Something that happened at a frame."""

    frame: int
    text: str


class Series(NamedTuple):
    """The columns of one encode. The first score is the headline, without one the first column."""

    name: str
    frames: NDArray[np.int64]
    columns: Sequence[Column]
    times: NDArray[np.float64] | None = None  # seconds; None: no rate is known
    events: Sequence[Event] = ()

    @property
    def headline(self) -> Column | None:
        scores = (column for column in self.columns if column.kind == "score")
        return next(scores, next(iter(self.columns), None))

    @property
    def seconds(self) -> float | None:
        """How long the frames last, for a plot that begins at 0; None without times or with uneven ones."""
        times, frames = self.times, self.frames
        if times is None or len(frames) < 2 or frames[-1] == frames[0] or not np.isfinite(times).all():
            return None
        step = float(times[-1] - times[0]) / float(frames[-1] - frames[0])
        even = np.abs(times - (frames - frames[0]) * step).max() < step / 2
        return step * float(frames[-1] + 1 - frames[0]) if step > 0 and even else None


class Picture(NamedTuple):
    """One frame that can be looked at; the pictures are data: URLs, None where there is none."""

    frame: int
    score: float
    description: str
    width: int
    height: int
    reference: str | None = None
    distorted: str | None = None
    difference: str | None = None
    heat: str | None = None
    time: float | None = None
    region: tuple[float, float, float, float] | None = None  # left, top, width, height as shares
    series: int = 0


class RatePoint(NamedTuple):
    """One encode on a curve of quality over bitrate."""

    kbps: float
    score: float
    label: str
    chosen: bool = False


class Rates(NamedTuple):
    """The encodes of one encoder or size."""

    name: str
    points: Sequence[RatePoint]


class PageNote(NamedTuple):
    """Something that readers should know."""

    level: Level
    text: str


@dataclass(frozen=True, eq=False)
class Page:
    """All that a page shows."""

    kind: Kind
    title: str
    subtitle: str = ""
    cards: Sequence[Card] = ()
    series: Sequence[Series] = ()
    pictures: Sequence[Picture] = ()
    no_pictures: str | None = None  # why there are none
    rates: Sequence[Rates] = ()
    rate_score: str = "VMAF"
    targets: Sequence[float] = ()
    tables: Sequence[tuple[str, Table]] = ()
    first_tables: int = 0  # how many of them stand above the curves
    notes: Sequence[PageNote] = ()
    facts: Sequence[tuple[str, str]] = ()
    made_by: str = field(default=f"acuity {__version__}")

    def to_document(self, budget: int = DATA_BUDGET) -> dict[str, Any]:
        """The document `acuity.page/1`, its columns packed so that they take at most `budget` characters."""
        detail, series = _packed_within(self.series, budget)
        notes = [_shown(note._asdict()) for note in _detail_notes(self.series, detail)]
        outline = self.outline()
        return {**outline, "series": series, "notes": outline["notes"] + notes}

    def outline(self) -> dict[str, Any]:
        """The document without the figures of frames."""
        found: dict[str, Any] = plain(
            {
                "schema": SCHEMA,
                "kind": self.kind,
                "title": one_line(self.title),
                "subtitle": one_line(self.subtitle),
                "made_by": self.made_by,
                "cards": [_shown(card._asdict()) for card in self.cards],
                "series": [_series(one) for one in self.series],
                "pictures": [_picture(picture) for picture in self.pictures],
                "no_pictures": None if self.no_pictures is None else one_line(self.no_pictures),
                "rates": [
                    {"name": one_line(one.name), "points": [_shown(point._asdict()) for point in one.points]}
                    for one in self.rates
                ],
                "rate_score": one_line(self.rate_score),
                "targets": list(self.targets),
                "tables": [_table(title, table) for title, table in self.tables],
                "first_tables": self.first_tables,
                "notes": [_shown(note._asdict()) for note in self.notes],
                "facts": [[one_line(name), one_line(text)] for name, text in self.facts],
            }
        )
        return found


def _shown(record: dict[str, Any]) -> dict[str, Any]:
    return {key: one_line(value) if isinstance(value, str) else value for key, value in record.items()}


def _picture(picture: Picture) -> dict[str, Any]:
    found = {key: value for key, value in picture._asdict().items() if value is not None}
    return {"time": None, "region": None, **found, "description": one_line(picture.description)}


def _table(title: str, table: Table) -> dict[str, Any]:
    return {
        "title": one_line(title),
        "titles": [one_line(name) for name in table.titles],
        "rows": [[one_line(cell) for cell in row] for row in table.rows],
        "numeric": [bool(number) for number in table.numeric],
    }


def _series(series: Series) -> dict[str, Any]:
    """All of a series but its packed figures."""
    return {
        "name": one_line(series.name),
        "columns": [_about(column) for column in series.columns],
        "events": [{"frame": event.frame, "text": one_line(event.text)} for event in series.events],
    }


def _packed_within(series: Sequence[Series], budget: int) -> tuple[Detail, list[dict[str, Any]]]:
    """The most exact detail that fits the budget (the least exact if none does), and the packed series."""
    axes = [
        {
            "frames": pack(one.frames.astype(np.float64), 0),
            "times": None if one.times is None else pack(one.times, _TIME_DECIMALS),
        }
        for one in series
    ]
    taken = sum(packed_size(part) for parts in axes for part in parts.values() if part is not None)
    made: _Made = {}
    for detail in DETAILS:
        columns = _packed(series, detail, made, budget - taken if detail is not DETAILS[-1] else None)
        if columns is not None:
            break
    assert columns is not None  # the last detail has no limit
    found = []
    for one, parts, packed in zip(series, axes, columns, strict=True):
        about = _series(one)
        filled = [{**column, "values": part} for column, part in zip(about["columns"], packed, strict=True)]
        found.append({**about, **parts, "columns": filled})
    return detail, found


_Made = dict[tuple[int, int, int, int], Packed]  # by series, column, decimals and bucket: details share some


def _packed(
    series: Sequence[Series], detail: Detail, made: _Made, limit: int | None
) -> list[list[Packed]] | None:
    """The columns of each series at this detail; None as soon as they are larger than the limit."""
    found: list[list[Packed]] = []
    size = 0
    for number, one in enumerate(series):
        found.append([])
        headline = one.headline
        for place, column in enumerate(one.columns):
            decimals, bucket = _exactness(column, column is headline, detail)
            key = (number, place, decimals, bucket)
            packed = made.get(key) or made.setdefault(key, _packed_column(column.values, decimals, bucket))
            size += packed_size(packed)
            if limit is not None and size > limit:
                return None
            found[-1].append(packed)
    return found


def _about(column: Column) -> dict[str, Any]:
    return {
        "name": one_line(column.name),
        "label": one_line(column.label),
        "kind": column.kind,
        "unit": one_line(column.unit),
        "better": column.better,
        "figures": [[one_line(name), one_line(value)] for name, value in column.figures],
        **({"breaks": [int(row) for row in column.breaks]} if column.breaks else {}),
    }


def _exactness(column: Column, headline: bool, detail: Detail) -> tuple[int, int]:
    """The decimals of a column, and how many rows share a range."""
    if column.kind == "score":
        decimals = detail.decimals
    else:
        metric = column.kind == "metric" or headline
        decimals = decimals_for(column.values, detail.metric_digits if metric else detail.feature_digits)
    return decimals, _bucket(len(column.values), _points(column, headline, detail))


def _packed_column(values: NDArray[np.float64], decimals: int, bucket: int) -> Packed:
    return pack(values, decimals) if bucket == 1 else pack_ranges(values, decimals, bucket)


def _points(column: Column, headline: bool, detail: Detail) -> int | None:
    if headline:
        return detail.headline_points
    return detail.feature_points if column.kind == "feature" else detail.metric_points


def _bucket(rows: int, points: int | None) -> int:
    """How many rows share a range: 1 if ranges would not be shorter than the rows."""
    bucket = 1 if points is None else -(-rows // points)
    return bucket if bucket > 2 else 1


def _detail_notes(series: Sequence[Series], detail: Detail) -> Iterator[PageNote]:
    """What the page can't show exactly."""
    for what, buckets in (
        ("scores are", {b for one in series for b in _buckets(one, detail, headline=True)}),
        ("metrics are", {b for one in series for b in _buckets(one, detail, kinds=("score", "metric"))}),
        ("features are", {b for one in series for b in _buckets(one, detail, kinds=("feature",))}),
    ):
        if buckets - {1}:
            text = f"{what} shown as ranges of {_from_to(buckets - {1})} frames"
            yield PageNote("info", f"{text}; the JSON report has every figure")
    for one in series:
        for column in one.columns:
            lost = int(np.count_nonzero(~storable(column.values) & ~np.isnan(column.values)))
            if lost:
                few = "figure is" if lost == 1 else "figures are"
                yield PageNote("warning", f"{lost} {few} infinite or too large to draw in {column.name}")


def _buckets(
    series: Series, detail: Detail, *, headline: bool = False, kinds: Iterable[str] = ()
) -> Iterator[int]:
    for column in series.columns:
        first = column is series.headline
        if first == headline and (headline or column.kind in kinds):
            yield _bucket(len(column.values), _points(column, first, detail))


def _from_to(numbers: Iterable[int]) -> str:
    low, *others = sorted(numbers)
    return f"{low} to {others[-1]}" if others else str(low)
