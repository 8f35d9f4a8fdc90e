"""Makes the page of one score from a report: cards, curves, events, notes and facts."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from acuity.measure.pooling import POOLS, percentiles
from acuity.report.document import Extra, ReportSource
from acuity.report.page.column_names import ColumnName, column_name, is_score
from acuity.report.page.html_page import html_page
from acuity.report.page.packing import LARGEST
from acuity.report.page.page_document import FigureTile, Page, PageColumn, PageNote, PagePicture, Series
from acuity.report.page.score_facts import entries, frame_times, mapping, score_events, score_facts
from acuity.report.plots.axes import PlotSeries
from acuity.report.plots.svg_plot import svg_plot
from acuity.text import clock, one_line, shortened

_PERCENTILES: Final = (1, 5, 10, 25, 50, 75, 90, 95, 99)
_WORDS: Final = {"mean": "mean", "harmonic_mean": "harmonic mean", "min": "lowest", "max": "highest"}
MOST_COLUMNS: Final = 64  # of a page: more would make it slow, and nobody finds one among thousands
_NAMED: Final = 8  # names of columns that aren't shown
_MOST_CARDS: Final = 12
_CLOSE: Final = 1e-4  # a report's own figures may differ so much from those of its rounded frames
_LARGE: Final = 100.0  # from here on, the difference is relative
_SEE_PARTS: Final = [
    (word, "see each model") for word in (*_WORDS.values(), *(f"p{p}" for p in _PERCENTILES))
]
NO_FRAMES: Final = "The report has no frames, so there is no curve."
NO_FIGURES: Final = "No frame of the report has a figure, so there is no curve."


def score_page(
    source: ReportSource,
    extra: Mapping[str, Any],
    pictures: Sequence[PagePicture] = (),
    no_pictures: str | None = None,
) -> Page:
    """The page of a report; `extra` is what a JSON report has beside its frames.

    It may also have `times`, the seconds of each row, `name`, what an old report is called, `scores`, the
    columns that are scores, and `metrics`, the main columns of the metrics that were asked for.
    """
    about = mapping(extra.get("acuity"))
    scores, labels = _scores(source, extra, about)
    order = np.argsort(source.frames, kind="stable")
    frames = np.asarray(source.frames, np.int64)[order]
    columns = {name: np.asarray(values, np.float64)[order] for name, values in source.columns.items()}
    asked: Any = extra.get("metrics")
    named = {name: column_name(name, scores, asked) for name in [*scores, *columns] if name in columns}
    ranked = sorted(named, key=lambda name: _RANK[named[name].kind])
    shown = {name: named[name] for name in ranked[:MOST_COLUMNS]}
    columns = {name: columns[name] for name in columns if name in shown}
    pooled = source.pooled()
    parts = _parts(about)
    figures = {name: {} if name in parts else _pooled(columns[name], pooled.get(name, {})) for name in shown}
    events, gaps = score_events(frames, about)

    def column(name: str, one: ColumnName) -> PageColumn:
        said = _SEE_PARTS if name in parts else _said(figures[name], one)
        breaks = [int(np.searchsorted(frames, part["first"])) for part in parts.get(name, [])[1:]]
        return PageColumn(name, one.label, one.kind, columns[name], one.unit, one.better, said, breaks)

    made = [column(name, one) for name, one in shown.items()]
    series = Series(_title(extra, about), frames, made, _times(extra, about, frames, order), events)
    left_out = ranked[MOST_COLUMNS:]
    notes = [
        *_notes(about),
        *_left_out(left_out),
        *gaps,
        *_doubts(columns, frames),
        *(note for name, one in shown.items() for note in _contradictions(name, one, pooled, columns[name])),
        *_missing(shown, columns, frames),
    ]
    return Page(
        "score",
        _title(extra, about),
        _subtitle(extra, about, labels),
        cards=_cards(series, shown, figures, labels, parts, incomplete=bool(about.get("partial"))),
        series=[series],
        pictures=pictures,
        no_pictures=no_pictures,
        notes=notes,
        facts=score_facts(source, extra, labels),
    )


_RANK: Final = {"score": 0, "metric": 1, "feature": 2}


def _scores(
    source: ReportSource, extra: Mapping[str, Any], about: Mapping[str, Any]
) -> tuple[list[str], dict[str, str]]:
    """The columns that are scores, the main one first, and the models behind them."""
    given: Any = extra.get("scores")
    known: Sequence[str] = getattr(source, "models", ())
    if given is not None:
        names = [str(name) for name in given]
    elif known:
        names = [*known]
    else:
        tiny = mapping(extra.get("tiny_model"))
        outputs: Any = tiny.get("outputs")
        outputs = outputs if isinstance(outputs, list) else [tiny.get("name")]
        guessed = sorted(filter(is_score, source.columns), key=lambda name: name != "vmaf")
        names = [*guessed, *(name for name in source.columns if name in outputs and name not in guessed)]
    labels = {**(getattr(source, "model_labels", {}) if known else {}), **mapping(extra.get("labels"))}
    if names and isinstance(about.get("model"), str):
        labels[names[0]] = about["model"]
    return names, {name: label for name, label in labels.items() if name in names}


def _times(
    extra: Mapping[str, Any], about: Mapping[str, Any], frames: NDArray[np.int64], order: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    given = extra.get("times")
    if given is not None:
        times = np.array([math.nan if time is None else time for time in given], np.float64)[order]
        return times if np.isfinite(times).all() and len(times) else None
    return frame_times(about, frames)


def _pooled(values: NDArray[np.float64], said: Mapping[str, float]) -> dict[str, float]:
    """The pooled figures of a column, over the frames that are shown.

    The report's own figures have more digits than its frames, so they are taken where both agree.
    """
    found = values[~np.isnan(values)]
    if not len(found):
        return {}
    pooled = {}
    with np.errstate(invalid="ignore", over="ignore"):  # infinite figures, and sums of absurdly large ones
        for name, word in _WORDS.items():
            computed = POOLS[name](found)
            pooled[word] = said[name] if _same(said.get(name, math.nan), computed) else computed
        marks = percentiles(found, _PERCENTILES)
    return pooled | {f"p{percent}": value for percent, value in zip(_PERCENTILES, marks, strict=True)}


def _same(said: float, computed: float) -> bool:
    allowed = _CLOSE * max(1.0, abs(computed) / _LARGE)
    return math.isfinite(allowed) and abs(said - computed) <= allowed  # false for NaN


def _said(figures: Mapping[str, float], shown: ColumnName) -> list[tuple[str, str]]:
    left_out = () if shown.kind == "score" else ("harmonic mean",)
    return [(name, _number(value, shown.decimals)) for name, value in figures.items() if name not in left_out]


def _number(value: float, decimals: int) -> str:
    if not math.isfinite(value):
        return "not a number" if value != value else "infinite"
    return f"{value:.{decimals}f}" if abs(value) < LARGEST else f"{value:.6g}"


def _title(extra: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    distorted = mapping(mapping(about.get("input")).get("distorted")).get("path")
    name = distorted if isinstance(distorted, str) and distorted else extra.get("name")
    return os.path.basename(str(name)) or str(name) if name else "Report"


def _subtitle(extra: Mapping[str, Any], about: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    reference = mapping(mapping(about.get("input")).get("reference")).get("path")
    parts = []
    if isinstance(reference, str):
        parts.append(f"against {os.path.basename(reference)}")
    elif extra.get("no_reference"):
        parts.append("without a reference")
    parts += dict.fromkeys(labels.values())
    every = about.get("subsample")
    if mapping(about.get("partial")):
        parts.append("partial")
    if about.get("steering"):
        parts.append("steered")
    elif isinstance(every, int) and every > 1:
        parts.append(f"one frame in {every}")
    return ", ".join(parts)


def _cards(
    series: Series,
    shown: Mapping[str, ColumnName],
    figures: Mapping[str, Mapping[str, float]],
    labels: Mapping[str, str],
    parts: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    incomplete: bool,
) -> list[FigureTile]:
    """The means of scores and metrics, and of the first score the worst frame and the 5th percentile."""
    found: list[FigureTile] = []
    for column in series.columns:
        name, one = column.name, shown[column.name]
        if one.main and name in parts:
            found += _cards_of_parts(series, column, one, parts[name])
        if not one.main or "mean" not in figures[name]:
            continue
        count = int(np.count_nonzero(~np.isnan(column.values)))
        detail = f"{labels[name]}, " if name in labels else ""
        detail += f"mean of {count:,} frame{'s' * (count != 1)}"
        value = _number(figures[name]["mean"], one.decimals)
        found.append(
            FigureTile(one.label, f"{value} {one.unit}".strip(), detail, "warning" if incomplete else "plain")
        )
        if len(found) == 1:
            found += _extremes(series, column, one, figures[name])
    return found[:_MOST_CARDS]


def _parts(about: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    """The segments of each score that several models contributed to: they have no common scale."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for segment in entries(mapping(about.get("steering")).get("segments")):
        if isinstance(segment.get("first"), int) and isinstance(segment.get("last"), int):
            found.setdefault(str(segment.get("name")), []).append(segment)
    return {name: segments for name, segments in found.items() if len(segments) > 1}


