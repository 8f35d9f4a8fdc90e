"""The head of an HTTP/1.1 request: its request line and header fields, checked and taken apart.

What RFC 9112 doesn't define is refused, and so is everything that two servers could read in two ways.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_TOKEN: Final = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_REQUEST_LINE: Final = re.compile(rf"({_TOKEN}) ([\x21-\x7e]+) HTTP/([0-9]\.[0-9])".encode())
_NAME: Final = re.compile(_TOKEN)
_ABSOLUTE: Final = re.compile(r"https?://([^/?#@]+)(/[^?]*)?(?:\?(.*))?", re.IGNORECASE)
LENGTH: Final = re.compile(r"[0-9]{1,18}")  # longer ones are too large for any limit
# Bytes that may stand in a line: a tab, printable ASCII, and those above it.
_TEXT: Final = bytes(code for code in range(256) if code == 9 or 32 <= code != 127)
_NONE: Final[frozenset[str]] = frozenset()
_LISTS: Final = frozenset({"accept", "x-forwarded-for", "forwarded"})  # which may come in several lines

# The names that clients send, as they write them: found faster than lowered and checked.
_FREQUENT: Final = (
    "accept accept-encoding accept-language authorization connection content-length content-type host "
    "last-event-id mcp-method mcp-name mcp-protocol-version mcp-session-id origin traceparent "
    "transfer-encoding user-agent"
)
_NAMES: Final = {
    spelling: name
    for name in _FREQUENT.split()
    for spelling in (name, name.title(), name.title().replace("Mcp-", "MCP-", 1))
}


class RefusedRequest(Exception):
    """A request that is refused: the status of the answer, and a sentence about the reason."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence
        self.headers: Mapping[str, str] = {}  # of the request, where they were read


@dataclass(slots=True)
class Head:
    """The head of a request. Nobody changes one: requests with equal heads share it."""

    method: str  # as sent: methods have capital and small letters
    path: str  # as sent, without the query
    query: str
    version: str  # "1.0" or "1.1"
    headers: Mapping[str, str]  # names in lower case, values without blanks around them
    repeated: frozenset[str]  # the names that came more than once; `headers` has the first value
    length: int | None  # of the body, in bytes; None: it comes in chunks
    keep_alive: bool  # whether the client may send more requests
    expects_continue: bool  # whether it waits for 100 before it sends the body


def parse_head(line: tuple[str, str, str], block: bytes | bytearray, max_headers: int, max_body: int) -> Head:
    """The head that the parts of a request line and the block of header lines make; raises RefusedRequest."""
    fields, more = parse_fields(block, max_headers)
    method, target, version = line
    try:
        repeated = frozenset([name for name, _ in more]) if more else _NONE
        length = _body_length(version, fields, repeated, max_body)
        if "host" in repeated or ("host" not in fields and version == "1.1"):
            raise RefusedRequest(400, "the request has no Host header, or several: send one")
        expects_continue = False
        if "expect" in fields and version == "1.1":
            if "expect" in repeated or fields["expect"].lower() != "100-continue":
                raise RefusedRequest(417, "the Expect header is not '100-continue': leave it out")
            expects_continue = length != 0
        keep_alive = version == "1.1"
        if "connection" in fields:
            options = [fields["connection"], *(value for name, value in more if name == "connection")]
            words = {word.strip(" \t").lower() for option in options for word in option.split(",")}
            keep_alive = "close" not in words and (keep_alive or "keep-alive" in words)
        path, query = _split_target(method, target, fields)
    except RefusedRequest as refusal:
        refusal.headers = fields
        raise
    return Head(method, path, query, version, fields, repeated, length, keep_alive, expects_continue)


def parse_request_line(line: bytes | bytearray) -> tuple[str, str, str]:
    """Method, target and version of a request line, which is given without its end."""
    matched = _REQUEST_LINE.fullmatch(line)
    if matched is None:
        raise RefusedRequest(400, "the request line is not 'METHOD target HTTP/1.1': send HTTP/1.1")
    method, target, version = matched.groups()
    if version not in (b"1.1", b"1.0"):
        raise RefusedRequest(505, f"HTTP/{version.decode()} is not spoken here: send HTTP/1.1")
    return method.decode(), target.decode(), version.decode()


def parse_fields(block: bytes | bytearray, most: int) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """The first value of each header (all of a list), and the further ones of those that came again."""
    lines = block.decode("latin-1").split("\r\n") if block else []
    if len(lines) > most:
        raise RefusedRequest(431, f"the request has over {most} headers: send fewer")
    if block.translate(None, _TEXT) != b"\r\n" * (len(lines) - 1):
        raise RefusedRequest(
            400, "the head has control characters, or lines that don't end in CR LF: send neither"
        )
    fields: dict[str, str] = {}
    more: list[tuple[str, str]] = []
    for line in lines:
        name, colon, value = line.partition(":")
        known = _NAMES.get(name)
        if known is None or not colon:
            if not colon or _NAME.fullmatch(name) is None:
                raise RefusedRequest(400, f"the header line '{line[:40]}' is not 'name: value': correct it")
            known = name.lower()
        if known in fields:
            more.append((known, value.strip(" \t")))
            if known in _LISTS:
                fields[known] += f", {more[-1][1]}"
        else:
            fields[known] = value.strip(" \t")
    return fields, more


def _body_length(
    version: str, fields: Mapping[str, str], repeated: frozenset[str], longest: int
) -> int | None:
    """The length of the body in bytes; None where it comes in chunks."""
    declared, encoding = fields.get("content-length"), fields.get("transfer-encoding")
    if encoding is not None:
        if declared is not None:
            raise RefusedRequest(
                400, "the request has Content-Length and Transfer-Encoding: send one of them"
            )
        if version != "1.1":
            raise RefusedRequest(400, "a request of HTTP/1.0 has no Transfer-Encoding: send Content-Length")
        if "transfer-encoding" in repeated or encoding.lower() != "chunked":
            raise RefusedRequest(501, "the Transfer-Encoding is not 'chunked': send that, or Content-Length")
        return None
    if declared is None:
        return 0
    if "content-length" in repeated or not (declared.isascii() and declared.isdigit()):
        raise RefusedRequest(400, "the request has no single whole number as its Content-Length: send one")
    if LENGTH.fullmatch(declared) is None or (length := int(declared)) > longest:
        raise too_long(longest)
    return length


def too_long(limit: int) -> RefusedRequest:
    return RefusedRequest(413, f"the body is over {limit} bytes: send a shorter message")


def _split_target(method: str, target: str, fields: dict[str, str]) -> tuple[str, str]:
    if target.startswith("/"):
        path, _, query = target.partition("?")
        return path, query
    if target == "*" and method == "OPTIONS":
        return target, ""
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None:
        raise RefusedRequest(
            400, f"the request target '{target[:40]}' is no path: send one that begins with '/'"
        )
    fields["host"] = absolute[1]  # RFC 9112, 3.2.2: the Host header is ignored
    return absolute[2] or "/", absolute[3] or ""
