"""The operator's page in a real browser: clicked, read back, kicked; its policy stops nothing of it."""

from __future__ import annotations

from admin_ground import EVIL, TOKEN, AdminGround, admin_ground
from devtools import DevTools
from longwire.admin.port import static_files
from raw_http import call, open_session

ROWS = "document.querySelectorAll('#main section:not([hidden]) tbody tr').length"
TEXT = "document.querySelector('#main section:not([hidden])').innerText"
STATE = "document.body.dataset.state"
# Holds back the answers about sessions until each is released, and notes from which row on they are.
HOLD_ANSWERS = """
(() => {
  const real = window.fetch;
  window.held = [];
  window.fetch = (path, options) => {
    if (!String(path).startsWith("/admin/runtime/mcp?")) return real(path, options);
    return new Promise((done) => held.push({
      offset: Number(new URLSearchParams(path.split("?")[1]).get("offset") ?? 0),
      release: () => { done(real(path, options)); },
    }));
  };
})()
"""
FOCUS = "document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent"


async def sign_in(page: DevTools, ground: AdminGround) -> None:
    await page.go(f"{ground.base}/admin")
    await page.until("document.activeElement?.id === 'token'")
    await page.type(TOKEN)
    await page.press("Enter")
    await page.until(f"{STATE} === 'live'")


async def view(page: DevTools, name: str) -> None:
    await page.click(f"a.tab[href='#{name}']")
    await page.until(f"document.querySelector('a.tab[aria-current]').hash === '#{name}'")


async def text(page: DevTools) -> str:
    return await page.value(TEXT)


async def test_the_page_takes_no_token_and_has_a_strict_policy() -> None:
    async with admin_ground() as ground:
        for path in static_files():
            answer = await ground.get(path, token=None)
            assert answer.status_code == 200
            policy = answer.headers["content-security-policy"]
            assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
            assert "unsafe" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
        page = (await ground.get("/admin", token=None)).text
        assert "<style" not in page
        assert " style=" not in page
        assert page.count("<script") == page.count('<script type="module" src="/admin/static/admin.js">') == 1
        assert {"/admin", "/admin/static/admin.css", "/admin/static/icon.svg"} <= static_files().keys()
        assert (await ground.get("/admin/static/../port.py")).status_code == 404


async def test_an_operator_signs_in_looks_around_and_kicks(page: DevTools) -> None:
    async with admin_ground() as ground:
        await page.resize(1400)
        await page.go(f"{ground.base}/admin")
        await page.until("document.activeElement?.id === 'token'")
        await page.type("wrong-" * 4)
        await page.press("Enter")
        await page.until("document.querySelector('#login-problem').textContent.includes('unknown')")
        await sign_in(page, ground)
        assert await page.value(FOCUS) == "Overview"
        labels = "[...document.querySelectorAll('svg.chart')].map((chart) => chart.ariaLabel).join('; ')"
        await page.until(f"{labels}.includes('Request p95, last hour: Request p95 none;')")
        charts = await page.value(labels)
        assert " 0.0 ms" not in charts
        assert "Errors and refusals" in await text(page)

        session = await open_session(ground.mcp, ground.http)
        await session.post(call(1, text="x"))
        shown = f"{session.headers['Mcp-Session-Id'][:8]}…"
        evil = [ground.begin(name=EVIL) for _ in range(2)]
        await view(page, "sessions")
        await page.until(f"{ROWS} === 3")
        assert EVIL in await text(page)
        assert await page.value("document.querySelectorAll('#main script').length") == 0

        await page.click(f"button[aria-label='Details of session {shown}']")
        await page.until("document.querySelector('dialog').open")
        assert "Capabilities" in await page.value("document.querySelector('dialog').innerText")
        await page.press("Escape")
        await page.until("!document.querySelector('dialog').open")

        await page.click("#filter-principal")
        await page.type("ci")
        await page.until(f"{ROWS} === 2")
        await page.value("document.querySelector('#filter-principal').select()")
        await page.type("127.0.0.1")
        await page.until(f"{ROWS} === 1")

        async with session.http.stream("GET", session.url, headers=session.headers) as get:
            await page.click(f"button[aria-label='Kick session {shown}']")
            await page.click("#dialog-agree")
            await page.until("document.querySelector('#toasts').innerText.includes('ended the session')")
            assert [line async for line in get.aiter_lines() if line.startswith("data: {")] == []
        assert (await session.post(call(2))).status_code == 404
        await page.until("document.activeElement?.id === 'sessions-title'")
        assert [one.ended for one in evil] == [None, None]

        await view(page, "audit")
        await page.until(f"{ROWS} === 1")
        told = await text(page)
        assert all(word in told for word in ("ops", "kick", "done", shown))
        await view(page, "latency")
        await page.until(f"{TEXT}.includes('echo')")
        await view(page, "jobs")
        await page.until(f"{ROWS} === 3")
        assert EVIL in await text(page)
        await view(page, "counters")
        await page.until(f"{TEXT}.includes('Sessions kicked')")


