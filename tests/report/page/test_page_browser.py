"""Report pages in a real browser: read back, clicked, steered by keys; their policy stops nothing of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from axe import RUN, RUN_CONTRAST, axe_script
from page_fixtures import HOSTILE, compare_fixture, score_fixture, written

from acuity.report.page.page_document import Page, PageColumn, RatePoint, Rates, Series
from acuity.report.tables import Table
from devtools import DevTools

READOUT = "document.querySelector('.chart-readout').innerText"
FRAME = """Object.fromEntries([...document.querySelectorAll('.frame-box tbody tr')].map(
  (row) => [row.cells[0].innerText, [...row.cells].slice(1).map((cell) => cell.innerText)]))"""
FIGURES = """Object.fromEntries([...document.querySelectorAll('.histogram .figures > div')].map(
  (one) => [one.children[0].innerText, one.children[1].innerText]))"""
HEADINGS = "[...document.querySelectorAll('main h2')].map((one) => one.innerText)"
IMAGES = "[...document.querySelectorAll('.stage img')].map((one) => one.alt)"
CAPTION = "document.querySelector('figcaption').innerText"
# The place of the curve in the window, once the page has heard that it was scrolled: a wheel turned before
# goes on scrolling the page.
PLOT = """(async () => { const plot = document.querySelector('.chart-plot');
  plot.scrollIntoView({block: 'center'});
  for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
  const at = plot.getBoundingClientRect(); return [at.x, at.y, at.width, at.height]; })()"""


async def opened(page: DevTools, made: Page, folder: Path, width: int = 1400, scheme: str = "light") -> None:
    await page.resize(width, 900, scheme)
    await page.go(written(made, folder))
    await page.until("document.body?.dataset.ready === 'true'")
    if made.series:  # a frame's figures come a little later
        await page.until("document.querySelector('.frame-box') !== null")
    await page.drawn()


async def test_figures_of_frames_and_of_all_are_those_of_the_report(page: DevTools, tmp_path: Path) -> None:
    made = score_fixture()
    vmaf, psnr = made.series[0].columns[0].values, made.series[0].columns[1].values
    await opened(page, made, tmp_path)
    worst = int(vmaf.argmin())
    found = await page.value(FRAME)
    assert found["VMAF"] == [f"{vmaf[worst]:.6f}"]
    assert found["PSNR Y (dB)"] == [f"{psnr[worst]:.6f}"]
    for key, row in (("Home", 0), ("End", 599), ("ArrowLeft", 598)):
        await page.value("document.querySelector('.chart-plot').focus()")
        await page.press(key)
        await page.until(f"{READOUT}.includes('frame {row}')")
        assert f"VMAF {vmaf[row]:.2f}" in await page.value(READOUT)
        await page.until(f"document.querySelector('.chart [aria-live]').innerText.includes('frame {row}')")
    await page.press("Enter")
    await page.until(f"{HEADINGS}.includes('Frame 598 · 0:{598 / 30:.3f}')")
    assert (await page.value(FRAME))["VMAF"] == [f"{vmaf[598]:.6f}"]
    known = dict(made.series[0].columns[0].figures)
    found = await page.value(FIGURES)
    assert {name: found[name] for name in known} == known
    for name, share in (("p1", 1), ("p50", 50), ("p95", 95)):
        assert found[name] == f"{np.percentile(vmaf, share):.2f}"


async def test_another_figure_and_the_frames_in_view(page: DevTools, tmp_path: Path) -> None:
    made = score_fixture()
    psnr = made.series[0].columns[1].values
    await opened(page, made, tmp_path)
    groups = "[...document.querySelectorAll('select.metric optgroup')].map((one) => one.label)"
    assert await page.value(groups) == ["Scores", "Metrics", "Features"]
    await page.choose("select.metric", "psnr_y")
    await page.until(f"{HEADINGS}.includes('PSNR Y over time')")
    await page.value("document.activeElement.blur()")
    await page.press("v")
    await page.press("c")
    for key in ("Home", "+", "+", "+", "Escape"):
        await page.press(key)
    await page.until(f"{READOUT}.includes('75 of 600 frames')")
    await page.until(f"{HEADINGS}.some((one) => one.includes('75 frames in view'))")
    found = await page.value(FIGURES)
    seen = psnr[:75]
    assert found["lowest"] == f"{seen.min():.2f}"
    assert found["highest"] == f"{seen.max():.2f}"
    assert found["p50"] == f"{np.median(seen):.2f}"
    assert found["mean"] == f"{seen.mean():.2f}"
    await page.press("PageDown")
    await page.until(f"{READOUT}.includes('0:02.27 to 0:04.73')")
    await page.press("0")
    await page.until(f"{READOUT}.includes('all 600 frames')")


async def test_frames_of_two_models_in_view_are_not_pooled(page: DevTools, tmp_path: Path) -> None:
    made = score_fixture()
    vmaf, *others = made.series[0].columns
    told = [(name, "see each model") for name, _ in vmaf.figures]
    swapped = vmaf._replace(figures=told, breaks=[250])
    made = replace(made, series=[made.series[0]._replace(columns=[swapped, *others])])
    await opened(page, made, tmp_path)
    for key in ("v", "c"):
        await page.press(key)
    for frames, mean in ((300, "see each model"), (150, f"{vmaf.values[:150].mean():.2f}")):
        for key in ("Home", "+", "Escape"):
            await page.press(key)
        await page.until(f"{HEADINGS}.some((one) => one.includes('{frames} frames in view'))")
        assert (await page.value(FIGURES))["mean"] == mean


async def test_a_press_shows_the_pictures_of_that_frame_or_of_the_nearest(
    page: DevTools, tmp_path: Path
) -> None:
    made = score_fixture()
    worst = [picture.frame for picture in made.pictures]
    await opened(page, made, tmp_path)
    assert (await page.value(CAPTION)).startswith(f"Frame {worst[0]} · ")
    x, y, wide, tall = await page.value(PLOT)
    await page.at(x + wide - 9, y + tall / 2, "mouseMoved", "mousePressed", "mouseReleased")
    await page.until(f"{HEADINGS}.some((one) => one.startsWith('Frame 59'))")
    near = min(worst, key=lambda frame: abs(frame - 599))
    assert f"the nearest that has is frame {near}" in await page.value(
        "document.getElementById('pictures').innerText"
    )
    assert (await page.value(CAPTION)).startswith(f"Frame {near} · ")
    await page.click(".film button:nth-child(2)")
    await page.until(f"{HEADINGS}.some((one) => one.startsWith('Frame {worst[1]} '))")
    # Zoom by the wheel and by a drawn range; the page itself stays where it is.
    x, y, wide, tall = await page.value(PLOT)
    before = await page.value("window.scrollY")
    await page.at(x + wide / 2, y + tall / 2, "mouseMoved")
    await page.send(
        "Input.dispatchMouseEvent", type="mouseWheel", x=x + wide / 2, y=y + tall / 2, deltaX=0, deltaY=-240
    )
    await page.until(f"!{READOUT}.includes('all 600')")
    assert await page.value("window.scrollY") == before
    await page.send(
        "Input.dispatchMouseEvent", type="mousePressed", x=x + 200, y=y + 60, button="left", clickCount=1
    )
    await page.at(x + 300, y + 60, "mouseMoved")
    await page.at(x + 400, y + 60, "mouseReleased")
    await page.until(f"/ [4-6]. of 600 frames/.test(' ' + {READOUT}.replace(/.*\\n/g, ''))")


async def test_the_viewer_by_keys(page: DevTools, tmp_path: Path) -> None:
    made = score_fixture()
    await opened(page, made, tmp_path)
    first, second = made.pictures[0].frame, made.pictures[1].frame
    assert await page.value(IMAGES) == [f"reference of frame {first}", f"distorted of frame {first}"]
    for key, kind in (
        ("2", "reference"),
        ("3", "distorted"),
        ("4", "difference"),
        ("5", "heat map"),
        ("x", "reference"),
        ("x", "distorted"),
    ):
        await page.press(key)
        await page.until(f"{IMAGES}.join() === '{kind} of frame {first}'")
    await page.press("]")
    await page.until(f"{IMAGES}.join() === 'distorted of frame {second}'")
    await page.press("1")
    await page.value("document.querySelector('.split').focus()")
    for key, share in (("Home", 0), ("ArrowRight", 2), ("PageUp", 22), ("End", 100)):
        await page.press(key)
        await page.shows("document.querySelector('.split').getAttribute('aria-valuenow')", str(share))
    assert "100%" in await page.value("document.querySelectorAll('.stage img')[1].style.clipPath")
    await page.press("z")
    await page.shows("document.querySelector('.stage img').clientWidth", 640)
    await page.shows("document.querySelectorAll('.region').length", 1)
    await page.click(".viewer-bar .check input")
    await page.shows("document.querySelectorAll('.region').length", 0)
    await page.press("?")
    await page.until("document.querySelector('dialog').open")
    await page.press("Escape")
    await page.until("!document.querySelector('dialog').open")


async def test_a_comparison(page: DevTools, tmp_path: Path) -> None:
    made = compare_fixture()
    first, second, third = (one.columns[0].values for one in made.series)
    await opened(page, made, tmp_path)
    for key in ("c", "Home", "Enter"):
        await page.press(key)
    await page.until(f"{HEADINGS}.includes('Frame 0 · 0:00.000')")
    assert (await page.value(FRAME))["VMAF"] == [f"{one[0]:.6f}" for one in (first, second, third)]
    values = "[...document.querySelectorAll('.legend-value')].map((one) => one.innerText)"
    await page.shows(values, [f"{one[0]:.2f}" for one in (first, second, third)])
    await page.click(".legend-entry:nth-of-type(3) input")
    await page.until(f"{values}[2] === ''")
    await page.choose(".controls .field:nth-child(2) select", "0")
    await page.until(f"{values}[0] === ''")
    await page.until(f"{values}.join() === ',{second[0] - first[0]:.2f},'")
    # A table in the order of a column, back, and as it was.
    names = "[...document.querySelectorAll('#tables tbody tr')].map((row) => row.cells[0].innerText)"
    given = await page.value(names)
    await page.click("#tables th:nth-child(2) button")
    await page.shows(names, ["svt_av1_32.mp4", "x265_26.mp4", "x264_24.mp4", "broken.mp4"])
    order = "document.querySelector('#tables th[aria-sort]').getAttribute('aria-sort')"
    assert await page.value(order) == "descending"
    await page.click("#tables th:nth-child(2) button")
    await page.shows(names, ["x264_24.mp4", "x265_26.mp4", "svt_av1_32.mp4", "broken.mp4"])
    await page.click("#tables th:nth-child(2) button")
    await page.shows(names, given)
    await page.until("document.querySelector('#rates .point.chosen') !== null")
    await page.value("document.querySelector('#rates .point.chosen').focus()")
    point = made.rates[0].points[2]
    told = f"x264, {point.label}: {point.kbps:.1f} kbit/s, VMAF {point.score:.2f}, chosen"
    await page.shows("document.querySelector('#rates [aria-live]').innerText", told)


async def test_many_encodes_look_different_and_a_telephone_shows_their_scores(
    page: DevTools, tmp_path: Path
) -> None:
    names = [f"a_rather_long_name_of_an_encode_{number}.mp4" for number in range(24)]
    ranking = Table(
        ["place", "encode", "VMAF", "encoder"],
        [[str(place), name, "90.00", "an encoder"] for place, name in enumerate(names, 1)],
        [False, False, True, False],
    )
    made = replace(compare_fixture(names), cards=[], tables=[("Ranking", ranking)], first_tables=1)
    await opened(page, made, tmp_path, 390)
    looks = """[...document.querySelectorAll('.legend-entry path')].map(
      (one) => one.style.stroke + ' ' + one.getAttribute('stroke-dasharray'))"""
    assert len(set(await page.value(looks))) == 24
    right = """Math.max(...[...document.querySelectorAll('{}')].map(
      (one) => one.getBoundingClientRect().right))"""
    assert await page.value(right.format("#first-tables td:nth-child(3)")) <= 390
    assert await page.value(right.format(".frame-box td:nth-child(2)")) <= 390
    tall = "Math.max(...[...document.querySelectorAll('.field label')].map((one) => one.offsetHeight))"
    assert await page.value(tall) < 30


async def test_one_of_many_curves_can_be_had_alone(page: DevTools, tmp_path: Path) -> None:
    made = compare_fixture([f"{number}.mp4" for number in range(14)])
    await opened(page, made, tmp_path, 1000)
    on = """[...document.querySelectorAll('.legend input')].flatMap(
      (box, index) => (box.checked ? [index] : []))"""
    told = "document.querySelector('.chart-plot').ariaLabel"
    # A dot at each frame is for few curves, and for frames that are far enough apart.
    await page.value("""(() => { const { arc } = CanvasRenderingContext2D.prototype; window.radii = [];
      CanvasRenderingContext2D.prototype.arc = function (...at) {
        window.radii.push(at[2]); arc.apply(this, at); }; })()""")
    for key in ("c", "Home", "+", "+", "+", "+", "+", "Escape"):
        await page.press(key)
    await page.until(f"!{READOUT}.includes('all 900 frames')")
    await page.drawn()
    assert 2.4 not in await page.value("radii")
    await page.click(".legend-entry:nth-of-type(5) .plain")
    await page.shows(on, [4])
    await page.until(f"{told}.startsWith('VMAF over time: 4.mp4.')")
    await page.until("radii.includes(2.4)")
    await page.click(".legend-entry:nth-of-type(5) .plain")  # again: all
    await page.shows(on, list(range(14)))
    await page.click(".legend .joined button:nth-child(2)")
    await page.shows(on, [])
    await page.click(".legend-entry:nth-of-type(2) input")
    await page.click(".legend-entry:nth-of-type(3) input")
    await page.shows(on, [1, 2])
    await page.click(".legend .joined button:nth-child(1)")
    await page.shows(on, list(range(14)))


async def test_every_bitrate_on_the_axis_has_its_text(page: DevTools, tmp_path: Path) -> None:
    upright = """[...document.querySelectorAll('#rates line')].filter(
      (one) => one.getAttribute('x1') === one.getAttribute('x2')).map((one) => one.getAttribute('x1'))"""
    texts = "[...document.querySelectorAll('#rates text.rate')].map((one) => one.getAttribute('x'))"
    boxes = """[...document.querySelectorAll('#rates text.rate')].map(
      (one) => one.getBoundingClientRect()).map(({ left, right }) => [left, right])"""
    for low, high in ((400, 3600), (310, 395), (20, 90_000), (1000, 1000)):
        points = [RatePoint(low, 60, "crf 40"), RatePoint(high, 90, "crf 20")]
        for width in (360, 1400) if low == 20 else (360,):
            await opened(page, Page("tune", "x", rates=[Rates("x264", points)]), tmp_path, width)
            await page.until(f"{texts}.length > 0")
            assert await page.value(upright) == await page.value(texts)
            places = await page.value(boxes)
            assert all(one[1] < two[0] for one, two in pairwise(places)), (low, high, width)
            assert len(places) > 1


async def test_the_figures_of_a_frame_are_seen_and_their_points_stand_below_each_other(
    page: DevTools, tmp_path: Path
) -> None:
    made = score_fixture(60, pictures=0)
    name = "VMAF_integer_feature_motion_sad_score_of_the_whole"
    more = [
        PageColumn(name, name, "feature", np.arange(60) * 123.0),
        PageColumn("m", "m", "feature", np.zeros(60)),
    ]
    made = replace(made, series=[made.series[0]._replace(columns=[*made.series[0].columns, *more])])
    hidden = """[...document.querySelectorAll('.frame-box')].flatMap((box) => [
      box.scrollWidth - box.clientWidth, ...[...box.querySelectorAll('td')].map(
        (one) => one.getBoundingClientRect().right - box.getBoundingClientRect().right)])"""
    behind = """[...document.querySelectorAll('.frame-box td')].map(
      (one) => one.textContent.length - one.textContent.indexOf('.'))"""
    for width in (861, 1000, 1200):
        await opened(page, made, tmp_path, width)
        assert max(await page.value(hidden)) <= 0, width
    assert len(set(await page.value(behind))) == 1
    assert (await page.value(FRAME))["m"] == ["0"]


async def test_series_with_other_frames_share_one_time_line(page: DevTools, tmp_path: Path) -> None:
    whole = compare_fixture(("all.mp4", "each fifth.mp4"))
    one, two = whole.series
    fifth = np.arange(0, 900, 5)
    columns = [column._replace(values=column.values[::5]) for column in two.columns[:1]]
    gap = one.columns[0].values.copy()
    gap[3] = np.nan
    first = one._replace(columns=[one.columns[0]._replace(values=gap)], times=None)
    made = Page("compare", "two", series=[first, Series(two.name, fifth, columns)])
    await opened(page, made, tmp_path)
    for key in ("c", "Home", *["+"] * 6, "ArrowRight", "ArrowRight", "ArrowRight", "Enter"):
        await page.press(key)
    await page.until(f"{HEADINGS}.includes('Frame 3')")
    # Encodes are the rows of this table where they are more than the figures.
    await page.shows(FRAME, {"all.mp4": ["\u2013"], "each fifth.mp4": ["\u2013"]})
    for key in ("ArrowRight", "ArrowRight", "Enter"):
        await page.press(key)
    await page.until(f"{HEADINGS}.includes('Frame 5')")
    assert await page.value(FRAME) == {
        "all.mp4": [f"{gap[5]:.6f}"],
        "each fifth.mp4": [f"{columns[0].values[1]:.6f}"],
    }


async def test_names_stay_names_and_the_page_fits_every_width(page: DevTools, tmp_path: Path) -> None:
    made = score_fixture(60, name=HOSTILE, pictures=0)
    for width in (360, 800, 1400):
        await opened(page, made, tmp_path, width)
        assert HOSTILE in await page.value("document.querySelector('h1').innerText")
        seen = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        scroll, client = await page.value(seen)
        assert scroll <= client, width
        assert await page.value("document.querySelectorAll('main img').length") == 0
    small = """[...document.querySelectorAll('body *')].filter((one) => one.textContent.trim()
      && parseFloat(getComputedStyle(one).fontSize) < 12).map((one) => one.outerHTML.slice(0, 90))"""
    assert await page.value(small) == []
    assert "through a pipe" in await page.value("document.getElementById('pictures').innerText")


async def test_a_film_opens_at_once_and_its_ranges_say_so(page: DevTools, tmp_path: Path) -> None:
    made = score_fixture(170_000, name="film.mkv", pictures=0)
    vmaf = made.series[0].columns[0].values
    await opened(page, made, tmp_path)
    assert await page.value("performance.now()") < 8000  # 1 s on an idle machine; this one may be busy
    worst = int(np.round(vmaf, 2).argmin())
    assert f"Frame {worst:,} · " in " ".join(await page.value(HEADINGS))
    found = await page.value(FRAME)
    assert found["VMAF"] == [f"{vmaf[worst]:.2f}"]
    assert " to " in found["adm2"][0]
    assert "the band reaches from" in await page.value("document.querySelector('.chart-method').innerText")
    await page.choose("select.metric", "integer_adm2")
    await page.until("document.getElementById('chart').innerText.includes('Shown as ranges of')")


async def test_axe_finds_nothing(page: DevTools, tmp_path: Path) -> None:
    script = axe_script()
    for made, width in ((compare_fixture(), 1400), (score_fixture(), 360)):
        await opened(page, made, tmp_path, width)
        await page.value(f"{script}; 0")
        assert await page.value(RUN) == []
        # The other scheme has other colours, and nothing else.
        await page.resize(width, 900, "dark")
        assert await page.value(RUN_CONTRAST) == []
    await page.press("?")
    await page.until("document.querySelector('dialog').open")
    assert await page.value(RUN_CONTRAST) == []
    await page.resize(360)
    assert await page.value(RUN) == []
