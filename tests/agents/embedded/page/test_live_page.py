"""The live page in a real browser, during a measurement: read back, steered, and closed to strangers."""

from __future__ import annotations

import httpx2
import pytest
from axe import RUN, axe_script
from live_page_ground import MODEL, NEG, STATE, TOKEN, live_ground, live_page

from acuity.scoring.metrics import find_metrics, headlines
from acuity.scoring.watched import WatchedRun
from devtools import Chromium, DevTools

FRAMES = "Number(document.querySelector('#main')?.dataset.frames ?? 0)"
# The curve's own values, as the page drew them.
CURVE = "window.acuityLive.values"
# Holds back the answers with frames until they are released, and counts them.
HOLD_CURVES = """
(() => {
  const real = window.fetch;
  let let_go;
  const released = new Promise((go) => { let_go = go; });
  window.curves = 0;
  window.release = let_go;
  window.fetch = async (path, options) => {
    const answer = await real(path, options);
    if (String(options?.body).includes("vmaf.curve")) { window.curves += 1; await released; }
    return answer;
  };
})()
"""


async def text(page: DevTools, selector: str) -> str:
    return await page.value(f"document.querySelector({selector!r}).innerText")


@pytest.mark.parametrize("sse", [False, True], ids=["http", "sse"])
async def test_the_curve_is_the_measurement(chromium: Chromium, sse: bool) -> None:
    async with live_page(chromium, sse=sse) as (ground, page):
        assert await page.value("location.href") == ground.base  # the token has left the address
        await ground.feed(40)
        await page.until(f"{FRAMES} === 39")  # the last one waits for the frame behind it
        assert await page.value(CURVE) == ground.scores()[:39]
        await ground.feed(30)
        await ground.flush()
        await page.until(f"{STATE} === 'over'")
        scores = ground.scores()
        assert await page.value(CURVE) == scores
        mean = sum(scores) / len(scores)
        assert f"{mean:.2f}" in await text(page, "#card-mean")
        assert f"{min(scores):.2f}" in await text(page, "#card-lowest")
        worst = scores.index(min(scores))
        await page.until(f"Number(document.querySelector('.place')?.dataset.frame) === {worst}")
        await page.until("document.querySelectorAll('#worst img').length >= 2")
        wide = await page.value(
            "Promise.all([...document.querySelectorAll('#worst img')].map((i) => i.decode()))"
            ".then(() => document.querySelector('#worst img').naturalWidth)"
        )
        assert wide == 176  # every second sample of 352


async def test_it_names_the_files_and_shows_times_and_the_metrics_asked_for(chromium: Chromium) -> None:
    asked = headlines(find_metrics(["psnr"]), {})
    watched = WatchedRun("original.mkv", "encoded.mp4", 200, asked, lambda frame: frame / 25)
    async with live_page(chromium, watched=watched) as (ground, page):
        await ground.feed(40)
        await page.until(f"{FRAMES} === 39")
        assert await text(page, "h1") == "encoded.mp4"
        assert await text(page, "#subtitle") == "against original.mkv"
        assert "encoded.mp4" in await page.value("document.title")
        extent = "document.querySelector('.readout-extent').innerText"
        await page.shows(extent, "all 39 frames, 0:00.00 to 0:01.52")
        ground.measurement.pause()
        await page.until(f"{STATE} === 'paused'")
        assert "left" not in await text(page, "#card-speed")
        assert "fps" not in await text(page, "#card-speed")
        ground.measurement.resume(everyone=True)
        await ground.flush()
        await page.until(f"{STATE} === 'over'")
        found = ground.measurement.results(partial=True).columns["psnr_y"]
        mean = "document.querySelector('#card-psnr_y .value')?.innerText"
        await page.shows(mean, f"{found.mean():.2f} dB")


async def test_buttons_steer(chromium: Chromium) -> None:
    async with live_page(chromium) as (ground, page):
        async with ground.feeding():
            await page.until(f"{FRAMES} > 5")
            await page.click("#pause")
            await page.until(f"{STATE} === 'paused'")
            assert ground.measurement.paused
            assert "Paused by a live page" in await text(page, "#state")
            await page.click("#pause")  # now Resume
            await page.until(f"{STATE} === 'live'")
            assert not ground.measurement.paused

            await page.until("!document.querySelector('#model').disabled")
            await page.value(
                f"(() => {{ const m = document.querySelector('#model'); m.value = '{NEG}'; "
                "m.dispatchEvent(new Event('change')); })()"
            )
            # Pressed twice, it is done once; then the button can't be used, and the list has the focus.
            await page.value(
                "(() => { const b = document.querySelector('#swap'); b.focus(); b.click(); b.click() })()"
            )
            await page.until(f"document.querySelector('#card-model').innerText.includes('{NEG}')")
            await page.until("document.querySelector('#toast').innerText.includes('holds')")
            told = await text(page, "#toast")
            await page.until("document.querySelector('#swap').disabled")
            assert await page.value("document.activeElement.id") == "model"
            assert [model.label for model in ground.measurement.models] == [NEG]
            await page.until(f"{FRAMES} > {ground.measurement.frames}")
            assert [part.model for part in ground.measurement.segments] == [MODEL, NEG]
            assert told == f"{NEG} holds from frame {ground.measurement.segments[1].first} on"
            for card, model in (("mean", MODEL), ("mean1", NEG)):  # each has a mean of its own
                await page.until(f"document.querySelector('#card-{card}')?.innerText.includes('{model}')")

            await page.value(
                "(() => { const s = document.querySelector('#subsample'); s.value = '5'; "
                "s.dispatchEvent(new Event('change')); })()"
            )
            await page.until("document.querySelector('#card-model').innerText.includes('one frame in 5')")
            assert ground.measurement.subsample == 5

            await page.click("#stop")
            await page.until("document.querySelector('dialog').open")
            await page.press("Escape")  # the question is answered with no
            await page.until("!document.querySelector('dialog').open")
            assert not ground.measurement.finished
            await page.click("#stop")
            await page.until("document.querySelector('dialog').open")
            # Asked again before the browser has told that the question before is closed.
            await page.value(
                "document.querySelector('dialog').close(); document.querySelector('#stop').click()"
            )
            await page.drawn()
            assert not ground.measurement.finished
            await page.click("#dialog-agree")
            await page.until("document.querySelector('#stop').disabled")
            assert ground.measurement.finished
            assert await page.value("document.activeElement.id") == "steering-title"
        await ground.flush()
        await page.until(f"{STATE} === 'over'")
        await page.value("document.querySelector('#subsample').dispatchEvent(new Event('change'))")
        told = "the measurement is over, so it can't be steered any more"
        await page.until(f'document.querySelector("#toast").innerText === "{told}"')


