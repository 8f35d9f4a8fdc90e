"""The chart alone, as live pages use it: it grows, is pinched and panned, and goes away."""

from __future__ import annotations

from pathlib import Path

from acuity.report.page.bundle import bundled, static_text
from devtools import DevTools

_DRIVER = """
window.picked = []; window.views = [];
window.chart = new TimeChart(document.getElementById('here'), {
  label: 'VMAF', time: (row) => row / 10,
  onPick: (row) => window.picked.push(row), onView: (...view) => window.views.push(view),
});
chart.setSeries([{ name: 'live', colour: '--curve-1', dash: [], values: new Float64Array(0) }]);
window.grow = (many) => chart.append(0, Float64Array.from({ length: many }, (_, row) => 50 + (row % 40)));
window.seen = () => [Math.round(chart.from), Math.round(chart.to)];
"""


async def pinch(page: DevTools, *moves: tuple[float, float]) -> None:
    """Two fingers at the height of the curve, at these places one after another."""
    for number, (left, right) in enumerate(moves):
        points = [{"x": x, "y": 120, "id": finger} for finger, x in enumerate((left, right))]
        kind = "touchMove" if number else "touchStart"
        await page.send("Input.dispatchTouchEvent", type=kind, touchPoints=points)
    await page.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])


async def test_a_growing_curve(page: DevTools, tmp_path: Path) -> None:
    path = tmp_path / "chart.html"
    script = bundled("chart.js") + _DRIVER
    path.write_text(
        f"<!doctype html><meta charset='utf-8'><style>{static_text('page.css')}</style>"
        f"<div id='here'></div><script type='module'>{script}</script>",
        encoding="utf-8",
    )
    await page.resize(1000, 700)
    await page.go(path.as_uri())
    await page.until("window.grow !== undefined")
    readout = "document.querySelector('.chart-readout').innerText"
    await page.until(f"{readout} === 'no frames yet'")
    await page.value("grow(100)")
    await page.until(f"{readout}.startsWith('all 100 frames')")
    assert await page.value("seen()") == [0, 100]
    # A view of the end goes along, one of the past stays.
    await page.value("chart.view(60, 100); grow(50)")
    assert await page.value("seen()") == [110, 150]
    await page.value("chart.view(20, 60); grow(50)")
    assert await page.value("seen()") == [20, 60]
    await page.value("chart.view(0, 200); grow(800)")
    assert await page.value("seen()") == [0, 1000]
    assert await page.value("views.at(-1)") == [0, 1000]
    await page.until(f"{readout}.startsWith('all 1,000 frames')")
    # Fingers apart: about a quarter is left; one finger to the left: later frames come.
    await page.send("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    await page.drawn()
    await pinch(page, (450, 550), (400, 600), (300, 700))
    await page.until("chart.to - chart.from >= 230 && chart.to - chart.from <= 270")
    begin, end = await page.value("seen()")
    assert begin < 500 < end
    assert await page.value("picked") == []
    await page.value("chart.setMarks([{ row: 503, label: '53' }]); chart.view(480, 530)")
    await page.until("chart.box.from === 480")
    x = await page.value("chart.box.x(503.5) + chart.plot.getBoundingClientRect().x")
    await page.at(x + 6, 120, "mouseMoved", "mousePressed", "mouseReleased")
    await page.shows("picked", [503])
    await page.value("chart.destroy()")
    assert await page.value("document.getElementById('here').children.length") == 0