def _cards_of_parts(
    series: Series, column: PageColumn, one: ColumnName, segments: Sequence[Mapping[str, Any]]
) -> Iterator[FigureTile]:
    """The mean of each model's frames."""
    for segment in segments:
        first, last = segment["first"], segment["last"]
        rows = (series.frames >= first) & (series.frames <= last) & ~np.isnan(column.values)
        if rows.any():
            value = _number(POOLS["mean"](column.values[rows]), one.decimals)
            detail = f"{segment.get('label')}, mean of frames {first} to {last}"
            yield FigureTile(one.label, f"{value} {one.unit}".strip(), detail, "warning")


def _extremes(
    series: Series, column: PageColumn, one: ColumnName, figures: Mapping[str, float]
) -> Iterator[FigureTile]:
    """The worst frame, and what 95 % of the frames reach."""
    lower = one.better == "lower"
    row = int(np.nanargmax(column.values) if lower else np.nanargmin(column.values))
    worst, mark = ("highest", "p95") if lower else ("lowest", "p5")
    when = "" if series.times is None else f" at {clock(float(series.times[row]), 3)}"
    shown = f"frame {series.frames[row]}{when}"
    yield FigureTile(f"{worst} frame", _number(figures[worst], one.decimals), shown)
    reach = "stay below" if lower else "reach"
    yield FigureTile(mark, _number(figures[mark], one.decimals), f"95 % of the frames {reach} it")


