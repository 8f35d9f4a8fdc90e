"""A web server on the loopback interface that serves bytes well or badly."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATIENCE = 30.0


class WebServer(ThreadingHTTPServer):
    """Serves `data` below any path; the first part of the path is how: see _Handler."""

    daemon_threads = True

    def __init__(self, data: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.data = data
        self.requests: list[tuple[str, str | None]] = []  # paths and ranges
        self.stalled = threading.Event()
        self.released = threading.Event()

    def address(self, how: str, name: str = "clip") -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{how}/{name}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients may leave in the middle of an answer."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: WebServer

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.requests.append((self.path, asked))
        how = self.path.split("/")[1]  # with "cut" before it, the connection ends after 60 %
        part = 0.6 if how.startswith("cut") else 1.0
        getattr(self, f"_{how.removeprefix('cut') or 'plain'}")(re.match(r"bytes=(\d+)-$", asked or ""), part)

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content_Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def _ranges(self, asked: re.Match[str] | None, part: float) -> None:
        data = self.server.data
        start = int(asked[1]) if asked else 0
        body = data[start:]
        where = f"bytes {start}-{len(data) - 1}/{len(data)}"
        self._answer(206, body[: int(len(body) * part)], Content_Range=where, Content_Length=str(len(body)))
        self.close_connection = True

    def _plain(self, _: object, part: float) -> None:
        data = self.server.data
        self._answer(200, data[: int(len(data) * part)], Content_Length=str(len(data)))
        self.close_connection = True

    def _chunked(self, _: object, part: float) -> None:
        data = self.server.data
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for at in range(0, int(len(data) * part), 5000):
            piece = data[at : at + 5000]
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        if part == 1.0:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def _lengthless(self, *_: object) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.server.data)
        self.close_connection = True

    def _stall(self, *_: object) -> None:
        """Sends 60 %, and then nothing."""
        self._plain(None, 0.6)
        self.server.stalled.set()
        self.server.released.wait(PATIENCE)

    def _missing(self, *_: object) -> None:
        self._answer(404, b"not here")

    def _redirect(self, *_: object) -> None:
        self._answer(302, b"", Location="/ranges/clip")

    def _circle(self, *_: object) -> None:
        self._answer(302, b"", Location=self.path)

    def _away(self, *_: object) -> None:
        self._answer(302, b"", Location="ftp://127.0.0.1/clip")


@contextlib.contextmanager
def serving(data: bytes) -> Iterator[WebServer]:
    """A running server."""
    server = WebServer(data)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        thread.join(PATIENCE)
        server.server_close()
