"""PNG plots: their pixels, the letters on them, and that bad curves and names are plots too."""

from __future__ import annotations

import io
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from acuity.report.plots.axes import PlotSeries
from acuity.report.plots.figure import Area, Line, Words
from acuity.report.plots.png_plot import Raster, plain_letters, plot_pixels, png_plot

BLUE = (0x00, 0x72, 0xB2)
_SMALL: dict[str, Any] = {"width": 420, "height": 200, "title": "", "label": "VMAF"}


def series(values: object, name: str = "encoded.mp4") -> PlotSeries:
    found = np.asarray(values, np.float64)
    return PlotSeries(name, np.arange(len(found)), found)


def blue(pixels: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return np.asarray((pixels == BLUE).all(-1))


def test_it_is_a_png_file_of_the_size_that_was_asked_for() -> None:
    data = png_plot([series([50, 60, 70])], width=420, height=200, seconds=0.12)
    with av.open(io.BytesIO(data), format="png_pipe") as container:
        frame = next(container.decode(video=0)).to_ndarray(format="rgb24")
    expected = plot_pixels([series([50, 60, 70])], seconds=0.12, **_SMALL)
    assert np.array_equal(frame, expected)


def test_a_rising_curve_rises() -> None:
    found = blue(plot_pixels([series(np.linspace(40, 90, 100))], seconds=None, **_SMALL))
    rows = [float(np.flatnonzero(column).mean()) for column in found.T if column.any()]
    assert len(rows) > 150
    assert np.all(np.diff(rows) <= 0)


def test_one_bad_frame_of_many_is_seen() -> None:
    values = np.full(170_000, 90.0)
    plain = plot_pixels([series(values)], seconds=7083.0, **_SMALL)
    values[100_000] = 30.0
    drawn = plot_pixels([series(values)], seconds=7083.0, **_SMALL)
    tinted = (drawn[:, :, 0].astype(int) < drawn[:, :, 2].astype(int) - 10) & (drawn != plain).any(-1)
    assert np.flatnonzero(tinted.any(1)).size > 60  # an area from 90 down to 30


def test_a_line_covers_its_width() -> None:
    raster = Raster(40, 20, "#ffffff")
    raster.line(Line(np.array([[5.0, 10.0], [35.0, 10.0]]), "#000000", 4.0))
    dark = (255 - raster.pixels()[:, :, 0].astype(float)) / 255
    assert dark[:, 20].sum() == pytest.approx(4.0, abs=0.05)
    assert dark[:, 0].sum() == 0


def test_dashes_leave_gaps() -> None:
    raster = Raster(60, 9, "#ffffff")
    raster.line(Line(np.array([[0.0, 4.5], [60.0, 4.5]]), "#000000", 2.0, (10.0, 5.0)))
    dark = raster.pixels()[4, :, 0] < 128
    assert dark[[5, 20, 35, 50]].all()
    assert not dark[[12, 13, 27, 28, 42, 43]].any()


def test_an_area_is_as_large_as_it_should_be_and_never_thinner_than_a_pixel() -> None:
    raster = Raster(50, 50, "#ffffff")
    x = np.array([10.0, 30.0])
    raster.area(Area(x, np.array([10.0, 10.0]), np.array([20.0, 40.0]), "#000000", 1.0))
    dark = (255 - raster.pixels()[:, :, 0].astype(float)) / 255
    assert dark.sum() == pytest.approx(20 * 20, rel=0.02)
    thin = Raster(50, 50, "#ffffff")
    thin.area(Area(x, np.array([10.2, 10.2]), np.array([10.2, 10.2]), "#000000", 1.0))
    assert ((255 - thin.pixels()[:, 20, 0].astype(float)) / 255).sum() == pytest.approx(1.0, abs=0.02)


def test_words_stand_where_they_should() -> None:
    raster = Raster(200, 60, "#ffffff")
    raster.words(Words(190.0, 40.0, "VMAF 55", 20.0, "end"))
    rows, columns = np.nonzero(raster.pixels()[:, :, 0] < 128)
    assert 178 <= columns.max() <= 190
    assert 38 <= rows.max() <= 41
    assert 12 <= rows.max() - rows.min() <= 16  # capitals of 20 pixels
    upwards = Raster(60, 200, "#ffffff")
    upwards.words(Words(40.0, 100.0, "VMAF 55", 20.0, "middle", upwards=True))
    rows, columns = np.nonzero(upwards.pixels()[:, :, 0] < 128)
    assert abs((rows.min() + rows.max()) / 2 - 100) < 6
    assert 38 <= columns.max() <= 41


def test_words_outside_are_cut() -> None:
    raster = Raster(20, 20, "#ffffff")
    for place in ((-30.0, 10.0), (15.0, -5.0), (15.0, 60.0), (500.0, 10.0), (10.0, 10.0)):
        raster.words(Words(*place, "wide text", 18.0))
    assert raster.pixels().min() < 128


def test_letters_without_a_drawing() -> None:
    assert plain_letters("Überprüfung 視 ½") == "Uberprufung ? 1?2"


@pytest.mark.parametrize(
    "curves",
    [
        [],
        [series([])],
        [series([np.nan] * 5)],
        [series([np.inf, -np.inf])],
        [series([43.1])],
        [series([100.0] * 50)],
        [series([1.0, np.nan, 3.0, np.inf, 5.0])],
        [series([1, 2], "<script>\x00\ud800"), series([2, 3], "b" * 500)],
    ],
)
@pytest.mark.parametrize("size", [(420, 200), (60, 40)])
def test_bad_curves_are_plots_too(curves: list[PlotSeries], size: tuple[int, int]) -> None:
    width, height = size
    for seconds in (None, float("nan"), 0.04):
        found = plot_pixels(
            curves, width=width, height=height, title="x" * 200, seconds=seconds, label="VMAF"
        )
        assert found.shape == (height, width, 3)


def test_nothing_is_left_empty_below_the_axis_where_nothing_is_said() -> None:
    def lowest(values: object) -> int:
        dark = plot_pixels([series(values)], seconds=None, width=1200, height=480, title="", label="VMAF")
        return int(np.flatnonzero((dark < 200).all(-1).any(1))[-1])

    assert lowest([50, 60, 70]) > 480 - 20
    assert lowest(np.linspace(40, 90, 9000)) > 480 - 20  # words about the area
