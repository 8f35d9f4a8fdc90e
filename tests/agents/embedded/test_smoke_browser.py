"""A page in a browser, served from another port of this machine, that listens to events and asks."""

from __future__ import annotations

import json
import queue
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from embedded_client import PATIENCE
from smoke_host import LIST, check_list, smoking

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
STARTING = 3 * PATIENCE  # a browser takes its time

# Events with EventSource, requests with fetch, answers inline; what was seen goes back to the page's server.
PAGE = """<!doctype html><script>
const seen = {};
const tell = () => fetch("/seen", {method: "POST", body: JSON.stringify(seen)});
const ask = (message) => fetch("SERVER", {
  method: "POST",
  headers: {"Content-Type": "application/json"},
  body: JSON.stringify(message),
}).then(r => r.json());
const es = new EventSource("SERVER");
const ready = new Promise((resolve) => es.addEventListener("ready", (ev) => resolve(JSON.parse(ev.data))));
(async () => {
  seen.ready = await ready;
  seen.list = await ask(MESSAGE);
  seen.status = await ask({jsonrpc: "2.0", id: 2, method: "tools/call", params: {name: "vmaf.status"}});
})().catch((error) => { seen.error = String(error); }).finally(tell);
</script>"""


@contextmanager
def page(text: str) -> Iterator[tuple[str, queue.Queue[dict[str, Any]]]]:
    """Serve a page, and collect what it says."""
    told: queue.Queue[dict[str, Any]] = queue.Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(text.encode() if self.path == "/" else b"")

        def do_POST(self) -> None:
            told.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self._answer(b"")

        def _answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/", told
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def browsing(url: str, profile: Path) -> Iterator[None]:
    assert BROWSER is not None
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    quiet = ["--disable-background-networking", f"--user-data-dir={profile}", "--remote-debugging-port=0"]
    with (profile / "log").open("wb") as log:
        process = subprocess.Popen([BROWSER, *options, *quiet, url], stdout=log, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE)


@pytest.mark.skipif(BROWSER is None, reason="neither chromium nor google-chrome is installed here")
def test_a_loopback_page_listens_and_asks(tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    profile.mkdir()
    with smoking(tmp_path) as host:
        text = PAGE.replace("SERVER", host.sse).replace("MESSAGE", LIST.decode())
        with page(text) as (url, told), browsing(url, profile):
            seen = told.get(timeout=STARTING)
        assert "error" not in seen, seen
        assert isinstance(seen["ready"], dict)
        check_list(seen["list"])
        status = seen["status"]["result"]["structuredContent"]
        assert status["model"] == "vmaf_v0.6.1"
        assert not host.measurement.over
