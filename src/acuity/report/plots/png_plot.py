"""Plots scores over time as PNG, for messages and terminals, and for papers that take no SVG."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from acuity.png import rgb_png
from acuity.report.plots.figure import PAPER, Area, Line, figure
from acuity.report.plots.plot_series import PlotSeries
from acuity.report.plots.raster import Raster


def png_plot(
    series: Sequence[PlotSeries],
    *,
    width: int = 1200,
    height: int = 480,
    title: str = "",
    seconds: float | None = None,
    label: str = "VMAF",
    columns: int | None = None,
) -> bytes:
    """The plot as a PNG file of so many pixels; letters are as large as the plot allows.

    `seconds` is how long the frames last; None shows their numbers. `columns` is how many of them a curve may
    have; unless given, as many as the pixels show.
    """
    return rgb_png(
        plot_pixels(
            series, width=width, height=height, title=title, seconds=seconds, label=label, columns=columns
        )
    )


def plot_pixels(
    series: Sequence[PlotSeries],
    *,
    width: int,
    height: int,
    title: str,
    seconds: float | None,
    label: str,
    columns: int | None = None,
) -> NDArray[np.uint8]:
    """The plot as (height, width, 3) in sRGB."""
    drawn = figure(
        series, width=width, height=height, title=title, seconds=seconds, label=label, columns=columns
    )
    raster = Raster(width, height, PAPER)
    for part in drawn.parts:
        if isinstance(part, Line):
            raster.line(part)
        elif isinstance(part, Area):
            raster.area(part)
        else:
            raster.words(part)
    return raster.pixels()
