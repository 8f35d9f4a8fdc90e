"""The parser of requests: what it reads and refuses, however its bytes are cut up."""

from __future__ import annotations

import os
import re
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longwire.settings import WireLimits
from longwire.wire.http.head import Head, RefusedRequest
from longwire.wire.http.parser import RequestParser
from longwire.wire.http.request import Request
from parsed_http import events_of

LIMITS = WireLimits(max_message=200, max_headers=8, max_header_line=60, max_head=200)
CASES = int(os.environ.get("LONGWIRE_FUZZ_CASES", "200"))


def read(data: bytes, limits: WireLimits = LIMITS) -> list[Head | Request | RefusedRequest]:
    parser = RequestParser(limits)
    parser.receive(data)
    found = []
    while (event := parser.next_event()) is not None:
        found.append(event)
    return found


def request_of(data: bytes, limits: WireLimits = LIMITS) -> Request:
    _, request = read(data, limits)
    assert isinstance(request, Request)
    return request


def refusal_of(data: bytes, limits: WireLimits = LIMITS) -> RefusedRequest:
    *_, bad = read(data, limits)
    assert isinstance(bad, RefusedRequest), bad
    return bad


def one_by_one(data: bytes) -> list[bytes]:
    return [bytes([byte]) for byte in data]


def test_a_request_is_taken_apart() -> None:
    request = request_of(
        b"POST /mcp/%2F?a=b?c HTTP/1.1\r\nHost: a:1\r\nMCP-Protocol-Version:\t 2025 11 \t\r\nx-Odd_Name:\r\n"
        b"Content-Length: 3\r\n\r\nabc"
    )
    assert (request.method, request.path, request.query) == ("POST", "/mcp/%2F", "a=b?c")
    assert request.headers == {
        "host": "a:1",
        "mcp-protocol-version": "2025 11",
        "x-odd_name": "",
        "content-length": "3",
    }
    assert request.repeated == frozenset()
    assert request.body == b"abc"


def test_values_lose_blanks_and_nothing_else() -> None:
    request = request_of("GET / HTTP/1.1\r\nhost: a\r\nx: \xa0ü\x85 \r\n\r\n".encode("latin-1"))
    assert request.headers["x"] == "\xa0ü\x85"


def test_the_first_of_repeated_headers_counts_and_their_names_are_told() -> None:
    request = request_of(GET + b"Origin: x\r\nX: 1\r\norigin: y\r\nORIGIN: z\r\n\r\n")
    assert request.headers["origin"] == "x"
    assert request.repeated == {"origin"}


@pytest.mark.parametrize("name", ["X-Forwarded-For", "Forwarded", "Accept"])
def test_lines_of_lists_are_one_list(name: str) -> None:
    line = name.encode()
    request = request_of(GET + line + b": a\r\n" + line.lower() + b": b, c\r\n\r\n")
    assert request.headers[name.lower()] == "a, b, c"


def test_equal_heads_one_after_the_other_are_read_alike() -> None:
    data = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\n%b"
    other = b"POST /x HTTP/1.1\r\nhost: b\r\n\r\n"
    requests = read(data % b"1" + data % b"2" + other + data % b"3")[1::2]
    found = [(request.path, request.headers["host"], request.body) for request in requests]
    assert found == [("/", "a", b"1"), ("/", "a", b"2"), ("/x", "b", b""), ("/", "a", b"3")]
    assert len({id(request) for request in requests}) == 4


@pytest.mark.parametrize(
    ("target", "path", "query", "host"),
    [
        (b"/", "/", "", "a"),
        (b"//x/../y", "//x/../y", "", "a"),
        (b"/?", "/", "", "a"),
        (b"http://b:8/x?y", "/x", "y", "b:8"),
        (b"HTTPS://b", "/", "", "b"),
        (b"http://b?y", "/", "y", "b"),
        (b"http://[::1]:8/", "/", "", "[::1]:8"),
    ],
)
def test_targets(target: bytes, path: str, query: str, host: str) -> None:
    request = request_of(b"GET %b HTTP/1.1\r\nHost: a\r\n\r\n" % target)
    assert (request.path, request.query, request.headers["host"]) == (path, query, host)


def test_chunks() -> None:
    request = request_of(
        b"POST / HTTP/1.1\r\nhost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"
        b'3\r\nabc\r\n00A;x="y z"\r\n0123456789\r\n1; q \r\n!\r\n0\r\nHost: evil\r\nX: y\r\n\r\n'
    )
    assert request.body == b"abc0123456789!"
    assert request.headers == {"host": "a", "transfer-encoding": "Chunked"}
    assert request.repeated == frozenset()


def test_small_chunks_are_read_while_they_are_few_or_not_too_small() -> None:
    limits = WireLimits(max_message=1 << 20)
    for size, count in [(1, 2000), (16, 20_000)]:
        chunk = b"%x;x\r\n%b\r\n" % (size, b"x" * size)
        body = CHUNKS + chunk * count + b"0\r\n\r\n"
        _, first, _, second = read(body * 2, limits)  # what one request may have the next one may have too
        assert len(first.body) == len(second.body) == size * count
    assert refusal_of(CHUNKS + b"1\r\nx\r\n" * 4000, limits).status == 400


