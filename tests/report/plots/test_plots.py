"""Plots: what SVG says, that it is XML whatever the names, its size; the pixels and the letters of PNG."""

from __future__ import annotations

import io
import itertools
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from acuity.report.plots.axes import PlotSeries, column_spans, frame_axis, time_axis, value_axis
from acuity.report.plots.figure import Area, Line, Words
from acuity.report.plots.png_plot import Raster, plot_pixels, png_plot
from acuity.report.plots.svg_plot import svg_plot

_SVG = "{http://www.w3.org/2000/svg}"


def series(values: object, name: str = "encoded.mp4", step: int = 1) -> PlotSeries:
    found = np.asarray(values, np.float64)
    return PlotSeries(name, np.arange(len(found)) * step, found)


def noise(count: int, seed: int = 1) -> np.ndarray:
    return np.clip(np.random.default_rng(seed).normal(80, 6, count), 0, 100)


def words(text: str) -> list[str]:
    return [found.text or "" for found in ElementTree.fromstring(text).iter(f"{_SVG}text")]


def test_spans_are_the_lowest_and_the_highest_of_each_share() -> None:
    values = noise(1000)
    values[333] = 1.0
    low, high, *_ = column_spans(values, 7)
    edges = [*(np.arange(7) * 1000 // 7), 1000]
    shares = [values[a:b] for a, b in itertools.pairwise(edges)]
    assert low.tolist() == [share.min() for share in shares]
    assert high.tolist() == [share.max() for share in shares]
    assert np.allclose(column_spans(values, 7).mean, [share.mean() for share in shares])
    assert column_spans(values, 7).frames == 143


@pytest.mark.parametrize(
    ("low", "high", "most", "texts"),
    [
        (43.61, 98.2, 6, ["40", "60", "80", "100"]),
        (99.21, 99.28, 4, ["99.20", "99.25", "99.30"]),
        (100.0, 100.0, 6, ["99.0", "99.5", "100.0", "100.5", "101.0"]),
        (0.0, 0.0, 4, ["-0.5", "0.0", "0.5"]),
        (-3.0, 12.0, 5, ["-5", "0", "5", "10", "15"]),
    ],
)
def test_ticks_of_values(low: float, high: float, most: int, texts: list[str]) -> None:
    axis = value_axis(low, high, most)
    assert [tick.text for tick in axis.ticks] == texts
    assert axis.low <= low <= high <= axis.high


@pytest.mark.parametrize("seed", range(20))
def test_ticks_surround_any_values_and_differ(seed: int) -> None:
    random = np.random.default_rng(seed)
    low = float(random.normal(0, 10.0 ** random.integers(-4, 5)))
    high = low + float(10.0 ** random.uniform(-5, 5))
    axis = value_axis(low, high, 6)
    assert axis.low <= low + 1e-9 * abs(low)
    assert axis.high >= high - 1e-9 * abs(high)
    assert len({tick.text for tick in axis.ticks}) == len(axis.ticks) <= 6


def test_ticks_of_time_and_frames() -> None:
    assert [tick.text for tick in time_axis(24.0, 5).ticks] == ["0", "5", "10", "15", "20"]
    minutes = [tick.text for tick in time_axis(600.0, 5).ticks]
    assert minutes == ["0:00", "2:00", "4:00", "6:00", "8:00", "10:00"]
    assert time_axis(7083.0, 8).ticks[-1].text == "1:45:00"
    assert [tick.text for tick in frame_axis(120, 480, 5).ticks] == ["200", "300", "400"]
    assert [tick.text for tick in frame_axis(7, 7, 5).ticks] == ["7"]


def test_a_plot_names_its_axes_and_says_what_columns_are() -> None:
    text = svg_plot([series(noise(14_400))], title="encoded.mp4", seconds=600.0)
    said = "area: lowest to highest of up to 36 frames; line: their mean"
    assert {"encoded.mp4", "VMAF", "time (min:s)", "4:00", said} <= set(words(text))
    short = words(svg_plot([series(noise(300))]))
    assert "area" not in " ".join(short)
    assert "frame" in short


def test_the_area_reaches_the_lowest_and_the_highest_frame() -> None:
    values = np.full(100_000, 80.0)
    values[[12_345, 77_777]] = 20.0, 100.0
    drawn = ElementTree.fromstring(svg_plot([series(values)], seconds=4000.0))
    area = next(path for path in drawn.iter(f"{_SVG}path") if path.get("fill") != "none")
    lines = [path.get("d", "") for path in drawn.iter(f"{_SVG}path") if path.get("stroke") == "#d9d9d9"]
    ends = sorted(float(line.split()[1].split("l")[0]) for line in lines)
    steps = np.array(re.findall(r"-?(?:\d+\.?\d*|\.\d+)", area.get("d", "")), float).reshape(-1, 2)
    place = np.cumsum(steps, axis=0)
    assert place[:, 1].min() == pytest.approx(ends[0], abs=0.11)  # 100 is the highest tick, 20 the lowest
    assert place[:, 1].max() == pytest.approx(ends[-1], abs=0.11)


@pytest.mark.parametrize(
    "curves",
    [
        [series(noise(170_000))],
        [series(noise(170_000, seed), f"encode {seed}.mp4") for seed in range(8)],
        [series(noise(400))],
    ],
)
def test_a_plot_fits_into_a_page(curves: list[PlotSeries]) -> None:
    assert len(svg_plot(curves, title="film.mp4 against film.mkv", seconds=7083.0).encode()) <= 15_000


BAD = [
    [],
    [series([])],
    [series([np.nan] * 5)],
    [series([np.inf, -np.inf])],
    [series([43.1])],
    [series([100.0] * 50)],
    [series([1.0, np.nan, 3.0, np.inf, 5.0])],
    [series(noise(30)), series(noise(3000), "b", step=5)],
]


@pytest.mark.parametrize("curves", BAD)
@pytest.mark.parametrize("seconds", [None, 0.0, float("nan"), 0.04, 12.0])
def test_bad_curves_are_plots_too(curves: list[PlotSeries], seconds: float | None) -> None:
    text = svg_plot(curves, seconds=seconds, width=300, height=120)
    ElementTree.fromstring(text)
    assert not re.search(r"\b(nan|inf)\b", text)


def test_names_are_text_and_not_markup() -> None:
    name = "<script>alert(1)</script>&\"'\x00\x1b[31m\ud800.mp4"
    text = svg_plot([series([1, 2], name), series([2, 3], name)], title=name, label=name)
    found = words(text)
    assert "<script" not in text
    assert sum("<script>" in word for word in found) == 4
    text.encode()


def test_every_curve_is_named_or_counted() -> None:
    names = [f"a rather long name of an encode {number}.mp4" for number in range(40)]
    found = words(svg_plot([series(noise(50, seed), name) for seed, name in enumerate(names)]))
    shown = [name for name in names if name in found]
    assert len(shown) >= 4
    assert f"and {40 - len(shown)} more" in found


_SMALL: dict[str, Any] = {"width": 420, "height": 200, "title": "", "label": "VMAF"}


def test_it_is_a_png_file_of_the_size_that_was_asked_for() -> None:
    data = png_plot([series([50, 60, 70])], width=420, height=200, seconds=0.12)
    with Image.open(io.BytesIO(data)) as image:
        found = np.asarray(image)
    assert np.array_equal(found, plot_pixels([series([50, 60, 70])], seconds=0.12, **_SMALL))


def test_one_bad_frame_of_many_is_seen() -> None:
    values = np.full(170_000, 90.0)
    plain = plot_pixels([series(values)], seconds=7083.0, **_SMALL)
    values[100_000] = 30.0
    drawn = plot_pixels([series(values)], seconds=7083.0, **_SMALL)
    tinted = (drawn[:, :, 0].astype(int) < drawn[:, :, 2].astype(int) - 10) & (drawn != plain).any(-1)
    assert np.flatnonzero(tinted.any(1)).size > 60  # an area from 90 down to 30


def darkness(raster: Raster) -> np.ndarray:
    return (255 - raster.pixels()[:, :, 0].astype(float)) / 255


def test_a_line_covers_its_width() -> None:
    raster = Raster(40, 20, "#ffffff")
    raster.line(Line(np.array([[5.0, 10.0], [35.0, 10.0]]), "#000000", 4.0))
    dark = darkness(raster)
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
    assert darkness(raster).sum() == pytest.approx(20 * 20, rel=0.02)
    thin = Raster(50, 50, "#ffffff")
    thin.area(Area(x, np.array([10.2, 10.2]), np.array([10.2, 10.2]), "#000000", 1.0))
    assert darkness(thin)[:, 20].sum() == pytest.approx(1.0, abs=0.02)


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
