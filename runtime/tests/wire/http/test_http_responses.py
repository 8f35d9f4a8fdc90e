"""Responses of other nodes, in any slices, and what is none."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.wire.http.responses import BadResponse, ResponseEnd, ResponseHead, ResponseParser

LONG = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nMcp-Session-Id: a-1\r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    b"6\r\ndata: \r\nA;x=1\r\n0123456789\r\n0\r\n\r\n"
)
EMPTY = b"HTTP/1.1 204 No Content\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def parts(pieces: list[bytes]) -> list[object]:
    """What the pieces give; neighbouring pieces of a body are joined."""
    parser, found = ResponseParser(), []
    for piece in pieces:
        for part in parser.receive(piece):
            if isinstance(part, bytes) and found and isinstance(found[-1], bytes):
                found[-1] += part
            else:
                found.append(part)
    assert not parser.begun
    return found


EXPECTED = [
    ResponseHead(200, {"content-length": "5", "mcp-session-id": "a-1"}, True),
    b"hello",
    ResponseEnd(),
    ResponseHead(200, {"transfer-encoding": "chunked", "connection": "close"}, False),
    b"data: 0123456789",
    ResponseEnd(),
    ResponseHead(204, {}, True),
    ResponseEnd(),
]


@given(st.lists(st.integers(0, len(LONG + CHUNKED + CONTINUE + EMPTY)), max_size=12))
def test_slices_make_no_difference(cuts: list[int]) -> None:
    whole = LONG + CHUNKED + CONTINUE + EMPTY
    places = [0, *sorted(cuts), len(whole)]
    assert parts([whole[a:b] for a, b in pairwise(places)]) == EXPECTED


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 20_000,
        b"x" * (65 << 10),
    ],
)
def test_what_is_no_response_is_refused(data: bytes) -> None:
    with pytest.raises(BadResponse):
        list(ResponseParser().receive(data))
