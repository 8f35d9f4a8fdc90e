"""Pages in headless Chromium, steered through the DevTools protocol over two pipes."""

from __future__ import annotations

import asyncio
import fcntl
import itertools
import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio

from waiting import until

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SECONDS = 90.0  # for what should take one; the machine may be busy
_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--allow-pre-commit-input",  # else what is pressed before the first picture of a page is dropped
    "--remote-debugging-pipe",
)
_KEYS = {
    "Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36,
    "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
}  # fmt: skip
# What the policy stops is an event in the page, and an entry of the log.
_WATCH = """document.addEventListener("securitypolicyviolation", (stopped) => {
  (window.stopped ??= []).push(stopped.blockedURI);
});"""
_UNTIL = "new Promise((go) => { const look = () => (%s) ? go(true) : setTimeout(look, 20); look(); })"
# Looks for a value as JSON until it is there or time is up, and gives the last.
_LOOK = """new Promise((go) => { const end = performance.now() + %d; const look = () => {
  const found = (() => { try { return %s; } catch (error) { return String(error); } })();
  if (JSON.stringify(found) === JSON.stringify(%s) || performance.now() > end) go(found);
  else setTimeout(look, 20); }; look(); })"""
# An observer of sizes hears of a size in a frame, and what it plans is drawn in the next.
_FRAMES = "(async () => { for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame); })()"


