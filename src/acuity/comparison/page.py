"""The page of a comparison: curves of all encodes over each other, ranking, rates, differences, pictures.

The pictures are the worst encode at its worst, and where two encodes differ most: such a frame is shown of
both, one after the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from acuity import __version__
from acuity.comparison.row import FAILED, NOT_FINISHED, PARTIAL, CompareRow
from acuity.comparison.tables import (
    FigureColumn,
    all_figures,
    differences_table,
    figure_of,
    ranking_table,
    rates_table,
    score_figure,
)
from acuity.errors import Remedy
from acuity.report.page.page_document import (
    FigureTile,
    Page,
    PageColumn,
    PageNote,
    PagePicture,
    RatePoint,
    Rates,
    Series,
)

if TYPE_CHECKING:
    from acuity.comparison.comparison import Comparison, Extras
    from acuity.frames.request import Listener
    from acuity.report.tables import Table
    from acuity.scoring.report import ScoreReport
    from acuity.scoring.request import Request

# A frame in which two encodes differ, of which the first is better on the whole.
Contrast = tuple[CompareRow, CompareRow, int]

_FIGURES: Final = (
    *(("mean", "mean"), ("harmonic mean", "harmonic_mean"), ("lowest", "min")),
    *(("p5", "p5"), ("p50", "p50"), ("p95", "p95"), ("highest", "max")),
)


def compare_page(report: Comparison, extras: Extras) -> Page:
    """All that the page shows; `series` of pictures are numbers of the rows that drawn_rows() has."""
    rows = drawn_rows(report)
    names = [os.path.basename(reference) or reference for reference in report.references]
    several = len(names) > 1
    of = f"{len(names)} references" if several else names[0]
    figures = all_figures(report)
    return Page(
        kind="compare",
        title=f"{len(report.rows)} {'encode' if len(report.rows) == 1 else 'encodes'} of {of}",
        subtitle=f"scored with {report.model}" if report.model is not None else "",
        cards=list(_cards(report)),
        series=[_series(row, row.report, figures) for row in rows if row.report is not None],
        pictures=extras.pictures,
        no_pictures=extras.no_pictures,
        rates=_rates(report),
        rate_score=score_figure(report).title,
        tables=list(_tables(report, extras.pools)),
        first_tables=len(names),  # the rankings
        notes=list(_notes(report, extras.spell)),
        facts=list(_facts(report, extras.command)),
    )


def drawn_rows(report: Comparison) -> list[CompareRow]:
    """The rows with curves, in their order on the page: as they are ranked."""
    return [row for row in report.ranking if row.report is not None]


def _cards(report: Comparison) -> Iterator[FigureTile]:
    score = score_figure(report)
    ranked = [standing for standing in report.analysis.standings if standing.place is not None]
    several = len(report.references) > 1

    def card(row: CompareRow, words: str) -> FigureTile:
        rate = "" if row.kbps is None else f" at {row.kbps:,.0f} kbit/s"
        return FigureTile(row.name, f"{row.score:.{score.decimals}f}", f"{words}, {score.title}{rate}")

    for standing in ranked:
        if standing.place == 1 and standing.to_best is None:  # the highest of those that share the place
            word = "highest, with ties" if standing.shared else "best"
            where = f" of {os.path.basename(standing.row.reference)}" if several else ""
            yield card(standing.row, f"{word}{where}")
    if len(ranked) > 1 and not several and ranked[-1].place != 1:
        yield card(ranked[-1].row, "lowest")
    for rate in report.analysis.rates:
        if rate.percent is not None and (rate.reference is None or not several):
            percent = f"{rate.percent:+.2f} %"
            yield FigureTile(f"BD-rate of {rate.encoder}", percent, f"against {rate.against}")
    unfinished = report.count(NOT_FINISHED) + report.count(PARTIAL)
    for title, number in (("Failed", report.count(FAILED)), ("Not finished", unfinished)):
        if number:
            yield FigureTile(title, str(number), f"of {len(report.rows)} encodes; see the notes", "warning")


def _series(row: CompareRow, report: ScoreReport, figures: Sequence[FigureColumn]) -> Series:
    results = report.results
    columns = [
        PageColumn(
            figure.key,
            figure.title,
            "score" if figure.key in report.scores else "metric",
            np.asarray(results.columns[figure.key], np.float64),
            unit=figure.unit,
            better=figure.better,
            figures=list(_pooled(row, figure)),
        )
        for figure in figures
        if figure.key in results.columns
    ]
    times = [report.time_of(frame) for frame in results.frames]
    known = None if None in times else np.array(times, np.float64)
    return Series(row.name, np.asarray(results.frames, np.int64), columns, known)


def _pooled(row: CompareRow, figure: FigureColumn) -> Iterator[tuple[str, str]]:
    for label, method in _FIGURES:
        if method == "harmonic_mean" and not figure.harmonic:
            continue
        value = figure_of(row, figure, method)
        if value is not None and value == value:
            yield label, f"{value:.{figure.decimals}f}"


def _rates(report: Comparison) -> list[Rates]:
    """A curve for each encoder and reference; encodes without a known encoder are points by themselves."""
    several = len(report.references) > 1
    curves: dict[str, list[RatePoint]] = {}
    placed = {one.row.name for one in report.analysis.standings if one.place is not None}
    for row in report.rows:
        if row.kbps is None or row.score is None or row.name not in placed:
            continue
        name = row.encoder or row.name
        if several:
            name = f"{name}, {os.path.basename(row.reference)}"
        curves.setdefault(name, []).append(RatePoint(row.kbps, row.score, row.name))
    return [Rates(name, sorted(points, key=lambda point: point.kbps)) for name, points in curves.items()]


def _tables(report: Comparison, pools: Sequence[str]) -> Iterator[tuple[str, Table]]:
    for reference in report.references:
        name = f" of {os.path.basename(reference)}" if len(report.references) > 1 else ""
        basis = report.analysis.basis(reference)
        title = f"Ranking{name}{'' if basis is None else f' ({basis})'}"
        table = ranking_table(report, report.analysis.of(reference), pools)
        score = score_figure(report).heading
        yield title, table.in_order("place", "encode", score, "kbit/s", "size", last="encoder")
    if report.analysis.rates:
        yield "BD-rates", rates_table(report)
    if report.analysis.differences:
        yield "Differences, frame by frame", differences_table(report)


def _notes(report: Comparison, spell: Callable[[Remedy], str]) -> Iterator[PageNote]:
    for row in report.rows:
        if (said := row.spelled(spell)) is not None:
            yield PageNote("warning", f"{row.name} failed: {said}")
    if any(standing.shared for standing in report.analysis.standings):
        yield PageNote(
            "info",
            "encodes that share a place tie: the 95 % interval of their difference, frame by frame, reaches "
            "zero, so it may be chance",
        )
    scored = [row for row in report.rows if row.report is not None]
    for (level, text), names in report.notes_by_encode(spell).items():
        who = "" if len(names) == len(scored) else f"{', '.join(names)}: "
        yield PageNote(level, f"{who}{text}")
    for text in report.all_notes:
        yield PageNote("info", text)


def _facts(report: Comparison, command: str | None) -> Iterator[tuple[str, str]]:
    for reference in report.references:
        yield "reference", reference
    for row in report.rows:
        yield "encode", row.distorted if row.name == row.distorted else f"{row.name}: {row.distorted}"
    if command is not None:
        yield "command", command
    remembered = sum(row.remembered for row in report.rows)
    known = f", {remembered} remembered from an earlier run" if remembered else ""
    yield "scored in", f"{report.seconds:.1f} s{known}"
    yield "confidence", "of mean differences: 95 %, from blocks of about a second that are drawn 2,000 times"
    yield "version", f"acuity {__version__}"


NONE_SCORED: Final = "there are no pictures: no encode was scored"
INTERRUPTED: Final = "there are no pictures: the comparison was interrupted"


def compare_pictures(
    report: Comparison, scoring: Request, count: int, progress: Listener | None = None
) -> tuple[list[PagePicture], str | None]:
    """At most `count` pictures for compare_page(), and why there are none, if so.

    `scoring` is how all pairs were scored. Each encode that is shown is read once more, with its reference.
    """
    from acuity.frames.page_pictures import BUDGET, page_pictures

    if report.interrupted:  # the user who ended it doesn't want to wait
        return [], INTERRUPTED
    rows = {row.name: number for number, row in enumerate(drawn_rows(report))}
    placed = [one.row for one in report.analysis.standings if one.place is not None]
    worst = placed[-1] if placed else next((row for row in report.ranking if row.ranked), None)
    if worst is None:
        return [], NONE_SCORED
    contrasts = list(_contrasts(report, count))
    lowest = count - 2 * len(contrasts)
    wanted: dict[str, list[int]] = {worst.name: []}
    for a, b, frame in contrasts:
        for row in (a, b):
            wanted.setdefault(row.name, []).append(frame)
    drawn: dict[str, list[PagePicture]] = {}
    reasons: list[str] = []
    for row in report.ranking:
        if row.report is None or row.name not in wanted:
            continue
        also = wanted[row.name]
        most = lowest + len(also) if row is worst else 0  # those that come later may be among the worst
        pictures, reason = page_pictures(
            replace(scoring, reference=row.reference, distorted=row.distorted),
            row.report,
            most,
            also=also,
            budget=BUDGET * max(most, len(also)) // count,
            progress=progress,
        )
        drawn[row.name] = [picture._replace(series=rows[row.name]) for picture in pictures]
        reasons += [reason] if reason is not None else []
    first = [one for one in drawn.get(worst.name, []) if one.frame not in wanted[worst.name]][:lowest]
    shown = [*first, *_in_contrast(report, contrasts, drawn)]
    return shown, None if shown else next(iter(reasons), None)


def _contrasts(report: Comparison, count: int) -> Iterator[Contrast]:
    """The frames with the greatest differences of two encodes, each frame of a reference once."""
    by_name = {row.name: row for row in report.rows}
    found = [
        (abs(frame.difference), by_name[difference.a], by_name[difference.b], frame.frame)
        for difference in report.analysis.differences
        for frame in difference.worst
    ]
    seen: set[tuple[str, int]] = set()
    for _, a, b, frame in sorted(found, key=lambda entry: -entry[0]):
        if len(seen) == (count + 1) // 4:  # each takes two pictures: about half of all
            return
        if (a.reference, frame) not in seen:
            seen.add((a.reference, frame))
            yield a, b, frame


def _in_contrast(
    report: Comparison, contrasts: list[Contrast], drawn: dict[str, list[PagePicture]]
) -> Iterator[PagePicture]:
    """The frames that differ, each of the better encode first."""
    figure = score_figure(report)
    pictures = {(name, one.frame): one for name, shown in drawn.items() for one in shown}
    for a, b, frame in contrasts:
        for row, against in ((a, b), (b, a)):
            one, other = pictures.get((row.name, frame)), pictures.get((against.name, frame))
            if one is None:
                continue
            there = "" if other is None else f", which has {figure.title} {other.score:.{figure.decimals}f}"
            yield one._replace(description=f"Differs most from {against.name}{there}. {one.description}")
