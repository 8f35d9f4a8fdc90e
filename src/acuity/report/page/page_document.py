"""The records of a page, and its document, from which the page's script draws.

A page of any kind (a score, a comparison, a tuning) is the same records with other parts filled in. Texts may
come from anywhere: they are shown on one line, with characters that would change the order of others made
visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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


class FigureTile(NamedTuple):
    label: str
    value: str
    detail: str = ""
    tone: Literal["plain", "warning"] = "plain"


class PageColumn(NamedTuple):
    """The figures of one name, a row each; NaN where there is none."""

    name: str
    label: str
    kind: Literal["score", "metric", "feature"]
    values: NDArray[np.float64]
    unit: str = ""
    better: Literal["higher", "lower"] | None = None
    figures: Sequence[tuple[str, str]] = ()  # what is said of all rows: mean, percentiles, as text
    breaks: Sequence[int] = ()  # rows from which on another model scores, on another scale


class PageEvent(NamedTuple):
    frame: int
    text: str


class Series(NamedTuple):
    """The columns of one encode. The first score is the headline, without one the first column."""

    name: str
    frames: NDArray[np.int64]
    columns: Sequence[PageColumn]
    times: NDArray[np.float64] | None = None  # seconds; None: no rate is known
    events: Sequence[PageEvent] = ()

    @property
    def headline(self) -> PageColumn | None:
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


class PagePicture(NamedTuple):
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
    level: Level
    text: str


@dataclass(frozen=True, eq=False)
class Page:
    kind: Kind
    title: str
    subtitle: str = ""
    cards: Sequence[FigureTile] = ()
    series: Sequence[Series] = ()
    pictures: Sequence[PagePicture] = ()
    no_pictures: str | None = None  # why there are none
    rates: Sequence[Rates] = ()
    rate_score: str = "VMAF"
    targets: Sequence[float] = ()
    tables: Sequence[tuple[str, Table]] = ()
    first_tables: int = 0  # how many of them stand above the curves
    notes: Sequence[PageNote] = ()
    facts: Sequence[tuple[str, str]] = ()
    made_by: str = f"acuity {__version__}"

    def to_document(self, budget: int = DATA_BUDGET) -> dict[str, Any]:
        """The document `acuity.page/1`, its columns packed so that they take at most `budget` characters."""
        detail, series = _packed_within(self.series, budget)
        outline, notes = self.outline(), _shown(_detail_notes(self.series, detail))
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
                "cards": _shown(self.cards),
                "series": [_series(one) for one in self.series],
                "pictures": [_picture(picture) for picture in self.pictures],
                "no_pictures": _shown(self.no_pictures),
                "rates": _shown(self.rates),
                "rate_score": one_line(self.rate_score),
                "targets": list(self.targets),
                "tables": [_table(title, table) for title, table in self.tables],
                "first_tables": self.first_tables,
                "notes": _shown(self.notes),
                "facts": _shown(self.facts),
            }
        )
        return found


def _shown(value: Any) -> Any:
    """Records as objects, and texts on one line."""
    if isinstance(value, str):
        return one_line(value)
    if hasattr(value, "_asdict"):
        return {key: _shown(entry) for key, entry in value._asdict().items()}
    return [_shown(entry) for entry in value] if isinstance(value, Iterable) else value


def _picture(picture: PagePicture) -> dict[str, Any]:
    found = {key: value for key, value in picture._asdict().items() if value is not None}
    return {"time": None, "region": None, **found, "description": one_line(picture.description)}


def _table(title: str, table: Table) -> dict[str, Any]:
    parts = {"titles": table.titles, "rows": table.rows, "numeric": table.numeric}
    return {"title": one_line(title), **{name: _shown(part) for name, part in parts.items()}}


def _series(series: Series, packed: Iterator[Packed] | None = None) -> dict[str, Any]:
    """A series, with the next of the packed figures for each of its columns, if there are any."""
    columns = []
    for column in series.columns:
        about = {key: _shown(value) for key, value in column._asdict().items() if key != "values"}
        if not column.breaks:
            del about["breaks"]
        columns.append(about if packed is None else {**about, "values": next(packed)})
    return {"name": one_line(series.name), "columns": columns, "events": _shown(series.events)}


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
    packed = iter(columns)
    return detail, [{**_series(one, packed), **parts} for one, parts in zip(series, axes, strict=True)]


_Made = dict[tuple[int, int, int], Packed]  # by column, decimals and bucket: details share some
_Group = Literal["headline", "metric", "feature"]


def _grouped(series: Sequence[Series]) -> Iterator[tuple[PageColumn, _Group]]:
    """All columns in turn; scores that aren't the headline are packed as metrics are."""
    for one in series:
        headline = one.headline
        for column in one.columns:
            other: _Group = "feature" if column.kind == "feature" else "metric"
            yield column, "headline" if column is headline else other


def _packed(series: Sequence[Series], detail: Detail, made: _Made, limit: int | None) -> list[Packed] | None:
    """All columns at this detail; None as soon as they are larger than the limit."""
    found: list[Packed] = []
    size = 0
    for number, (column, group) in enumerate(_grouped(series)):
        decimals = detail.decimals
        if column.kind != "score":
            digits = detail.feature_digits if group == "feature" else detail.metric_digits
            decimals = decimals_for(column.values, digits)
        bucket = _bucket(column, group, detail)
        key = (number, decimals, bucket)
        if key not in made:
            values = column.values
            made[key] = pack(values, decimals) if bucket == 1 else pack_ranges(values, decimals, bucket)
        packed = made[key]
        size += packed_size(packed)
        if limit is not None and size > limit:
            return None
        found.append(packed)
    return found


def _bucket(column: PageColumn, group: _Group, detail: Detail) -> int:
    """How many rows share a range: 1 if ranges would not be shorter than the rows."""
    points: int | None = getattr(detail, f"{group}_points")
    bucket = 1 if points is None else -(-len(column.values) // points)
    return bucket if bucket > 2 else 1


def _detail_notes(series: Sequence[Series], detail: Detail) -> Iterator[PageNote]:
    """Notes on figures that the page can't show exactly."""
    for what, group in (("scores", "headline"), ("metrics", "metric"), ("features", "feature")):
        ranges = {_bucket(column, kind, detail) for column, kind in _grouped(series) if kind == group} - {1}
        if ranges:
            text = f"{what} are shown as ranges of {_from_to(ranges)} frames"
            yield PageNote("info", f"{text}; the JSON report has every figure")
    for one in series:
        for column in one.columns:
            lost = int(np.count_nonzero(~storable(column.values) & ~np.isnan(column.values)))
            if lost:
                few = "figure is" if lost == 1 else "figures are"
                yield PageNote("warning", f"{lost} {few} infinite or too large to draw in {column.name}")


def _from_to(numbers: Iterable[int]) -> str:
    low, *others = sorted(numbers)
    return f"{low} to {others[-1]}" if others else str(low)