async def test_a_tab_that_is_seen_again_during_a_look_has_no_frame_twice(chromium: Chromium) -> None:
    async with live_page(chromium) as (ground, page):
        await ground.feed(20)
        await page.value(HOLD_CURVES)
        await page.until("curves === 1")  # the answer with these frames is on its way
        await page.value("document.dispatchEvent(new Event('visibilitychange'))")
        await page.drawn()
        assert await page.value("curves") == 1
        await page.value("release()")
        await page.until("curves > 2")
        assert await page.value("window.acuityLive.frames") == list(range(19))
        assert await page.value(CURVE) == ground.scores()[:19]


async def test_the_end_comes_while_a_question_is_open(chromium: Chromium) -> None:
    async with live_page(chromium) as (ground, page):
        await ground.feed(8)
        await page.click("#stop")
        await page.until("document.querySelector('dialog').open")
        await ground.flush()
        await page.until(f"{STATE} === 'over'")
        assert "so far" not in await text(page, "#main")
        await page.press("Escape")
        await page.until("document.activeElement.id === 'steering-title'")


async def test_a_token_is_asked_for_and_the_end_stays_readable(chromium: Chromium) -> None:
    async with live_ground() as ground, chromium.page() as page:
        await page.go(f"{ground.base}#token=wrong-wrong-wrong-wrong")
        await page.until("document.activeElement?.id === 'token'")
        assert await page.value("document.querySelector('#app').hidden")
        await page.type(TOKEN)
        await page.press("Enter")
        await page.until(f"{STATE} === 'live'")
        assert await page.value("document.querySelector('#login').hidden")
        await ground.feed(12)
        await page.until(f"{FRAMES} === 11")
        shown = await text(page, "#card-mean")
        await ground.stop_serving()
        await page.until(f"{STATE} === 'lost'")
        assert "Connection lost" in await text(page, "#state")
        assert await text(page, "#card-mean") == shown


async def test_nothing_is_inaccessible_at_any_width_in_either_scheme(chromium: Chromium) -> None:
    script = axe_script()
    async with live_page(chromium) as (ground, page):
        await ground.feed(30)
        await page.until("document.querySelectorAll('.place').length > 0")
        await page.value(f"{script};undefined")
        for width, scheme in ((360, "light"), (1400, "dark")):
            await page.resize(width, 900, scheme)
            assert await page.value(RUN) == []
            wide = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
            assert await page.value(wide)


async def test_the_page_takes_no_token_and_the_rest_does() -> None:
    async with live_ground() as ground, httpx2.AsyncClient(base_url=ground.base) as http:
        html = {"Accept": "text/html,application/xhtml+xml"}
        page = await http.get("/", headers=html)
        assert page.status_code == 200
        policy = page.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert TOKEN not in page.text
        for name in ("live.js", "live.css", "live_session.js", "chart.js", "page.css"):
            assert (await http.get(f"/live/{name}")).status_code == 200
            assert f'"/live/{name}"' in page.text or name not in ("live.js", "live.css", "page.css")
        assert (await http.get("/live/live.html")).status_code in (401, 404)
        assert (await http.post("/", headers=html)).status_code == 401
        assert (await http.get("/", headers={"Accept": "*/*"})).status_code == 401
        right = {"Authorization": f"Bearer {TOKEN}"}
        health = await http.get("/", headers=right)
        assert health.json()["status"] == "ok"
        assert (await http.get("/", headers={**html, "Host": "evil.example"})).status_code == 421
        foreign = {**html, **right, "Origin": "https://evil.example"}
        assert (await http.get("/", headers=foreign)).status_code == 403
        stop = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"vmaf.stop"}}'
        steer = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        assert (await http.post("/mcp", content=stop, headers=steer)).status_code == 401
        headers = {**steer, **right, "Origin": "https://evil.example"}
        assert (await http.post("/mcp", content=stop, headers=headers)).status_code == 403
        assert not ground.measurement.finished
