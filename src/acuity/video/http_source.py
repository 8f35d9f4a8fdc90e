"""The bytes of a video on a web server, for callers that allow the network.

Python's own client and not FFmpeg's: it checks certificates, tells a lost connection from the end of the
file, and can be closed by another thread. Nothing but the one address, and where it redirects to, is read.
"""

from __future__ import annotations

import contextlib
import re
import socket
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Final
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from acuity.errors import InputError
from acuity.video.source import Source, reason

TIMEOUT: Final = 30.0  # seconds without a byte
_MAX_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
_CONNECTIONS: Final = {"http": HTTPConnection, "https": HTTPSConnection}
_RANGE: Final = re.compile(r"bytes (\d+)-\d+/(\d+)")
# Reading on over so many bytes is no slower than a new connection.
_NEAR: Final = 1 << 18
_LEGAL: Final = "!#$%&'()*+,/:;=?@[]~"  # characters of addresses that are not quoted


class HttpSource(Source):
    """A file behind an http or https address; it can seek if the server answers requests for ranges."""

    def __init__(self, address: str) -> None:
        super().__init__(address, None)
        self._socket: socket.socket | None = None
        self._response: HTTPResponse | None = None
        self._position = 0  # of the next byte of the response
        self._wanted = 0  # the position of the next byte to hand out
        self._length: int | None = None  # None: the transfer is in chunks, whose end is marked
        try:
            self._connect(0)
        except BaseException:
            self._release()
            raise

    def _open_again(self) -> Source:
        return HttpSource(self.path)

    def _receive(self, view: memoryview) -> int:
        self._check_open()
        if self.size is not None and self._wanted >= self.size:
            return 0
        if self._response is None or not 0 <= self._wanted - self._position <= _NEAR:
            self._release()
            self._connect(self._wanted)
        while ahead := self._wanted - self._position:
            self._take(memoryview(bytearray(ahead)))
        count = self._take(view)
        self._wanted += count
        return count

    def _take(self, view: memoryview) -> int:
        """The next bytes of the response; 0 at its proper end only."""
        assert self._response is not None
        try:
            data = self._response.read1(len(view))
        except (OSError, HTTPException, ValueError) as error:
            self._check_open()
            raise self._lost(_reason(error)) from error
        if not data and self._length is not None and self._position < self._length:
            self._check_open()  # closed by another thread
            raise self._lost("the server ended it")
        view[: len(data)] = data
        self._position += len(data)
        return len(data)

    def _lost(self, reason: str) -> InputError:
        total = "" if self._length is None else f" of {self._length}"
        return InputError(
            f"the connection to '{self.path}' was lost after {self._position}{total} bytes ({reason}):"
            " try again, or download it first"
        )

    def _connect(self, start: int) -> None:
        try:
            response = self._ask(start)
        except InputError:
            raise
        except (OSError, HTTPException, ValueError) as error:
            self._check_open()
            raise InputError(f"'{self.path}' cannot be read ({_reason(error)}): check the address") from error
        self._response, self._position = response, start
        if response.status == 206 and (match := _RANGE.match(response.getheader("Content-Range", ""))):
            begin, total = map(int, match.groups())
            if begin == start and self.size in (None, total):
                self.size = self._length = total
                return
        elif response.status == 200 and start == 0 and self.size is None:
            self._length = response.length
            if response.length is not None or response.chunked:
                return
            raise InputError(
                f"'{self.path}' comes without its length, so a lost connection would look like its end:"
                " download it first"
            )
        elif response.status not in (200, 206):
            answer = f"{response.status} {response.reason}"
            raise InputError(f"'{self.path}' cannot be read: the server answers {answer}")
        raise InputError(f"'{self.path}' changed on the server while it was read: download it first")

    def _ask(self, start: int) -> HTTPResponse:
        """The answer to a request for the bytes from `start` on, after redirects."""
        address = self.path
        for _ in range(_MAX_REDIRECTS + 1):
            parts = urlsplit(quote(address, safe=_LEGAL))
            if parts.scheme not in _CONNECTIONS or not parts.hostname:
                raise InputError(
                    f"'{self.path}' leads to '{address}': only addresses of http and https are read"
                )
            connection = _CONNECTIONS[parts.scheme](parts.hostname, parts.port, timeout=TIMEOUT)
            connection.connect()
            self._socket = connection.sock
            target = urlunsplit(("", "", parts.path or "/", parts.query, ""))
            headers = {"Range": f"bytes={start}-", "Accept-Encoding": "identity", "User-Agent": "acuity"}
            connection.request("GET", target, headers=headers)
            response: HTTPResponse = connection.getresponse()
            location = response.getheader("Location")
            if response.status not in _REDIRECTS or location is None:
                return response
            response.close()
            connection.close()
            address = urljoin(address, location)
        raise InputError(f"'{self.path}' redirects more than {_MAX_REDIRECTS} times: check the address")

    def _move(self, position: int) -> None:
        self._wanted = position

    def _interrupt(self) -> None:
        if (opened := self._socket) is not None:
            with contextlib.suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)

    def _release(self) -> None:
        response, self._response = self._response, None
        opened, self._socket = self._socket, None
        if response is not None:
            response.close()
        if opened is not None:
            opened.close()


def _reason(error: Exception) -> str:
    return f"nothing came for {TIMEOUT:g} s" if isinstance(error, TimeoutError) else reason(error)
