"""A page in headless Chromium, steered through the DevTools protocol over two pipes."""

from __future__ import annotations

import asyncio
import base64
import copy
import fcntl
import itertools
import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SECONDS = 40.0  # for what should take one; the machine may be busy
_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
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


class DevTools:
    """The connection to one page, and what went wrong in it."""

    def __init__(self, write: int) -> None:
        self._write = write
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._page: str | None = None
        self.problems: list[str] = []  # exceptions and refusals that the browser noted

    def hear(self, message: dict[str, Any]) -> None:
        if (waiting := self._waiting.pop(message.get("id", 0), None)) is not None:
            if not waiting.done():
                waiting.set_result(message)
        elif message.get("method") == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(message["params"]["exceptionDetails"])[:600])
        elif message.get("method") == "Log.entryAdded":
            entry = message["params"]["entry"]
            if entry["source"] != "network":  # a server that is gone, or asks for a token
                self.problems.append(entry["text"])

    async def send(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if self._page is not None:
            message["sessionId"] = self._page
        self._waiting[number] = asyncio.get_running_loop().create_future()
        os.write(self._write, json.dumps(message).encode() + b"\0")
        answer = await asyncio.wait_for(self._waiting[number], SECONDS)
        assert "error" not in answer, answer
        found: dict[str, Any] = answer["result"]
        return found

    async def attach(self) -> None:
        """Take the page that the browser has open."""
        targets = (await self.send("Target.getTargets"))["targetInfos"]
        target = next(found["targetId"] for found in targets if found["type"] == "page")
        self._page = (await self.send("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            await self.send(f"{domain}.enable")
        await self.send("Page.addScriptToEvaluateOnNewDocument", source=_WATCH)

    async def frame(self, url: str) -> DevTools:
        """The frame of another site in the page, whose address begins so; its problems are the page's."""
        browser = copy.copy(self)
        browser._page = None
        while True:
            targets = (await browser.send("Target.getTargets"))["targetInfos"]
            if found := [one for one in targets if one["type"] == "iframe" and one["url"].startswith(url)]:
                break
            await asyncio.sleep(0.02)
        attached = await browser.send("Target.attachToTarget", targetId=found[0]["targetId"], flatten=True)
        browser._page = attached["sessionId"]
        for domain in ("Runtime", "Log"):
            await browser.send(f"{domain}.enable")
        return browser

    async def go(self, url: str) -> None:
        await self.send("Page.navigate", url=url)

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

    async def click(self, selector: str) -> None:
        """Click an element with the mouse, where it is."""
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

    async def screenshot(self, path: Path) -> None:
        shot = await self.send("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(shot["data"]))


@asynccontextmanager
async def devtools(profile: Path) -> AsyncIterator[DevTools]:
    """A browser with one empty page, until the block ends."""
    assert BROWSER is not None
    read_here, write_there = os.pipe()
    read_there, write_here = os.pipe()
    # The browser's pipes are 3 and 4; a shell puts them there.
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (read_there, write_there)]
    for end in (read_there, write_there):
        os.close(end)
    command = f'exec "$@" 3<&{ends[0]} 4>&{ends[1]}'
    with (profile / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            "bash", "-c", command, "bash", BROWSER, *_OPTIONS, f"--user-data-dir={profile}", "about:blank",
            pass_fds=ends, stdout=log, stderr=log,
        )  # fmt: skip
    for end in ends:
        os.close(end)
    reader = asyncio.StreamReader(limit=1 << 26)
    pipe = os.fdopen(read_here, "rb", buffering=0)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    found = DevTools(write_here)

    async def listen() -> None:
        while True:
            found.hear(json.loads((await reader.readuntil(b"\0"))[:-1]))

    listening = asyncio.create_task(listen())
    try:
        await found.attach()
        yield found
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        transport.close()
        os.close(write_here)
        if process.returncode is None:
            process.terminate()
        await process.wait()
