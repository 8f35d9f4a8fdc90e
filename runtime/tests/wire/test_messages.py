"""Texts from a wire: which are messages, and with which error the others are answered."""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.wire.messages import PlainRequest, RefusedMessage, parse, parse_request
from longwire.wire.streams import InFlight

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


async def test_ids_in_flight() -> None:
    ids = InFlight()
    ids.begin(7)
    ids.begin("a")
    for again in (7, "7", "a"):
        with pytest.raises(RefusedMessage, match="still in flight") as refused:
            ids.begin(again)
        assert refused.value.request_id is None  # under it the first one's answer is still due
    ids.end("7")
    ids.begin(7)
    assert len(ids) == 2


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