async def test_the_focus_stays_on_its_row_and_goes_to_the_heading_with_it(page: DevTools) -> None:
    async with admin_ground() as ground:
        ids = [f"{ground.begin(name=f'client {number}').id[:8]}…" for number in range(5)]
        await page.resize(1400)
        await sign_in(page, ground)
        await view(page, "sessions")
        await page.until(f"{ROWS} === 5")

        async def focus(session: str) -> None:
            await page.value(
                f"document.querySelector(\"button[aria-label='Kick session {session}']\").focus()"
            )

        async def ended(session: str, rows: int) -> None:
            kicked = await ground.post("/admin/sessions/kick", {"session_id": session})
            assert kicked.status_code == 200
            await page.until(f"{ROWS} === {rows}")

        # Another row goes, then the order is turned, then the row itself goes.
        await focus(ids[1])
        await ended(ids[0], 4)
        assert await page.value(FOCUS) == f"Kick session {ids[1]}"
        await page.value("document.querySelector(\"th[data-sort='started'] button\").click()")
        await page.until("document.querySelector('tbody tr:last-child').innerText.includes('client 1')")
        assert await page.value(FOCUS) == f"Kick session {ids[1]}"
        await ended(ids[1], 3)
        assert await page.value(FOCUS) == "Sessions"

        # A row goes while a question about it is open, which is then answered with no.
        await page.click(f"button[aria-label='Kick session {ids[4]}']")
        await page.until("document.querySelector('dialog').open")
        await ended(ids[4], 2)
        await page.press("Escape")
        await page.until("!document.querySelector('dialog').open")
        await page.until(f"({FOCUS}) === 'Sessions'")

        # An answer that was asked for before the kick is on its way after it.
        await page.value(HOLD_ANSWERS)
        await page.until("held.length === 1")
        await page.click(f"button[aria-label='Kick session {ids[2]}']")
        await page.click("#dialog-agree")
        await page.until("document.querySelector('#toasts').innerText.includes('ended the session')")
        await page.drawn()
        assert await page.value(FOCUS) == f"Kick session {ids[2]}"
        for number in range(2):
            await page.until(f"held.length === {number + 1}")
            await page.value(f"held[{number}].release()")
        await page.until(f"{ROWS} === 1")
        assert await page.value(FOCUS) == "Sessions"


async def test_a_tab_that_is_clicked_again_adds_nothing_to_the_charts(page: DevTools) -> None:
    shown = "[...document.querySelectorAll('svg.chart .line')].map((line) => line.getAttribute('d'))"
    async with admin_ground() as ground:
        session = await open_session(ground.mcp, ground.http)
        await session.post(call(1, text="x"))
        for _ in range(2):
            ground.port.history.take()  # which the page finds there
        await sign_in(page, ground)
        await page.until(f"{shown}.some((line) => line)")
        await view(page, "latency")
        await page.until(f"{TEXT}.includes('echo')")
        await view(page, "overview")
    await page.until(f"{STATE} === 'reconnecting'")  # from here on only clicks can change the page
    before = await page.value(shown)
    assert any(before)
    for name in ("latency", "overview") * 2:
        await view(page, name)
    assert await page.value(shown) == before


async def test_the_keyboard_drains_a_worker_and_a_restart_is_survived(page: DevTools) -> None:
    async with admin_ground() as ground:
        address = ground.port.page.address
        await page.resize(800)
        await sign_in(page, ground)
        workers = ground.port.sources.workers
        await page.value("document.querySelector(\"a.tab[href='#workers']\").focus()")
        await page.press("Enter")
        await page.until(f"{ROWS} === 2")
        for _ in range(12):
            await page.press("Tab")
            if await page.value(FOCUS) == "Drain worker w1":
                break
        assert await page.value(FOCUS) == "Drain worker w1"
        ring = "getComputedStyle(document.activeElement).outlineStyle"
        assert await page.value(ring) != "none"
        await page.press("Enter")
        await page.until("document.querySelector('dialog').open")
        assert await page.value(FOCUS) == "Cancel"
        await page.press("Tab")
        await page.press("Enter")
        await page.until("document.querySelector('#toasts').innerText.includes('finishes what it runs')")
        assert workers.drained == ["w1"]
        await page.until(f"({FOCUS}) === 'Workers'")  # the button is hidden now
        base = int(ground.base.rpartition(":")[2])
    await page.until(f"{STATE} === 'reconnecting'")
    assert await page.value("document.querySelector('#state').innerText") == "Reconnecting…"
    async with admin_ground(address=type(address)(address.host, base)):
        await page.until(f"{STATE} === 'live'")


async def test_thousands_of_sessions_are_paged_at_every_width(page: DevTools) -> None:
    async with admin_ground() as ground:
        for number in range(5000):
            ground.begin(f"token:t{number % 9}", name=f"client {number}")
        await page.resize(1400)
        await sign_in(page, ground)
        for width, scheme in ((1400, "light"), (800, "dark"), (360, "light")):
            await page.resize(width, 900, scheme)
            for name in ("overview", "sessions", "workers", "jobs", "counters"):
                await view(page, name)
                assert await page.value("document.documentElement.scrollWidth") <= width, (name, width)
        await view(page, "sessions")
        await page.until(f"{ROWS} === 50")
        where = "document.querySelector('.pager span').innerText"
        await page.until(f"{where} === '1\\u201350 of 5,000'")
        await page.click(".pager button:last-child")
        await page.until(f"{where} === '51\\u2013100 of 5,000'")
        assert "client 50 " in (await text(page)).replace("\n", " ")
        # A page that is turned while an answer is on its way: the answer says which rows it has.
        await page.value(HOLD_ANSWERS)
        await page.click(".pager button:last-child")
        await page.until("held.length === 1")
        await page.click(".pager button:last-child")
        first = await page.value("held[0].offset")
        await page.value("held[0].release()")
        await page.until("held.length === 2")
        assert (await page.value(where)).startswith(f"{first + 1}\u2013")
        assert f"client {first} " in (await text(page)).replace("\n", " ")
