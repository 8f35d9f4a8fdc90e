"""The parser of requests and h11 read the same bytes alike, but for a list of intended differences.

LONGWIRE_FUZZ_CASES sets the number of cases: 20000 take about a minute.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass

import h11
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longwire.settings import WireLimits
from longwire.wire.http.head import Head, RefusedRequest
from longwire.wire.http.parser import RequestParser

CASES = int(os.environ.get("LONGWIRE_FUZZ_CASES", "300"))
LIMITS = WireLimits(max_message=400, max_headers=12, max_header_line=120, max_head=400)


@dataclass(frozen=True)
class Seen:
    """A request as a parser read it."""

    method: str
    target: str
    headers: dict[str, str]
    repeated: frozenset[str]
    body: bytes


@dataclass
class Outcome:
    """What a parser made of the bytes of one connection, up to the last request that it would answer."""

    requests: list[Seen]
    end: str  # waits, refuses, closes
    status: int = 0  # of a refusal
    sentence: str = ""
    offset: int = 0  # where the last request begins, that was not read whole


def by_longwire(data: bytes) -> Outcome:
    parser = RequestParser(LIMITS)
    parser.receive(data)
    seen: list[Seen] = []
    offset = 0
    while True:
        event = head = parser.next_event()
        if isinstance(head, Head):
            event = parser.next_event()
        if event is None:
            return Outcome(seen, "waits", offset=offset)
        if isinstance(event, RefusedRequest):
            return Outcome(seen, "refuses", event.status, event.sentence, offset)
        request = event
        target = request.path + (f"?{request.query}" if request.query else "")
        headers, repeated = dict(request.headers), frozenset(request.repeated)
        seen.append(Seen(request.method, target, headers, repeated, request.body))
        offset = len(data) - parser.buffered
        if not head.keep_alive or head.version == "1.0":  # h11 keeps no connection of 1.0
            return Outcome(seen, "closes", offset=offset)


def by_h11(data: bytes) -> Outcome:
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
    connection.receive_data(data)
    seen: list[Seen] = []
    while True:
        try:
            head = connection.next_event()
            if head is h11.NEED_DATA:
                return Outcome(seen, "waits")
            assert isinstance(head, h11.Request)
            body = b""
            while not isinstance(event := connection.next_event(), h11.EndOfMessage):
                if event is h11.NEED_DATA:
                    return Outcome(seen, "waits")
                assert isinstance(event, h11.Data)
                body += event.data
        except h11.RemoteProtocolError as error:
            return Outcome(seen, "refuses", error.error_status_hint, str(error))
        fields: dict[str, str] = {}
        repeated = set()
        for raw_name, raw_value in head.headers:
            name, value = raw_name.decode(), raw_value.decode("latin-1")
            if name in fields:
                repeated.add(name)
                if name == "accept":
                    fields[name] += f", {value}"
            else:
                fields[name] = value
        seen.append(Seen(head.method.decode(), head.target.decode(), fields, frozenset(repeated), body))
        connection.send(h11.Response(status_code=404, headers=[("content-length", "0")]))
        connection.send(h11.EndOfMessage())
        if connection.our_state is h11.MUST_CLOSE:
            return Outcome(seen, "closes")
        connection.start_next_cycle()


def has(pattern: bytes) -> Callable[[bytes], bool]:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda data: compiled.search(data) is not None


def declared_length(data: bytes) -> int:
    """The bytes that the lengths and chunk sizes of a request add up to; h11 has no limit."""
    sizes = [int(size, 16) for size in re.findall(rb"(?m)^([0-9a-fA-F]+)[ \t]*(?:;.*)?\r?$", data)]
    lengths = [int(size) for size in re.findall(rb"(?i)content-length:[ \t]*([0-9]+)", data)]
    return max([0, *lengths]) + sum(sizes)


TWO_LENGTHS = rb"(?s)\ncontent-length:.*\n%b:|\n%b:.*\ncontent-length:"
# What Longwire refuses and h11 takes: the status, and what the bytes of the request then have in them.
STRICTER: dict[str, tuple[int, Callable[[bytes], bool]]] = {
    "a line ends in LF alone": (400, has(rb"(?<!\r)\n")),
    "control characters": (400, has(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)")),
    "a header is folded": (400, has(rb"\n[ \t]")),
    "a length behind the chunks": (
        400,
        has(rb"(?s)\n0+(;[^\n]*)?\r\n.*(content-length|transfer-encoding)[ \t]*:"),
    ),
    "length and encoding": (400, has(TWO_LENGTHS % ((b"transfer-encoding",) * 2))),
    "several lengths": (400, has(TWO_LENGTHS % ((b"content-length",) * 2) + rb"|\ncontent-length:[^\n]*,")),
    "chunks at HTTP/1.0": (400, has(rb"(?s)HTTP/1\.0\r\n.*transfer-encoding")),
    "another version": (505, has(rb"HTTP/(?!1\.[01])[0-9]\.[0-9]\r?\n")),
    "another expectation": (
        417,
        has(rb"\nexpect:(?![ \t]*100-continue[ \t]*\r\n)|(?s:\nexpect:.*\nexpect:)"),
    ),
    "the target is no path": (400, has(rb"^(?:\r\n)?[^ ]+ (?!/|https?://[^/?#@ ]+(?:[/?][^ ]*)? )")),
    "blanks behind the size of a chunk": (400, has(rb"\n[0-9a-fA-F]+[ \t]+\r\n")),
    "a chunk's size of over 15 digits": (400, has(rb"\n[0-9a-fA-F]{16}")),
    "a long line": (414, has(rb"^[^\n]{121}")),
    "a long head": (
        431,
        lambda data: has(rb"\n[^\n]{121}")(data) or len(data) > 400 or data.count(b"\n") > 12,
    ),
    "a long body": (413, lambda data: declared_length(data) > 400),
}
# What Longwire takes and h11 refuses.
MORE_LENIENT = {"an empty line before a request": has(rb"\A\r(\n|\Z)")}
# What h11 answers and Longwire waits for the end of.
MORE_PATIENT = {"a head ends in LF alone": has(rb"(?<!\r)\n"), **MORE_LENIENT}


def check_alike(data: bytes) -> str:
    """Compare both parsers; returns the name of an intended difference, or an empty string."""
    ours, theirs = by_longwire(data), by_h11(data)
    common = min(len(ours.requests), len(theirs.requests))
    for mine, other in zip(ours.requests, theirs.requests, strict=False):
        assert_same(mine, other)
    rest = data[ours.offset :]
    if len(ours.requests) > len(theirs.requests):
        assert theirs.end != "closes", data
        start = offset_of(data, common)
        return explain(MORE_LENIENT, data[start:], data)
    if ours.end == "refuses":
        if theirs.end == "refuses" and len(theirs.requests) == common == len(ours.requests):
            return ""
        ended = by_h11(data + b"\r\n\r\n")
        if ended.end == "refuses" and len(ended.requests) == common:  # Longwire knew it earlier
            return ""
        known = {name: applies for name, (status, applies) in STRICTER.items() if status == ours.status}
        return explain(known, rest, data)
    if len(theirs.requests) > common or (ours.end, theirs.end) == ("waits", "refuses"):
        assert ours.end == "waits", data
        return explain(MORE_PATIENT, rest, data)
    if (ours.end, theirs.end) == ("closes", "waits"):
        pytest.fail(f"h11 goes on after {data!r}")
    return ""


def offset_of(data: bytes, number: int) -> int:
    """Where a request begins, by the number of those before it."""
    parser = RequestParser(LIMITS)
    parser.receive(data)
    for _ in range(2 * number):
        parser.next_event()
    return len(data) - parser.buffered


def assert_same(mine: Seen, other: Seen) -> None:
    target, headers = other.target, dict(other.headers)
    if absolute := re.fullmatch(r"(?i)https?://([^/?#@]+)(.*)", target):
        headers["host"] = absolute[1]
        target = absolute[2] if absolute[2].startswith("/") else f"/{absolute[2]}"
    if "transfer-encoding" in headers:  # h11 lowers it
        headers["transfer-encoding"] = mine.headers["transfer-encoding"]
    target = target.removesuffix("?")
    assert (mine.method, mine.target, mine.body) == (other.method, target, other.body)
    assert mine.headers == headers
    assert mine.repeated == other.repeated


def explain(known: dict[str, Callable[[bytes], bool]], rest: bytes, data: bytes) -> str:
    for name, applies in known.items():
        if applies(rest):
            return name
    ours, theirs = by_longwire(data), by_h11(data)
    pytest.fail(f"a difference that nobody intended: {data!r}\nAcuity: {ours}\nh11: {theirs}")


def usually(good: list[bytes], odd: list[bytes]) -> st.SearchStrategy[bytes]:
    """One of the good ones, and now and then an odd one."""
    return st.sampled_from([good] * 15 + [odd]).flatmap(st.sampled_from)


METHODS = st.sampled_from([b"POST", b"GET", b"DELETE", b"HEAD", b"OPTIONS", b"post", b"X!#$%&'*+-.^_`|~9"])
TARGETS = usually(
    [b"/mcp", b"/", b"/a?b=c", b"/%20;x?y?z", b"http://b/x", b"https://b:1?q", b"//", b"/#f", b'/"<>[]{}|^`'],
    [b"*", b"mcp", b"a:443", b"ftp://a/", b"http://", b"http://u@b/", b"/\xfc", b""],
)
VERSIONS = usually([b"1.1"] * 7 + [b"1.0"], [b"2.0", b"1.2", b"0.9", b"11", b"1.1 "])
GOOD_FIELDS = [
    *(b"Accept: application/json", b"accept:text/event-stream", b"Mcp-Session-Id:  0123 \t", b"X-Empty:"),
    *(b"Upgrade: h2c", b"Connection: upgrade", b"connection: Keep-Alive, x", b"Expect: 100-continue"),
    *(b"Cookie: a=b; c=\xfc", b"x: a\tb  c", b"TE: trailers", b"Connection: close"),
]
ODD_FIELDS = [
    *(b"Content-Length:" + value for value in (b"", b" 0", b" 5, 5", b" +1", b" 1e1")),
    *(b"Transfer-Encoding: chunked", b"transfer-encoding: gzip", b"transfer-encoding: chunked, chunked"),
    *(b" folded", b"x : y", b"x", b": y", b"\x80: y", b"x: \x01", b"x: \x0b", b"x: " + b"y" * 118),
    *(b"Host: b", b"Expect: tea", b"x: y\nz: 1", b"x: \r"),
]
FIELDS = usually(GOOD_FIELDS, ODD_FIELDS)
EXTENSIONS = usually([b"", b";a", b';a="b c"'], [b" ;a", b" ", b";\x01", b"x", b"\n"])
TRAILERS = usually([b"x: y", b"Host: z"], [b"content-length: 9", b"bad", b" x: y", b"x: \0"])
ODD_BYTES = [b"\r\n", *(bytes([byte]) for byte in b"\r\n\0 \t:,;0a\x7f\xff\x0b")]


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    version, fields = draw(VERSIONS), draw(st.lists(FIELDS, max_size=3))
    if draw(st.sampled_from([True] * 15 + [False])):
        fields.insert(0, b"Host: a")
    framing, body = draw(st.sampled_from(["none", "length", "chunks"])), b""
    if framing == "length":
        body = draw(st.binary(max_size=30))
        fields.append(b"Content-Length: %d" % len(body))
    elif framing == "chunks":
        fields.append(b"Transfer-Encoding: chunked")
        for part in draw(st.lists(st.binary(min_size=1, max_size=20), max_size=4)):
            body += b"%x%b\r\n%b\r\n" % (len(part), draw(EXTENSIONS), part)
        body += b"0\r\n" + b"".join(line + b"\r\n" for line in draw(st.lists(TRAILERS, max_size=2))) + b"\r\n"
    lines = [b"%b %b HTTP/%b" % (draw(METHODS), draw(TARGETS), version), *fields]
    return b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


@st.composite
def connections(draw: st.DrawFn) -> bytes:
    """Requests one after the other, with a few bytes changed, left out, doubled or put in."""
    data = b"".join(draw(st.lists(requests(), min_size=1, max_size=3)))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 1, 4]))):
        at = draw(st.integers(0, len(data)))
        end = min(len(data), at + draw(st.sampled_from([0, 0, 1, 1, 2, 9])))
        put = draw(st.sampled_from([*ODD_BYTES, b"", data[at:end] * 2]) | st.binary(max_size=2))
        data = data[:at] + put + data[end:]
    return data


@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(connections())
def test_both_read_the_same(data: bytes) -> None:
    check_alike(data)


GOOD = b"POST /mcp HTTP/1.1\r\nHost: a\r\n"
CHUNKS = GOOD + b"Transfer-Encoding: chunked\r\n\r\n"

SAME = [
    GOOD + b"Content-Length: 3\r\n\r\nabc" + GOOD + b"\r\n",
    CHUNKS + b"3;x\r\nabc\r\n0\r\nx: y\r\n\r\n",
    CHUNKS + b"3\r\nabc\n",  # refused by its last byte
    GOOD + b"Connection: close\r\n\r\n" + GOOD + b"\r\n",
    b"\x16\x03\x01",
]
DIFFERENT = [
    ("a line ends in LF alone", b"GET / HTTP/1.1\nHost: a\n\n"),
    ("control characters", GOOD + b"x: \x01\r\n\r\n"),
    ("a header is folded", GOOD + b"x: y\r\n z\r\n\r\n"),
    ("length and encoding", GOOD + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ("several lengths", GOOD + b"Content-Length: 0\r\nContent-Length: 0\r\n\r\n"),
    ("several lengths", GOOD + b"Content-Length: 0, 0\r\n\r\n"),
    ("chunks at HTTP/1.0", b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ("another version", b"GET / HTTP/2.0\r\n\r\n"),
    ("another expectation", GOOD + b"Expect: tea\r\n\r\n"),
    ("the target is no path", b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n"),
    ("blanks behind the size of a chunk", CHUNKS + b"0 \r\n\r\n"),
    ("a chunk's size of over 15 digits", CHUNKS + b"0000000000000000\r\n\r\n"),
    ("a length behind the chunks", CHUNKS + b"0\r\nContent-Length: 3\r\n\r\n"),
    ("a long line", b"GET /" + b"y" * 200 + b" HTTP/1.1\r\nHost: a\r\n\r\n"),
    ("a long head", GOOD + b"x: " + b"y" * 200 + b"\r\n\r\n"),
    ("a long head", GOOD + b"x: y\r\n" * 12 + b"\r\n"),
    ("a long body", GOOD + b"Content-Length: 401\r\n\r\n" + b"y" * 401),
    ("an empty line before a request", b"\r\n" + GOOD + b"\r\n"),
    ("a head ends in LF alone", GOOD + b"\n"),
]


@pytest.mark.parametrize("data", SAME)
def test_these_are_read_alike(data: bytes) -> None:
    assert check_alike(data) == ""


@pytest.mark.parametrize(("name", "data"), DIFFERENT)
def test_these_are_the_intended_differences(name: str, data: bytes) -> None:
    assert check_alike(data) == name


def test_every_intended_difference_has_an_example() -> None:
    assert {name for name, _ in DIFFERENT} == {*STRICTER, *MORE_LENIENT, *MORE_PATIENT}
