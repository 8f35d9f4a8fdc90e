"""Writes a report as a page, or as a plot of its scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from acuity.report.page.html_page import html_page
from acuity.report.page.page_document import Page
from acuity.report.page.score_page import score_page
from acuity.report.plots.plot_series import PlotSeries
from acuity.report.plots.svg_plot import svg_plot
from acuity.report.precision import Precision
from acuity.report.source import ReportSource
from acuity.text import one_line


def write_html(
    source: ReportSource, precision: Precision, version: str, extra: Mapping[str, object]
) -> Iterator[str]:
    """The page in pieces. Its pictures are the entry `pictures` of extra, or `no_pictures` says why not."""
    pictures: Any = extra.get("pictures", ())
    why: Any = extra.get("no_pictures")
    yield from html_page(score_page(source, extra, pictures, why))


def write_svg(
    source: ReportSource, precision: Precision, version: str, extra: Mapping[str, object]
) -> Iterator[str]:
    """The plot of the scores as SVG."""
    yield svg_plot(**_plotted(score_page(source, extra)))


def write_png(
    source: ReportSource, precision: Precision, version: str, extra: Mapping[str, object]
) -> Iterator[bytes]:
    """The plot of the scores as PNG."""
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
