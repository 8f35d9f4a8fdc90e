"""Pages of comparisons and tunings in a real browser: their figures are the report's, axe finds nothing."""

from __future__ import annotations

import argparse
from pathlib import Path

from axe import RUN, axe_script

import acuity
from acuity.cli.tune.shared import tune_page
from acuity.comparison.comparison import Extras
from acuity.comparison.page import compare_pictures
from acuity.comparison.report import write_comparison
from acuity.comparison.tables import ranking_table
from acuity.report.page.page_document import Page, RatePoint, Rates
from acuity.report.tables import Table
from acuity.scoring.request import Request
from devtools import DevTools
from scoring_clips import container, y4m

RANKING = """[...document.querySelectorAll('#first-tables tbody tr')].map(
  (row) => [...row.cells].map((cell) => cell.innerText))"""
FRAME = """[...document.querySelectorAll('.frame-box tbody tr')].map(
  (row) => [...row.cells].map((cell) => cell.innerText))"""
SECTIONS = """[...document.querySelectorAll('main > section')].map((one) => one.id).filter(
  (id) => ['first-tables', 'rates', 'chart', 'pictures'].includes(id))"""
COLOURS = """[
  Object.fromEntries([...document.querySelectorAll('.legend-entry')].map(
    (one) => [one.querySelector('label').innerText, one.querySelector('path').style.stroke])),
  Object.fromEntries([...document.querySelectorAll('#rates .point')].map(
    (one) => [/, (.*):/.exec(one.ariaLabel)[1], one.style.fill])),
]"""
RIGHT = """Math.max(...[...document.querySelectorAll('#first-tables td:nth-child(5)')].map(
  (one) => one.getBoundingClientRect().right))"""
# Dots of the curves' colours: lines and labels of the chart are grey.
DRAWN = """(() => { const plot = document.querySelector('#chart canvas');
  const copy = new OffscreenCanvas(plot.width, plot.height).getContext('2d', { willReadFrequently: true });
  copy.drawImage(plot, 0, 0);
  const { data } = copy.getImageData(0, 0, plot.width, plot.height);
  let found = 0;
  for (let at = 0; at < data.length; at += 4) {
    const r = data[at], g = data[at + 1], b = data[at + 2];
    if (data[at + 3] > 128 && Math.max(r, g, b) - Math.min(r, g, b) > 60) found += 1;
  }
  return found; })()"""


async def test_pages_in_a_browser(page: DevTools, tmp_path: Path) -> None:
    y4m(tmp_path / "ref.y4m", 10)
    container(tmp_path / "good.mkv", 10, codec="libx264")
    container(tmp_path / "bad.mkv", 10, worse=True)
    report = acuity.compare(
        tmp_path / "ref.y4m", [tmp_path / "good.mkv", tmp_path / "bad.mkv"], remember=False
    )
    pictures, reason = compare_pictures(report, Request("", ""), 4)
    write_comparison(
        report, tmp_path / "compare.html", extras=Extras((), "acuity compare", pictures=pictures)
    )
    points = [RatePoint(900, 91, "crf 25", chosen=True), RatePoint(500, 80, "crf 30")]
    table = Table(
        ["encoder", "error"], [["libx264", ""], ["nope", "there is no encoder 'nope'"]], [False] * 2
    )
    shown = Page(
        "tune", "Encoders", rates=[Rates("libx264", points)], targets=[90], tables=[("Encoders", table)]
    )
    page_file = tune_page(shown, {"notes": [], "src": "film.mkv"}, argparse.Namespace())
    (tmp_path / "tune.html").write_text(page_file)
    assert reason is None

    async def compared() -> None:
        ranked = ranking_table(report, report.analysis.standings)
        ranked = ranked.in_order("place", "encode", "VMAF", "kbit/s", "size", last="encoder")
        assert await page.value(RANKING) == [list(row) for row in ranked.rows]
        assert await page.value(SECTIONS) == ["first-tables", "rates", "chart", "pictures"]
        # An encode has one colour on the whole page.
        curve, point = await page.value(COLOURS)
        assert curve == point
        assert len(curve) == 2
        assert await page.value("document.querySelectorAll('.film button').length") == 4
        assert "bad.mkv" in await page.value("document.querySelector('figcaption').innerText")
        worst = pictures[0].frame
        columns = {row.name: row.report.results.columns for row in report.rows if row.report is not None}
        figures = [[name, f"{found['vmaf'][worst]:.6f}"] for name, found in columns.items()]
        await page.shows(FRAME, figures)
        await page.until(f"{DRAWN} > 200")
        both = await page.value(DRAWN)
        await page.value("document.querySelectorAll('#chart input[type=checkbox]')[0].click()")
        await page.until(f"{DRAWN} < {both}")
        await page.value("document.querySelectorAll('#chart input[type=checkbox]')[0].click()")
        await page.until(f"{DRAWN} === {both}")

    async def tuned() -> None:
        await page.shows("document.querySelectorAll('#rates .point').length", 2)
        said = await page.value("document.querySelector('#rates .chosen').getAttribute('aria-label')")
        assert said == "libx264, crf 25: 900.0 kbit/s, VMAF 91.00, chosen"

    for name, look in (("compare", compared), ("tune", tuned)):
        for width in (1400, 360):
            await page.resize(width, 900)
            await page.go((tmp_path / f"{name}.html").as_uri())
            await page.until("document.body?.dataset.ready === 'true'")
            await page.drawn()
            wide = await page.value("document.documentElement.scrollWidth")
            assert wide <= width, (name, width)
            if name == "compare":
                assert await page.value(RIGHT) <= width - 20, width  # size is the fifth
        await look()
        await page.value(axe_script() + "\n;0")
        assert await page.value(RUN) == [], name
