"""The tables of a comparison: ranking, differences, BD-rates as people read them; all figures as CSV."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from acuity.report.tables import Table, to_csv
from acuity.text import one_line

if TYPE_CHECKING:
    from acuity.comparison.analysis import Standing
    from acuity.comparison.comparison import Comparison
    from acuity.comparison.differences import Difference
    from acuity.comparison.row import CompareRow
    from acuity.scoring.report import ScoreReport

TIE: Final = "tie"
_DECIMALS: Final = 2  # of a model's score
_UNITS: Final = ("B", "kB", "MB", "GB", "TB")


class FigureColumn(NamedTuple):
    title: str
    key: str
    decimals: int
    better: Literal["higher", "lower"] = "higher"
    unit: str = ""
    harmonic: bool = True  # whether a harmonic mean says something

    @property
    def heading(self) -> str:
        return f"{self.title} ({self.unit})" if self.unit else self.title

    def methods(self, pools: Sequence[str]) -> list[str]:
        """The pooling methods of its columns in a CSV."""
        return list(dict.fromkeys([*(_POOLS if self.harmonic else _PLAIN_POOLS), *pools]))


def score_figure(report: Comparison) -> FigureColumn:
    """The figure that rows are ranked by; VMAF if no row has a score."""
    found = next((row.report for row in report.rows if row.report is not None), None)
    figures = [] if found is None else _figures(found)
    return figures[0] if figures else FigureColumn("VMAF", "vmaf", _DECIMALS)


def _figures(report: ScoreReport) -> list[FigureColumn]:
    """The scores of models, then the metrics asked for, each once."""
    found = {
        name: FigureColumn("VMAF" if name == "vmaf" else name, name, _DECIMALS) for name in report.scores
    }
    for headline in report.headlines:
        metric, key = headline.metric, headline.key
        title = metric.name if key in (metric.key, metric.name) else f"{metric.name} ({key})"
        found.setdefault(
            key, FigureColumn(title, key, metric.decimals, metric.better, metric.unit, metric.harmonic)
        )
    return list(found.values())


def all_figures(report: Comparison) -> list[FigureColumn]:
    found = {
        figure.key: figure for row in report.rows if row.report is not None for figure in _figures(row.report)
    }
    return list(found.values())


def figure_of(row: CompareRow, figure: FigureColumn, method: str = "mean") -> float | None:
    """A pooled figure of a row; None where it has none."""
    if row.report is None or not len(row.report.results.columns.get(figure.key, ())):
        return None
    if not len(row.report.results.values(figure.key)):
        return None
    return row.report.pool(figure.key, method)


def ranking_table(report: Comparison, standings: Sequence[Standing], pools: Sequence[str] = ()) -> Table:
    """One line for each encode, the best first."""
    score, *others = all_figures(report) or [score_figure(report)]
    low, worst = ("p95", "max") if report.lower_is_better else ("p5", "min")
    methods = [method for method in dict.fromkeys(pools) if method != "mean"]
    asked = [(f"{method} {score.heading}", score, method) for method in methods]
    figures = [*asked, *((figure.heading, figure, "mean") for figure in others)]
    titles = ["place", "encode", "encoder", score.heading, "frames", "to best", "95 %", "worst 5 %", "worst"]
    counts = [len(one.row.report.results.frames) for one in standings if one.row.report is not None]
    most = max(counts, default=0)
    lack = any(one < most for one in counts) or any(one.row.partial for one in standings)
    rows = [
        [
            standing.shown_place,
            row.name,
            row.encoder or "",
            _number(row.score, score.decimals) or row.status,
            _frames(row, most) if lack else "",
            to_best(standing.to_best, score.decimals),
            interval(standing.to_best, score.decimals),
            _number(figure_of(row, score, low), score.decimals),
            _number(figure_of(row, score, worst), score.decimals),
            *(_number(figure_of(row, figure, method), figure.decimals) for _, figure, method in figures),
            "" if row.kbps is None else f"{row.kbps:,.0f}",
            size_text(row.size),
        ]
        for standing, row in ((standing, standing.row) for standing in standings)
    ]
    titles += [*(title for title, _, _ in figures), "kbit/s", "size"]
    numeric = [False, False, False, *[True] * (len(titles) - 3)]
    # What was asked for stays, however narrow the terminal is.
    more = (figure.heading for figure in others)
    spare = ("95 %", "worst", "size", "worst 5 %", *more, "encoder", "to best", "frames")
    spare = (*spare, "kbit/s") if asked else spare
    table = Table(titles, rows, numeric, spare)
    for title, method in (("worst 5 %", low), ("worst", worst)):
        if method in pools:
            table = table.without(title)  # the figure is there under the name that was asked for
    for number, title in reversed(list(enumerate(table.titles))):
        if not any(row[number] for row in table.rows):
            table = table.without(title)
    return table


def _frames(row: CompareRow, most: int) -> str:
    """The frames of an encode, and of how many where it lacks some."""
    if row.report is None:
        return ""
    partial = row.report.partial
    count, whole = len(row.report.results.frames), most
    if partial is not None and partial.of is not None and row.report.results.subsample == 1:
        whole = partial.of
    return f"{count:,}" if count >= whole else f"{count:,} of {whole:,}"


def to_best(found: Difference | None, decimals: int) -> str:
    """How far an encode is from the best, or that nobody can tell."""
    if found is None:
        return ""
    return TIE if found.tie else f"{found.mean:+z.{decimals}f}"


def interval(found: Difference | None, decimals: int) -> str:
    if found is None or found.ci95 is None:
        return ""
    return " to ".join(f"{bound:+z.{decimals}f}" for bound in found.ci95)


def differences_table(report: Comparison) -> Table:
    score = score_figure(report)
    rows = [
        [
            found.a,
            found.b,
            f"{found.mean:+z.{score.decimals}f}",
            interval(found, score.decimals),
            TIE if found.tie else "",
            f"{100 * found.better_share:.1f} %",
            f"{100 * found.worse_share:.1f} %",
            f"{found.worst[0].difference:+z.{score.decimals}f}" if found.worst else "",
            str(found.worst[0].frame) if found.worst else "",
        ]
        for found in report.analysis.differences
    ]
    titles = ["first", "second", f"{score.heading} difference", "95 %", "verdict", "first better"]
    titles += ["second better", "greatest", "at frame"]
    spare = ("at frame", "greatest", "second better", "first better", "95 %")
    return Table(titles, rows, [False, False, True, True, False, *[True] * 4], spare)


def rates_table(report: Comparison) -> Table:
    score = score_figure(report)
    several = len(report.references) > 1
    rows = [
        [
            rate.encoder,
            rate.against,
            os.path.basename(rate.reference) if rate.reference is not None else "all",
            "" if rate.percent is None else f"{rate.percent:+.2f} %",
            "" if rate.score is None else f"{rate.score:+z.{score.decimals}f}",
            rate.note or "",
        ]
        for rate in report.analysis.rates
    ]
    titles = ["encoder", "against", "reference", "BD-rate", f"BD-{score.title}", "over"]
    table = Table(titles, rows, [False, False, False, True, True, False], ("over",))
    return table if several else table.without("reference")


_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_PLAIN_POOLS: Final = ("mean", "min", "p5", "max")
_POOLS: Final = ("mean", "harmonic_mean", "min", "p5", "max")


def csv_text(report: Comparison, pools: Sequence[str] = ()) -> str:
    """All figures as CSV, one line for each encode, the best first; digits are not cut."""
    columns = [(figure, method) for figure in all_figures(report) for method in figure.methods(pools)]
    rows: list[dict[str, Any]] = []
    for standing in report.analysis.standings:
        row, found = standing.row, standing.to_best
        low, high = (None, None) if found is None or found.ci95 is None else found.ci95
        about: dict[str, Any] = {
            "place": standing.place,
            **{name: _harmless(getattr(row, name)) for name in ("name", "reference", "distorted", "encoder")},
            "score": row.score if row.ranked else None,
            "to_best": None if found is None else found.mean,
            "to_best_low": low,
            "to_best_high": high,
            "tie": None if found is None else "yes" if found.tie else "no",
            "kbps": row.kbps,
            "bytes": row.size,
            "seconds": row.seconds,
            "frames": None if row.report is None else len(row.report.results.frames),
            "remembered": "yes" if row.remembered else "no",
            "error": _harmless(row.error),
            "status": row.status,
        }
        for figure, method in columns:
            value = figure_of(row, figure, method)
            about[f"{figure.key}_{method}"] = None if value != value else value
        rows.append(about)
    return to_csv(list(rows[0]), [list(entry.values()) for entry in rows])


def _harmless(name: str | None) -> str | None:
    """A name that no spreadsheet takes for a formula, and that does nothing to a terminal."""
    if name is None:
        return None
    return one_line(f"'{name}" if name.startswith(_FORMULA) else name)


def size_text(size: int | None) -> str:
    """`12.3 MB`: units of a thousand, as file managers have them."""
    if size is None:
        return ""
    value, unit = float(size), 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.{0 if unit == 0 or value >= 99.95 else 1}f} {_UNITS[unit]}"


def _number(value: float | None, decimals: int) -> str:
    return "" if value is None or value != value else f"{value:.{decimals}f}"
