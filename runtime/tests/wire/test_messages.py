"""Bytes from a wire: how they are split, which are messages, and how the others are answered."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.wire.framing import FRAMINGS, Auto, ContentLength, Frame, Framing, FramingFault, LineFraming
from longwire.wire.messages import PlainRequest, RefusedMessage, parse, parse_request

# As most clients write a call, and as the SDK's do.
CALL = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","arguments":{"v":%b}}}'
SDK_CALL = b'{"method":"tools/call","params":{"name":"x","arguments":{"v":%b}},"jsonrpc":"2.0","id":7}'


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', types.JSONRPCRequest),
        (b'{"jsonrpc":"2.0","id":"a","method":"ping","params":{}}', types.JSONRPCRequest),
        (b'{"jsonrpc":"2.0","method":"notifications/initialized"}', types.JSONRPCNotification),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', types.JSONRPCResponse),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}', types.JSONRPCError),
    ],
)
def test_messages(text: bytes, kind: type[Any]) -> None:
    assert isinstance(parse(text), kind)


def test_what_looks_like_too_much_in_a_string_is_none() -> None:
    for value in (b'":,{["', rb'"\":\\"', b'"' + b",[{:" * 20_000 + b'"', b"[" * 47 + b"]" * 47):
        assert isinstance(parse_request(CALL % value), PlainRequest)


@pytest.mark.parametrize(
    ("text", "code", "request_id", "reason"),
    [
        (b"", types.PARSE_ERROR, None, "not JSON"),
        (b"{", types.PARSE_ERROR, None, "not JSON"),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"x"}', types.PARSE_ERROR, None, "not JSON"),
        (b'{"a":"\xff"}', types.PARSE_ERROR, None, "not UTF-8: byte 6"),
        (b"[" * 1000 + b"]" * 1000, types.INVALID_REQUEST, None, "batches"),
        (b'{"a":' * 1000, types.PARSE_ERROR, None, "deeper than 50 levels"),
        (CALL % (b"[" * 48 + b"]" * 48), types.INVALID_REQUEST, 7, "deeper than 50 levels"),
        (
            CALL % b'{"a":1,"b":2,"a":3}',
            types.INVALID_REQUEST,
            7,
            "'a' comes twice in one object: send it once",
        ),
        (CALL % rb'{"a":"\":","b":1,"\u0062":2}', types.INVALID_REQUEST, 7, "'b' comes twice"),
        (b'{"id":7,"method":"ping","method":"tools/call"}', types.INVALID_REQUEST, 7, "'method' comes twice"),
        # These are no JSON either, but nobody has looked: it would take long.
        (CALL % (b"[" + b"0," * 10_000), types.INVALID_REQUEST, 7, "more than 10000 values"),
        (CALL % (b"[-" + b"9" * 401 + b"]"), types.INVALID_REQUEST, 7, "more than 400 digits in a row"),
        (CALL % (b"0." + b"3" * 4000), types.INVALID_REQUEST, 7, "more than 400 digits in a row"),
        (SDK_CALL % (b"[" + b"[]," * 10_000), types.INVALID_REQUEST, 7, "more than 10000 values"),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', types.INVALID_REQUEST, None, "batches"),
        (b"[]", types.INVALID_REQUEST, None, "batches"),
        (b'"text"', types.INVALID_REQUEST, None, "JSON object"),
        (b"null", types.INVALID_REQUEST, None, "JSON object"),
        (b"{}", types.INVALID_REQUEST, None, "no 'method'"),
        (b'{"jsonrpc":"2.0","id":7}', types.INVALID_REQUEST, 7, "no 'method'"),
        (b'{"id":7,"method":"ping"}', types.INVALID_REQUEST, 7, "'jsonrpc'"),
        (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', types.INVALID_REQUEST, 7, "'jsonrpc'"),
        (b'{"jsonrpc":"2.0","id":7,"method":1}', types.INVALID_REQUEST, 7, "'method'"),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}', types.INVALID_REQUEST, 7, "'params'"),
        # Taken for a notification, these would never be answered.
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', types.INVALID_REQUEST, None, "'id'"),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', types.INVALID_REQUEST, None, "'id'"),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', types.INVALID_REQUEST, None, "'id'"),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', types.INVALID_REQUEST, None, "'id'"),
        (b'{"jsonrpc":"2.0","id":7,"result":3}', types.INVALID_REQUEST, None, "'result'"),
    ],
)
def test_what_is_no_message(text: bytes, code: int, request_id: int | None, reason: str) -> None:
    with pytest.raises(RefusedMessage, match=reason) as refused:
        parse(text)
    answer = json.loads(refused.value.payload)
    assert (answer["error"]["code"], answer["id"]) == (code, request_id)


_VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(-9, 9), st.text(max_size=3))
_MEMBERS = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | _VALUES,
        "id": st.integers() | st.text(max_size=3) | _VALUES,
        "method": st.just("ping") | _VALUES,
        "params": st.just({"a": [1]}) | st.just([1]) | _VALUES,
        "result": st.just({}),
        "error": st.just({"code": 1, "message": "m"}),
        "more": _VALUES,
    },
)


@given(_MEMBERS)
def test_a_plain_request_is_the_request_that_the_models_make(members: dict[str, Any]) -> None:
    text = json.dumps(members).encode()
    try:
        expected: Any = parse(text)
    except RefusedMessage as refused:
        expected = (refused.code, refused.reason, refused.request_id)
    try:
        found: Any = parse_request(text)
    except RefusedMessage as refused:
        found = (refused.code, refused.reason, refused.request_id)
    if isinstance(found, PlainRequest):
        assert isinstance(expected, types.JSONRPCRequest)
        assert (found.id, found.method, found.params) == (expected.id, expected.method, expected.params)
    else:
        assert not isinstance(expected, types.JSONRPCRequest)
        assert found == expected


LIMIT = 64


def fed(framing: Framing, data: bytes, cuts: list[int] | None = None) -> list[Frame]:
    """What comes out when the bytes arrive in these pieces, and then end."""
    found: list[Frame] = []
    start = 0
    for cut in [*sorted(cuts or []), len(data)]:
        found += framing.feed(data[start:cut])
        start = max(start, cut)
    return found + framing.end()


def head(payload: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n" % len(payload) + payload


TEXTS = st.lists(st.binary(min_size=1, max_size=LIMIT).map(lambda b: b"{" + b.hex().encode()[:60] + b"}"))
CUTS = st.lists(st.integers(0, 400), max_size=12)


@pytest.mark.parametrize(("spoken", "wrap"), [("lines", lambda text: text + b"\n"), ("content-length", head)])
@given(TEXTS, CUTS)
def test_messages_are_the_same_however_they_are_cut(
    spoken: str, wrap: Callable[[bytes], bytes], texts: list[bytes], cuts: list[int]
) -> None:
    for framing in (FRAMINGS[spoken](LIMIT), Auto(LIMIT)):  # which does as the client does
        assert fed(framing, b"\n" + b"".join(map(wrap, texts)), cuts) == texts
        if texts:
            assert framing.wrap(b"{}") == wrap(b"{}")


@given(st.binary(max_size=500), CUTS, st.sampled_from(list(FRAMINGS)))
def test_no_bytes_break_it(data: bytes, cuts: list[int], name: str) -> None:
    for frame in fed(FRAMINGS[name](LIMIT), data, cuts):
        assert isinstance(frame, FramingFault) or len(frame) <= LIMIT


@pytest.mark.parametrize("cuts", [[], [10], [25], list(range(0, 400, 7))])
@pytest.mark.parametrize(
    ("name", "text"), [("lines", b"x" * 300 + b"\n{}\n"), ("content-length", head(b"x" * 300) + head(b"{}"))]
)
def test_a_long_message_is_skipped_once_and_the_next_one_read(
    name: str, text: bytes, cuts: list[int]
) -> None:
    frames = fed(FRAMINGS[name](LIMIT), text, cuts)
    assert frames == [FramingFault(f"the message is longer than {LIMIT} bytes"), b"{}"]


def test_long_lines_take_no_memory() -> None:
    lines = LineFraming(LIMIT)
    for _ in range(1000):
        lines.feed(b"x" * 64)
    assert len(lines._buffer) <= 2 * LIMIT


@pytest.mark.parametrize(
    "text",
    [b"Content-Type: a\r\nCONTENT-LENGTH:2\r\n\r\n{}", b"content-length : 2\n\n{}", b"\r\n" + head(b"{}")],
)
def test_heads_as_others_write_them(text: bytes) -> None:
    assert fed(ContentLength(LIMIT), text) == [b"{}"]


@pytest.mark.parametrize(
    "text",
    [
        b"{}\n\n",
        b"Content-Length: -2\r\n\r\n{}",
        b"Content-Length: two\r\n\r\n{}",
        b"Content-Length: 99999999999999999999\r\n\r\n",
        b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"Content-Type: a\r\n\r\n{}",
        b"x" * 9000,
    ],
)
def test_without_a_length_nothing_more_can_be_read(text: bytes) -> None:
    framing = ContentLength(LIMIT)
    (fault,) = framing.feed(text)
    assert fault.lost
    assert framing.feed(head(b"{}")) == []
    assert framing.end() == []


def test_a_length_that_lies_loses_the_way() -> None:
    first, fault = fed(ContentLength(LIMIT), b'Content-Length: 3\r\n\r\n{"a":1}\r\n\r\n' + head(b"{}"))
    assert (first, fault.lost) == (b'{"a', True)


@pytest.mark.parametrize("text", [b"Content-Length: 5\r\n\r\n{}", b"Content-Len"])
def test_the_end_in_the_middle_of_a_message_is_noticed(text: bytes) -> None:
    (fault,) = fed(ContentLength(LIMIT), text)
    assert fault == FramingFault("the stream ended in the middle of a message", lost=True)
