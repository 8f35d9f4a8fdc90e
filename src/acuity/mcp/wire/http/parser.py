"""A parser of HTTP/1.1 requests. No I/O: bytes in, heads, whole requests and refusals out.

It reads what RFC 9112 defines and refuses everything that two servers could read in two ways. Heads are
parsed when they are whole, with the string methods of Python: that takes no longer than the callbacks of a
parser in C, limits hold to the byte, and a request that waits for its turn stays the bytes that it came as.
What comes out doesn't depend on how the bytes were cut up on their way.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from acuity.mcp.settings import WireLimits
from acuity.mcp.wire.http.request import Request

_TOKEN: Final = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_REQUEST_LINE: Final = re.compile(rf"({_TOKEN}) ([\x21-\x7e]+) HTTP/([0-9])\.([0-9])".encode())
_NAME: Final = re.compile(_TOKEN)
_ABSOLUTE: Final = re.compile(r"https?://([^/?#@]+)([^?]*)(?:\?(.*))?", re.IGNORECASE)
_DIGITS: Final = re.compile(r"[0-9]{1,18}")
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,15})(?:[ \t]*;[^\x00-\x08\x0a-\x1f\x7f]*)?\r\n")
# Bytes that may stand in a line: a tab, printable ASCII, and bytes above it.
_TEXT: Final = bytes(code for code in range(256) if code == 9 or 32 <= code != 127)
_MAX_CHUNK_LINE: Final = 1024  # bytes
_MAX_EXTENSIONS: Final = 16 << 10  # bytes of the lines of one body's chunks that are longer than a size
_SIZE_LINE: Final = 17  # bytes of the longest chunk line that has no extension

# The names that clients send, as they write them: found faster than lowered and checked.
_NAMES: Final = {
    spelling: name
    for name in (
        "accept",
        "accept-encoding",
        "accept-language",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "host",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "mcp-session-id",
        "origin",
        "traceparent",
        "transfer-encoding",
        "user-agent",
    )
    for spelling in (name, name.title(), name.title().replace("Mcp-", "MCP-", 1))
}
_NONE: Final[frozenset[str]] = frozenset()


class Head:
    """The head of a request whose body has yet to be read."""

    __slots__ = ("expects_continue", "keep_alive", "length", "request", "version")

    def __init__(
        self, request: Request, version: str, length: int | None, *, keep_alive: bool, expects_continue: bool
    ) -> None:
        self.request = request  # without its body
        self.version = version  # "1.0" or "1.1"
        self.length = length  # of the body, in bytes; None: it comes in chunks
        self.keep_alive = keep_alive  # whether the client wants to send more requests
        self.expects_continue = expects_continue  # whether it waits for 100 before it sends the body


class Bad:
    """A request that is refused. Nothing after it is read."""

    __slots__ = ("sentence", "status")

    def __init__(self, status: int, sentence: str) -> None:
        self.status = status
        self.sentence = sentence

    def __repr__(self) -> str:
        return f"Bad({self.status}, {self.sentence!r})"


Event: TypeAlias = Head | Request | Bad


class _Refused(Exception):
    """Carries a refusal out of the parser's functions."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class RequestParser:
    """Reads the requests of one connection, one after the other.

    `receive()` takes bytes; `next_event()` gives a Head, then its Request, then the next Head, and None where
    more bytes are needed. Bytes behind a request are not looked at until `next_event()` is called for them.
    """

    __slots__ = (
        "_address",
        "_blank",
        "_body",
        "_buffer",
        "_chunk",
        "_extensions",
        "_fields_start",
        "_head",
        "_limits",
        "_line",
        "_line_start",
        "_peer",
        "_searched",
        "_step",
    )

    def __init__(self, limits: WireLimits, *, address: str = "127.0.0.1", peer: str = "127.0.0.1:0") -> None:
        self._limits = limits
        self._address = address
        self._peer = peer
        self._buffer = bytearray()
        self._blank = False  # whether an empty line was read before the request
        self._searched = 0  # up to here no head ends
        self._fields_start = 0  # where the request line ends
        self._line_start = 0  # of the first header line whose length is not known to be right
        self._line: tuple[str, str, str] | None = None  # method, target, version
        self._head: Head | None = None
        self._body = bytearray()  # of a request in chunks
        self._chunk = 0  # bytes that the chunk still has, with its line end
        self._extensions = 0  # bytes
        self._step = self._read_line

    @property
    def buffered(self) -> int:
        """Bytes that have arrived and are not part of a request that was given out."""
        return len(self._buffer) + len(self._body)

    @property
    def begun(self) -> bool:
        """Whether a request has arrived in part."""
        return bool(self._buffer) or self._head is not None

    def receive(self, data: bytes) -> None:
        """Take bytes from the client."""
        self._buffer += data

    def next_event(self) -> Event | None:
        """The next part of the input, or None where it has not arrived; after a Bad always None."""
        try:
            return self._step()
        except _Refused as refusal:
            self._buffer.clear()
            self._body.clear()
            self._step = self._read_nothing
            return Bad(refusal.status, str(refusal))

    def _read_nothing(self) -> Event | None:
        self._buffer.clear()
        return None

    def _read_line(self) -> Event | None:
        """Read the request line; the first bytes that can't begin one are refused at once."""
        buffer, longest = self._buffer, self._limits.max_header_line
        if not self._blank and buffer.startswith(b"\r\n"):  # RFC 9112, 2.2: one before a request is ignored
            del buffer[:2]
            self._blank = True
        end = buffer.find(b"\n", 0, longest + 2)
        if end < 0:
            if len(buffer) > longest + 1:
                raise _Refused(414, f"the request line is over {longest} bytes: send a shorter target")
            return None
        matched = _REQUEST_LINE.fullmatch(buffer, 0, end - 1) if buffer[end - 1 : end] == b"\r" else None
        if matched is None:
            raise _Refused(400, "the request line is not 'METHOD target HTTP/1.1': send HTTP/1.1")
        method, target, major, minor = matched.groups()
        if major != b"1" or minor > b"1":
            version = f"{major.decode()}.{minor.decode()}"
            raise _Refused(505, f"HTTP/{version} is not spoken here: send HTTP/1.1")
        self._line = (method.decode(), target.decode(), "1.1" if minor == b"1" else "1.0")
        self._searched = end - 1
        self._line_start = self._fields_start = end + 1
        self._step = self._read_fields
        return self._read_fields()

    def _read_fields(self) -> Event | None:
        """Read the header lines, and make the head of them."""
        buffer, line = self._buffer, self._line
        assert line is not None
        end = buffer.find(b"\r\n\r\n", self._searched)
        self._check_sizes(len(buffer) if end < 0 else end + 4)
        if end < 0:
            self._searched = max(len(buffer) - 3, self._searched)
            return None
        fields, repeated = self._fields(buffer[self._fields_start : end])
        head = self._make_head(line, fields, repeated)
        del buffer[: end + 4]
        self._head = head
        self._step = self._read_body if head.length is not None else self._read_chunks
        return head

    def _check_sizes(self, size: int) -> None:
        """Refuse a head that is too large, or has a line that is, at the first byte that is too many."""
        limits = self._limits
        if size <= limits.max_header_line and size <= limits.max_head:
            return
        while self._line_start < size:
            newline = self._buffer.find(b"\n", self._line_start, size)
            length = (size if newline < 0 else newline) - self._line_start - 1  # without the CR
            passed = self._line_start + limits.max_header_line + 2  # bytes after which it is known
            if length > limits.max_header_line and passed <= limits.max_head:
                raise _Refused(
                    431, f"a header line is over {limits.max_header_line} bytes: send shorter headers"
                )
            if newline < 0:
                break
            self._line_start = newline + 1
        if size > limits.max_head:
            raise _Refused(
                431, f"the head of the request is over {limits.max_head} bytes: send fewer headers"
            )

    def _fields(self, block: bytearray) -> tuple[dict[str, str], list[tuple[str, str]]]:
        """The header fields of a head, by name and in the order in which they came."""
        lines = block.decode("latin-1").split("\r\n") if block else []
        if len(lines) > self._limits.max_headers:
            raise _Refused(431, f"the request has over {self._limits.max_headers} headers: send fewer")
        if block.translate(None, _TEXT) != b"\r\n" * max(len(lines) - 1, 0):
            raise _Refused(
                400, "the head has control characters, or lines that don't end in CR LF: send neither"
            )
        fields: dict[str, str] = {}
        several: list[tuple[str, str]] = []
        for line in lines:
            name, colon, value = line.partition(":")
            known = _NAMES.get(name)
            if known is None or not colon:
                if not colon or _NAME.fullmatch(name) is None:
                    raise _Refused(400, f"the header line '{line[:40]}' is not 'name: value': correct it")
                known = name.lower()
            if known in fields:
                several.append((known, value.strip(" \t")))
            else:
                fields[known] = value.strip(" \t")
        return fields, several

    def _make_head(
        self, line: tuple[str, str, str], fields: dict[str, str], repeated: list[tuple[str, str]]
    ) -> Head:
        """The head that a request line and header fields make, if they agree."""
        method, target, version = line
        names = frozenset(name for name, _ in repeated) if repeated else _NONE
        length = self._body_length(version, fields, names)
        if "host" in names or ("host" not in fields and version == "1.1"):
            raise _Refused(400, "the request has no Host header, or several: send one")
        expects_continue = False
        if version == "1.1" and "expect" in fields:
            if "expect" in names or fields["expect"].lower() != "100-continue":
                raise _Refused(417, "the Expect header is not '100-continue': leave it out")
            expects_continue = length != 0
        path, query = _split_target(method, target, fields)
        request = Request(
            method,
            path,
            query=query,
            headers=fields,
            repeated=names,
            address=self._address,
            peer=self._peer,
        )
        keep_alive = version == "1.1"
        if "connection" in fields:
            options = _options(
                [fields["connection"], *(value for name, value in repeated if name == "connection")]
            )
            keep_alive = "close" not in options and (keep_alive or "keep-alive" in options)
        return Head(request, version, length, keep_alive=keep_alive, expects_continue=expects_continue)

    def _body_length(self, version: str, fields: dict[str, str], repeated: frozenset[str]) -> int | None:
        """The length of the body in bytes; None where it comes in chunks."""
        declared, encoding = fields.get("content-length"), fields.get("transfer-encoding")
        if encoding is not None:
            if declared is not None:
                raise _Refused(400, "the request has Content-Length and Transfer-Encoding: send one of them")
            if version != "1.1":
                raise _Refused(400, "a request of HTTP/1.0 has no Transfer-Encoding: send Content-Length")
            if "transfer-encoding" in repeated or encoding.lower() != "chunked":
                raise _Refused(501, "the Transfer-Encoding is not 'chunked': send that, or Content-Length")
            return None
        if declared is None:
            return 0
        if "content-length" in repeated or not (declared.isascii() and declared.isdigit()):
            raise _Refused(400, "the request has no single whole number as its Content-Length: send one")
        # A number with more digits takes long to read, and is too large anyway.
        length = int(declared) if _DIGITS.fullmatch(declared) else self._limits.max_message + 1
        if length > self._limits.max_message:
            raise self._too_long()
        return length

    def _too_long(self) -> _Refused:
        return _Refused(413, f"the body is over {self._limits.max_message} bytes: send a shorter message")

    def _read_body(self) -> Event | None:
        """Read a body of known length."""
        assert self._head is not None
        length = self._head.length or 0
        if len(self._buffer) < length:
            return None
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        return self._complete(body)

    def _read_chunks(self) -> Event | None:
        """Read the chunks of a body up to the last one, which is empty."""
        buffer, body, limit = self._buffer, self._body, self._limits.max_message
        at, chunk = (
            0,
            self._chunk,
        )  # `chunk` bytes are left of one whose line was read, with the CR LF behind it
        arrived = len(buffer)
        while True:
            if chunk > 2:
                part = buffer[at : at + chunk - 2]
                body += part
                at += len(part)
                chunk -= len(part)
            if chunk:
                if chunk > 2 or arrived - at < 2:
                    break
                if not buffer.startswith(b"\r\n", at):
                    raise _Refused(400, "a chunk is longer than its size says: correct the size")
                at += 2
            matched = _CHUNK.match(buffer, at)
            if matched is None:
                chunk = 0
                if buffer.find(b"\n", at, at + _MAX_CHUNK_LINE) >= 0:
                    raise _Refused(400, "a chunk has no size in hexadecimal digits before it: send one")
                if arrived - at >= _MAX_CHUNK_LINE:
                    raise _long_extensions()
                break
            line_end = matched.end()
            if line_end - at > _SIZE_LINE:
                self._extensions += line_end - at
                if line_end - at > _MAX_CHUNK_LINE or self._extensions > _MAX_EXTENSIONS:
                    raise _long_extensions()
            size = int(matched[1], 16)
            at = line_end
            if size == 0:
                self._searched = self._line_start = self._fields_start = 0
                self._step = self._read_trailers
                self._chunk = 0
                del buffer[:at]
                return self._read_trailers()
            if len(body) + size > limit:
                raise self._too_long()
            chunk = size + 2
        del buffer[:at]
        self._chunk = chunk
        return None

    def _read_trailers(self) -> Event | None:
        """Read the header lines behind the last chunk: checked like others, and ignored."""
        buffer = self._buffer
        if buffer.startswith(b"\r\n"):
            end, behind = 0, 2
        else:
            end = buffer.find(b"\r\n\r\n", self._searched)
            behind = end + 4
        self._check_sizes(len(buffer) if end < 0 else behind)
        if end < 0:
            self._searched = max(len(buffer) - 3, 0)
            return None
        self._fields(buffer[:end])
        del buffer[:behind]
        body = bytes(self._body)
        self._body = bytearray()
        self._extensions = 0
        return self._complete(body)

    def _complete(self, body: bytes) -> Request:
        """The request whose last byte was read; the next one begins behind it."""
        assert self._head is not None
        request = self._head.request
        request.body = body
        self._head = self._line = None
        self._blank = False
        self._step = self._read_line
        return request


def _long_extensions() -> _Refused:
    return _Refused(400, "the chunks have long extensions: leave them out")


def _split_target(method: str, target: str, fields: dict[str, str]) -> tuple[str, str]:
    """The path and the query of a request target."""
    if target.startswith("/"):
        path, _, query = target.partition("?")
        return path, query
    if target == "*" and method == "OPTIONS":
        return target, ""
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None:
        raise _Refused(400, f"the request target '{target[:40]}' is no path: send one that begins with '/'")
    fields["host"] = absolute[1]  # RFC 9112, 3.2.2: the Host header is ignored
    return absolute[2] or "/", absolute[3] or ""


def _options(values: list[str]) -> list[str]:
    """The words of a header's comma-separated values."""
    return [option.strip(" \t").lower() for value in values for option in value.split(",")]