def test_pipelined_requests_come_in_order_and_those_behind_stay_bytes() -> None:
    parser = RequestParser(LIMITS)
    parser.receive(b"".join(b"GET /%d HTTP/1.1\r\nhost: a\r\n\r\n" % number for number in range(5)))
    for number in range(5):
        assert isinstance(parser.next_event(), Head)
        assert parser.next_event().path == f"/{number}"
        assert parser.buffered == (4 - number) * len(b"GET /0 HTTP/1.1\r\nhost: a\r\n\r\n")
    assert not parser.begun


GET = b"GET / HTTP/1.1\r\nhost: a\r\n"
POST = b"POST / HTTP/1.1\r\nhost: a\r\n"
CHUNKS = POST + b"transfer-encoding: chunked\r\n\r\n"

REFUSED = {
    "no version": (b"GET /\r\n\r\n", 400),
    "a method that is no token": (b"G@T / HTTP/1.1\r\n\r\n", 400),
    "a target beyond ASCII": ("GET /ü HTTP/1.1\r\n\r\n".encode(), 400),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n", 400),
    "five empty lines before": (b"\r\n" * 5 + b"GET / HTTP/1.1\r\n", 400),
    "a line that ends in a line feed": (b"GET / HTTP/1.1\nhost: a\n\n", 400),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    "HTTP/1.2": (b"GET / HTTP/1.2\r\n\r\n", 505),
    "a long line": (b"GET /" + b"x" * 60, 414),
    "CONNECT": (b"CONNECT a:443 HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "a star": (b"GET * HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "a user in the target": (b"GET http://u@a/ HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "two hosts": (GET + b"Host: a\r\n\r\n", 400),
    "no colon": (GET + b"x\r\n\r\n", 400),
    "no name": (GET + b": y\r\n\r\n", 400),
    "a folded line": (GET + b"x: y\r\n z\r\n\r\n", 400),
    "a bare CR": (GET + b"x: y\rz\r\n\r\n", 400),
    "a bare LF": (GET + b"x: y\nz: 1\r\n\r\n", 400),
    "NUL": (GET + b"x: \0\r\n\r\n", 400),
    "DEL": (GET + b"x: \x7f\r\n\r\n", 400),
    "many headers": (GET + b"".join(b"x%d: y\r\n" % number for number in range(8)) + b"\r\n", 431),
    "a long header": (GET + b"x: " + b"y" * 60, 431),
    "a long head": (GET + b"x: 345678901234567890\r\n" * 8, 431),
    "length and encoding": (POST + b"content-length: 3\r\ntransfer-encoding: chunked\r\n\r\nabc", 400),
    "two lengths": (POST + b"content-length: 3\r\ncontent-length: 3\r\n\r\nabc", 400),
    "a list of lengths": (POST + b"content-length: 3, 3\r\n\r\nabc", 400),
    "a length with a sign": (POST + b"content-length: +3\r\n\r\nabc", 400),
    "a length below zero": (POST + b"content-length: -1\r\n\r\n", 400),
    "a body that is too long": (POST + b"content-length: 201\r\n\r\n", 413),
    "a length of many digits": (POST + b"content-length: " + b"9" * 40 + b"\r\n\r\n", 413),
    "gzip": (POST + b"transfer-encoding: gzip\r\n\r\n", 501),
    "chunked twice": (POST + b"transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n", 501),
    "vertical tabs around chunked": (POST + b"transfer-encoding: \x0bchunked\r\n\r\n", 400),
    "chunked at 1.0": (b"POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "another expectation": (POST + b"expect: tea\r\n\r\n", 417),
    "no size": (CHUNKS + b"\r\n", 400),
    "a size with 0x": (CHUNKS + b"0x3\r\nabc\r\n", 400),
    "a size before a blank": (CHUNKS + b"3 \r\nabc\r\n", 400),
    "a size that ends in LF": (CHUNKS + b"3\nabc\r\n", 400),
    "a chunk that is longer": (CHUNKS + b"3\r\nabcd\r\n", 400),
    "a bare CR in an extension": (CHUNKS + b"3;a\rb\r\nabc\r\n", 400),
    "a chunk of many digits": (CHUNKS + b"f" * 16 + b"\r\n", 400),
    "a chunk that is too long": (CHUNKS + b"c9\r\n", 413),
    "a long extension": (CHUNKS + b"1;" + b"x" * 1024, 400),
    "long extensions": (CHUNKS + (b"1;" + b"x" * 999 + b"\r\ny\r\n") * 20, 400),
    "a length in a trailer": (CHUNKS + b"0\r\nx: y\r\nContent-Length: 3\r\n\r\n", 400),
    "a long trailer": (CHUNKS + b"0\r\nx:" + b"y" * 60, 431),
    "many trailers": (CHUNKS + b"0\r\n" + b"x: y\r\n" * 9 + b"\r\n", 431),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_refuses(name: str) -> None:
    """The same byte by byte, and it reads nothing behind."""
    data, status = REFUSED[name]
    whole = events_of([data], LIMITS)
    kind, found, sentence = whole[-1]
    assert (kind, found) == ("bad", status), sentence
    assert re.fullmatch(".+: .+", sentence)
    assert len(sentence) < 200
    assert events_of(one_by_one(data), LIMITS) == whole
    assert events_of([data, b"\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\n\r\n"], LIMITS) == whole


def test_limits_hold_to_the_byte() -> None:
    line = b"GET /" + b"x" * (60 - len(b"GET / HTTP/1.1")) + b" HTTP/1.1"
    assert len(line) == 60
    assert request_of(line + b"\r\nhost: a\r\n\r\n").method == "GET"
    assert refusal_of(line.replace(b"GET", b"POST") + b"\r\n").status == 414
    assert request_of(GET + b"x: " + b"y" * 57 + b"\r\n\r\n")
    assert refusal_of(GET + b"x: " + b"y" * 58 + b"\r\n\r\n").status == 431
    seven = b"".join(b"x%d: y\r\n" % number for number in range(7))
    assert request_of(GET + seven + b"\r\n")
    assert refusal_of(GET + seven + b"x: y\r\n\r\n").status == 431
    head = GET + b"x: " + b"y" * 57 + b"\r\nz: " + b"y" * 57 + b"\r\n"
    fill = 200 - len(head) - len(b"w: \r\n\r\n")
    assert request_of(head + b"w: " + b"y" * fill + b"\r\n\r\n")
    assert refusal_of(head + b"w: " + b"y" * (fill + 1) + b"\r\n\r\n").status == 431
    assert len(request_of(POST + b"content-length: 200\r\n\r\n" + b"x" * 200).body) == 200
    assert len(request_of(CHUNKS + b"c8\r\n" + b"x" * 200 + b"\r\n0\r\n\r\n").body) == 200


def test_what_waits_is_bounded() -> None:
    limits = WireLimits(max_message=1000)
    endless = {
        "line": (b"", b"x"),
        "header": (GET, b"x"),
        "headers": (GET, b"x: y\r\n"),
        "chunks": (CHUNKS, b"1\r\nx\r\n"),
        "chunk line": (CHUNKS, b"1"),
        "extension": (CHUNKS + b"1;", b"x"),
        "trailers": (CHUNKS + b"0\r\n", b"x: y\r\n"),
    }
    for name, (start, piece) in endless.items():
        parser = RequestParser(limits)
        parser.receive(start)
        for _ in range(1000):
            parser.receive(piece * 100)
            most = parser.buffered
            if isinstance(parser.next_event(), RefusedRequest):
                break
        else:
            pytest.fail(f"{name} is never refused")
        assert most < 70_000, name


def test_a_refused_connection_holds_no_bytes() -> None:
    parser = RequestParser(LIMITS)
    parser.receive(b"nonsense\r\n")
    assert isinstance(parser.next_event(), RefusedRequest)
    tracemalloc.start()
    try:
        for _ in range(100):
            parser.receive(b"x" * 100_000)
            assert parser.next_event() is None
        assert tracemalloc.get_traced_memory()[0] < 200_000
    finally:
        tracemalloc.stop()


# Bytes that are nearly requests reach more of the parser than any bytes.
PARTS = st.sampled_from(
    (
        b"GET / HTTP/1.1\r\n|POST /x?y HTTP/1.1\r\n|HEAD http://b/ HTTP/1.0\r\n|\r\n|\n|\r|"
        b"host: a\r\n|Host:b\r\n|content-length: 5\r\n|Content-Length: 0\r\n|x: y\r\n| folded\r\n|"
        b"transfer-encoding: chunked\r\n|connection: close\r\n|expect: 100-continue\r\n|accept: */*\r\n|"
        b"5\r\nabcde\r\n|1;x=y\r\nz\r\n|0\r\n\r\n|0\r\nx: y\r\n\r\n|abcde|3\r\nab|ffff\r\n|\0|"
        b"host: a\r\n\r\n|host: a\r\ncontent-length: 5\r\n\r\nabcde|%b|y: %b\r\n" % (b"x" * 61, b"z" * 57)
    ).split(b"|")
)
INPUT = st.one_of(st.binary(max_size=300), st.lists(PARTS | st.binary(max_size=6), max_size=30).map(b"".join))


@st.composite
def cut_up(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    data = draw(INPUT)
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=12)))
    return data, [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


@settings(max_examples=CASES, deadline=None)
@given(cut_up())
def test_any_bytes_in_any_pieces_give_the_same_events(case: tuple[bytes, list[bytes]]) -> None:
    data, pieces = case
    whole = events_of([data], LIMITS)
    assert events_of(pieces, LIMITS) == whole
    assert events_of(one_by_one(data), LIMITS) == whole
    kinds = [event[0] for event in whole]
    assert "bad" not in kinds[:-1], "nothing comes after a refusal"
    framed = [kind for kind in kinds if kind != "bad"]
    assert framed == ["head", "request"] * (len(framed) // 2) + ["head"] * (len(framed) % 2)


def test_tls_on_a_plain_port_is_called_by_its_name() -> None:
    assert "plain HTTP" in refusal_of(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n").sentence