def _notes(about: Mapping[str, Any]) -> Iterator[PageNote]:
    for note in entries(about.get("notes")):
        if isinstance(note.get("text"), str):
            yield PageNote("warning" if note.get("level") == "warning" else "info", note["text"])


def _left_out(names: Sequence[str]) -> Iterator[PageNote]:
    """A note on columns that the page doesn't show."""
    if names:
        few = ", ".join(shortened(name) for name in names[:_NAMED])
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        text = f"a page shows {MOST_COLUMNS} columns, scores and metrics first: left out are {few}{more}"
        yield PageNote("warning", f"{text}; the report has all")


def _doubts(columns: Mapping[str, NDArray[np.float64]], frames: NDArray[np.int64]) -> Iterator[PageNote]:
    """Warnings of what is odd in the report as a whole."""
    if not len(frames):
        yield PageNote("warning", NO_FRAMES)
    elif all(np.isnan(values).all() for values in columns.values()):
        yield PageNote("warning", NO_FIGURES)
    twice = frames[1:][np.diff(frames) == 0]
    if len(twice):
        said = f"{len(twice):,} frame numbers occur more than once, the first is {twice[0]}: all are drawn"
        yield PageNote("warning", said)


def _contradictions(
    name: str, shown: ColumnName, pooled: Mapping[str, Mapping[str, float]], values: NDArray[np.float64]
) -> Iterator[PageNote]:
    """Warnings of the report's own figures that aren't those of its frames."""
    found = values[~np.isnan(values)]
    if not len(found):
        return
    wrong = []
    for method, word in _WORDS.items():
        said = pooled.get(name, {}).get(method, math.nan)
        with np.errstate(invalid="ignore", over="ignore"):
            computed = POOLS[method](found)
        if method == "harmonic_mean" and shown.kind != "score":
            continue  # isn't shown
        if math.isfinite(said) and not _same(said, computed):
            wrong.append(f"{word} {said:.6g}, but its frames {computed:.6g}")
    if wrong:
        yield PageNote("warning", f"the report has for {name} {'; '.join(wrong)}: the page shows the frames'")


def _missing(
    shown: Mapping[str, ColumnName], columns: Mapping[str, NDArray[np.float64]], frames: NDArray[np.int64]
) -> Iterator[PageNote]:
    """Notes on frames without a number, of scores and metrics; features may begin late."""
    for name, one in shown.items():
        absent = np.isnan(columns[name])
        count = int(np.count_nonzero(absent))
        if one.kind == "feature" or not count:
            continue
        if count == len(frames):
            if len(columns) > 1:  # else the page says that there are no figures
                yield PageNote("warning", f"no frame has a number of {name}")
            continue
        have, first = ("has", "it is") if count == 1 else ("have", "the first is")
        yield PageNote(
            "info",
            f"{count:,} of {len(frames):,} frames {have} no number of {name}, {first} frame "
            f"{frames[int(absent.argmax())]}: its figures are of the other {len(frames) - count:,}",
        )


def write_html(source: ReportSource, extra: Extra) -> Iterator[str]:
    """The page in pieces. Its pictures are the entry `pictures` of extra, or `no_pictures` says why not."""
    pictures: Any = extra.get("pictures", ())
    why: Any = extra.get("no_pictures")
    yield from html_page(score_page(source, extra, pictures, why))


def write_svg(source: ReportSource, extra: Extra) -> Iterator[str]:
    yield svg_plot(**_plotted(score_page(source, extra)))


def write_png(source: ReportSource, extra: Extra) -> Iterator[bytes]:
    from acuity.report.plots.png_plot import png_plot

    yield png_plot(**_plotted(score_page(source, extra)))


def _plotted(page: Page) -> dict[str, Any]:
    """The arguments of a plot: the scores of a report, without one its first column."""
    series = page.series[0]
    headline = series.headline
    scores = [column for column in series.columns if column.kind == "score"]
    columns = scores or ([headline] if headline is not None else [])
    return {
        "series": [PlotSeries(one_line(column.label), series.frames, column.values) for column in columns],
        "seconds": series.seconds,
        "label": one_line(columns[0].label if columns else ""),
        "title": one_line(f"{page.title}, {page.subtitle}" if page.subtitle else page.title),
    }