class Chromium:
    """A browser and the connection to it, which lives through the event loops of several tests."""

    def __init__(self, read: int, write: int) -> None:
        self._read = read
        self._write = write
        self._heard = bytearray()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._problems: dict[str, list[str]] = {}  # of the sessions that a page has

    @asynccontextmanager
    async def page(self, *, strict: bool = True) -> AsyncIterator[DevTools]:
        """An empty page that shares nothing with earlier ones; of a strict one nothing may be stopped."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._read, self._hear)
        try:
            context = (await self.send("Target.createBrowserContext"))["browserContextId"]
            try:
                made = await self.send("Target.createTarget", url="about:blank", browserContextId=context)
                page = await self.attach(made["targetId"], context, [])
                await page.send("Page.addScriptToEvaluateOnNewDocument", source=_WATCH)
                await page.send("Emulation.setFocusEmulationEnabled", enabled=True)
                yield page
                if strict:
                    assert await page.value("window.stopped ?? []") == []
                    assert page.problems == []
            finally:
                with anyio.move_on_after(SECONDS, shield=True):
                    await self.send("Target.disposeBrowserContext", browserContextId=context)
        finally:
            loop.remove_reader(self._read)
            self._waiting.clear()
            self._problems.clear()

    async def attach(self, target: str, context: str, problems: list[str]) -> DevTools:
        session = (await self.send("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        self._problems[session] = problems
        found = DevTools(self, session, context, problems)
        for domain in ("Page", "Runtime", "Log"):
            await found.send(f"{domain}.enable")
        return found

    async def send(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        self._waiting[number] = asyncio.get_running_loop().create_future()
        os.write(self._write, json.dumps(message).encode() + b"\0")
        answer = await asyncio.wait_for(self._waiting[number], SECONDS)
        assert "error" not in answer, answer
        found: dict[str, Any] = answer["result"]
        return found

    def _hear(self) -> None:
        read = os.read(self._read, 1 << 20)
        if not read:
            asyncio.get_running_loop().remove_reader(self._read)
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(ConnectionError("the browser has ended"))
        self._heard += read
        *messages, rest = self._heard.split(b"\0") if b"\0" in read else [self._heard]
        self._heard = rest
        for text in messages:
            message = json.loads(text)
            if (waiting := self._waiting.pop(message.get("id", 0), None)) is not None:
                if not waiting.done():
                    waiting.set_result(message)
            elif (problem := _problem(message)) is not None:
                self._problems.get(message.get("sessionId", ""), []).append(problem)


def _problem(message: dict[str, Any]) -> str | None:
    """An exception, error or refusal by a policy that the browser noted; its hints are none."""
    if message.get("method") == "Runtime.exceptionThrown":
        return json.dumps(message["params"]["exceptionDetails"])[:600]
    if message.get("method") != "Log.entryAdded":
        return None
    entry = message["params"]["entry"]
    wrong = entry["level"] == "error" or entry["source"] == "security"
    # Of the network is a server that is gone, or asks for a token.
    return str(entry["text"]) if wrong and entry["source"] != "network" else None


class DevTools:
    """The connection to one page, and what went wrong in it."""

    def __init__(self, browser: Chromium, session: str, context: str, problems: list[str]) -> None:
        self._browser = browser
        self._session = session
        self._context = context
        self.problems = problems  # exceptions and refusals that the browser noted

    async def send(self, method: str, **params: Any) -> dict[str, Any]:
        return await self._browser.send(method, self._session, **params)

    async def frame(self, url: str) -> DevTools:
        """The frame of another site in the page, whose address begins so; its problems are the page's."""

        async def target() -> str | None:
            for one in (await self._browser.send("Target.getTargets"))["targetInfos"]:
                ours = one["type"] == "iframe" and one.get("browserContextId") == self._context
                if ours and one["url"].startswith(url):
                    return str(one["targetId"])
            return None

        return await self._browser.attach(await until(target, SECONDS), self._context, self.problems)

    async def go(self, url: str) -> None:
        """Leave the document for another; what is asked after this is asked of the new one."""
        await self.value("window.left = true")
        gone = await self.send("Page.navigate", url=url)
        assert "errorText" not in gone, gone
        if "loaderId" in gone:  # else the address has changed within the document
            await self.until("window.left === undefined")

    async def value(self, expression: str) -> Any:
        """The value of an expression in the page, once it is there if it is a promise."""
        answer = await self.send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    async def until(self, condition: str) -> None:
        """Wait for a condition in the page."""
        look = _UNTIL % condition
        while True:
            try:
                await asyncio.wait_for(self.value(look), SECONDS)
            except AssertionError as error:
                if "context was destroyed" not in str(error) and "navigated" not in str(error):
                    raise
            else:
                return

    async def shows(self, expression: str, value: Any) -> None:
        """Wait until an expression in the page has a value; fails with what it had at last."""
        looked = _LOOK % (1000 * SECONDS * 0.9, expression, json.dumps(value))
        assert await self.value(looked) == value

    async def drawn(self) -> None:
        """Wait until the page has drawn what it planned for the next frames."""
        await self.value(_FRAMES)

    async def click(self, selector: str) -> None:
        """Click an element with the mouse, where it is once what was done before is drawn."""
        await self.drawn()
        found = f"document.querySelector({json.dumps(selector)})"
        await self.until(f"{found} !== null && {found}.getClientRects().length > 0")
        place = await self.value(
            f"(() => {{ const e = {found}; e.scrollIntoView({{block: 'center'}}); "
            "const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            await self.send(
                "Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1
            )

    async def at(self, x: float, y: float, *kinds: str) -> None:
        """The mouse at a place of the window: mouseMoved, mousePressed, mouseReleased."""
        for kind in kinds:
            pressed = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
            await self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **pressed)

    async def choose(self, selector: str, value: str) -> None:
        """Choose an option of a select element."""
        await self.value(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); "
            f"e.value = {json.dumps(value)}; "
            "e.dispatchEvent(new Event('change', {bubbles: true})); })()"
        )

    async def type(self, text: str) -> None:
        await self.send("Input.insertText", text=text)

    async def press(self, key: str) -> None:
        """Press a key: one that has a name, or a character."""
        text = key if len(key) == 1 else {"Enter": "\r"}.get(key, "")
        code = _KEYS.get(key) or ord(key.upper())
        common = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": code}
        await self.send(
            "Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **common
        )
        await self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    async def resize(self, width: int, height: int = 900, scheme: str = "light") -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self.send("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        await self.send("Emulation.setEmulatedMedia", features=features)
        await self.until(f"innerWidth === {width} && innerHeight === {height}")
        await self.drawn()


@contextmanager
def chromium_process(profile: Path) -> Iterator[Chromium]:
    """A browser without pages, until the block ends."""
    assert BROWSER is not None
    read_here, write_there = os.pipe()
    read_there, write_here = os.pipe()
    # The browser's pipes are 3 and 4; a shell puts them there.
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (read_there, write_there)]
    for end in (read_there, write_there):
        os.close(end)
    command = f'exec "$@" 3<&{ends[0]} 4>&{ends[1]}'
    with (profile / "log").open("wb") as log:
        process = subprocess.Popen(
            ["bash", "-c", command, "bash", BROWSER, *_OPTIONS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=ends, stdout=log, stderr=log,
        )  # fmt: skip
    for end in ends:
        os.close(end)
    try:
        yield Chromium(read_here, write_here)
    finally:
        os.close(write_here)
        process.terminate()
        process.wait(SECONDS)
        os.close(read_here)
