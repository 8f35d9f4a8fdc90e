"""Envelopes: what is written is read back, what is wrong is refused with a sentence, the rest is ignored."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.contract import envelopes, writing
from longwire.contract.envelopes import Unknown
from longwire.contract.frames import FrameDecoder, FrameError, encode
from longwire.contract.reading import EnvelopeError, from_runtime, from_worker

REQUEST: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
NOTE: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info"}}
REPLY: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "result": {}}
ERROR: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}}


def _text(frame: bytes) -> bytes:
    (text,) = FrameDecoder().feed(frame)
    return text


def _json(value: object) -> bytes:
    return writing.json_text(value)


def test_everything_of_the_runtime_is_read_as_written() -> None:
    members = writing.circumstances(
        session_id="s",
        protocol_version="2025-11-25",
        headers={"accept": "*/*"},
        principal={"key": "token:ci", "scopes": [], "tools": None},
        client={"info": {"name": "c"}, "capabilities": {}},
        session={"state": {"a": 1}, "initialized": True},
    )
    assert from_runtime(_text(writing.runtime_hello("longwire", "1", "w1"))) == envelopes.RuntimeHello(
        1, {"name": "longwire", "version": "1"}, "w1"
    )
    assert from_runtime(_text(writing.message("17", members, _json(REQUEST)))) == envelopes.Message(
        "17",
        "s",
        "streamable_http",
        "POST",
        "/mcp",
        "2025-11-25",
        {"accept": "*/*"},
        {"key": "token:ci", "scopes": [], "tools": None},
        {"info": {"name": "c"}, "capabilities": {}},
        {"state": {"a": 1}, "initialized": True},
        REQUEST,
    )
    assert from_runtime(_text(writing.response("17", _json(ERROR)))) == envelopes.Response("17", ERROR)
    assert from_runtime(_text(writing.cancel("17", "gone"))) == envelopes.Cancel("17", "gone")
    assert from_runtime(_text(writing.session_end("s", "expired"))) == envelopes.SessionEnd("s", "expired")
    assert from_runtime(_text(writing.ping("p1"))) == envelopes.Ping("p1")
    assert from_runtime(_text(writing.drain())) == envelopes.Drain()


def test_everything_of_a_worker_is_read_as_written() -> None:
    hello = writing.worker_hello("mine", "2", 8, "session")
    assert from_worker(_text(hello)) == envelopes.WorkerHello(1, "mine", "2", 8, "session")
    sent = writing.messages("17", [_json(NOTE), _json(REQUEST)])
    assert from_worker(_text(sent)) == envelopes.Messages("17", [NOTE, REQUEST])
    plain = writing.result("17", _json(REPLY))
    assert from_worker(_text(plain)) == envelopes.Result("17", True, None, None, [], REPLY)
    full = writing.result(
        "17", _json(REPLY), sent=[_json(NOTE)], session={"state": {"a": 1}}, response_mode="sse"
    )
    assert from_worker(_text(full)) == envelopes.Result("17", True, "sse", {"state": {"a": 1}}, [NOTE], REPLY)
    silent = writing.result("17", None)
    assert from_worker(_text(silent)) == envelopes.Result("17", True, None, None, [], None)
    unhandled = from_worker(
        _text(encode({"mode": "mcp", "event": "result", "id": "17", "handled": False, "jsonrpc": None}))
    )
    assert isinstance(unhandled, envelopes.Result)
    assert not unhandled.handled
    failed = writing.failure("17", "it broke", "app_contract_error")
    assert from_worker(_text(failed)) == envelopes.Failure("17", "it broke", "app_contract_error")
    assert from_worker(_text(writing.notify("s", [_json(NOTE)], "n"))) == envelopes.Notify("s", [NOTE], "n")
    old = {"mode": "mcp", "event": "notify", "messages": [{"type": "jsonrpc", "data": NOTE}]}
    assert from_worker(_json(old)) == envelopes.Notify(None, [NOTE], None)
    assert from_worker(_text(writing.pong("p1"))) == envelopes.Pong("p1")
    assert from_worker(_text(writing.bye("old"))) == envelopes.Bye("old")


@given(st.text())
def test_any_text_may_be_an_id(call: str) -> None:
    try:
        call.encode()
    except UnicodeEncodeError:
        return
    found = from_worker(_text(writing.result(call, None)))
    assert isinstance(found, envelopes.Result)
    assert found.id == call


def _worker(event: str, **fields: object) -> bytes:
    return _text(encode({"mode": "mcp", "event": event, **fields}))


def test_unknown_fields_are_ignored() -> None:
    assert from_worker(_worker("pong", id="p", later=1)) == envelopes.Pong("p")
    assert from_runtime(_worker("drain", within=5)) == envelopes.Drain()


def test_an_unknown_event_is_no_error() -> None:
    assert from_worker(_worker("later")) == Unknown("later")
    assert from_runtime(_worker("later")) == Unknown("later")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (_text(encode({"event": "pong", "id": "1"})), "a frame without the mode 'mcp'"),
        (_text(encode({"mode": "mcp"})), "a frame without an 'event'"),
        (_text(encode({"mode": "mcp", "event": 5})), "a frame without an 'event'"),
        (_worker("pong"), "the 'id' of 'pong' is missing"),
        (_worker("pong", id=7), "the 'id' of 'pong' should be a string"),
        (_worker("hello", contract=1, name="x", max_in_flight=0), "'max_in_flight' of 'hello' is 0"),
        (_worker("hello", contract=True, name="x"), "'contract' of 'hello' should be an integer"),
        (_worker("hello", contract=1, name="x", affinity="client"), "is 'client': use none or session"),
        (_worker("messages", id="1", messages=[NOTE]), "an entry in the 'messages' of 'messages' is no"),
        (
            _worker("messages", id="1", messages=[{"type": "jsonrpc", "data": REPLY}]),
            "an entry in the 'messages' of 'messages' is no",
        ),
        (_worker("notify", messages={}), "the 'messages' of 'notify' should be an array"),
        (_worker("result", id="1", handled="yes"), "the 'handled' of 'result' should be true or false"),
        (_worker("result", id="1", response_mode="xml"), "is 'xml': use json or sse"),
        (_worker("result", id="1", session={"create": 1}), "'session.create' of 'result' should be"),
        (_worker("result", id="1", session={"state": []}), "'session.state' of 'result' should be"),
        (_worker("result", id="1", jsonrpc={}), "has no 'jsonrpc' of \"2.0\""),
        (_worker("result", id="1", jsonrpc=NOTE), "is no reply: it has a 'method'"),
        (_worker("result", id="1", jsonrpc={**REPLY, **ERROR}), "either a 'result' or an 'error'"),
        (_worker("result", id="1", jsonrpc={"jsonrpc": "2.0", "result": {}}), "has no 'id'"),
        (_worker("result", id="1", jsonrpc={**REPLY, "result": []}), "a 'result' that is no object"),
        (_worker("result", id="1", jsonrpc={**ERROR, "error": {}}), "an 'error' without a 'code'"),
    ],
)
def test_what_a_worker_may_not_send(text: bytes, sentence: str) -> None:
    with pytest.raises(EnvelopeError) as refused:
        from_worker(text)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"principal": {}}, "the 'principal' of 'message' has no 'key'"),
        ({"headers": []}, "the 'headers' of 'message' should be an object"),
        ({"jsonrpc": {}}, "the 'jsonrpc' of 'message' has no 'method'"),
        ({"session": 5}, "the 'session' of 'message' should be an object or null"),
    ],
)
def test_what_the_runtime_may_not_send(fields: dict[str, object], sentence: str) -> None:
    right = {"id": "1", "protocol_version": "2025-11-25", "principal": {"key": "address:a"}}
    with pytest.raises(EnvelopeError, match=sentence):
        from_runtime(_worker("message", **{**right, "jsonrpc": REQUEST, **fields}))


def test_types_that_were_right_before_are_checked_for_each_event() -> None:
    wrongs: list[dict[str, Any]] = [{"id": 5}, {"handled": None}, {"messages": None}, {"jsonrpc": []}]
    for wrong in wrongs:
        full = {"id": "1", "handled": True, "response_mode": None, "session": None, "messages": []}
        whole = {**full, "jsonrpc": REPLY}
        assert from_worker(_worker("result", **whole)) == from_worker(_worker("result", **whole))
        with pytest.raises(EnvelopeError):
            from_worker(_worker("result", **{**whole, **wrong}))


@given(
    st.dictionaries(
        st.sampled_from(["mode", "event", "id", "messages", "session", "jsonrpc", "contract", "name"]),
        st.sampled_from(["mcp", "hello", "result", "messages", "notify", 1, None, [], {}, [{}], {"id": 1}]),
    )
)
def test_any_document_is_read_or_refused(document: dict[str, object]) -> None:
    for read in (from_worker, from_runtime):
        try:
            read(_text(encode(document)))
        except FrameError:
            continue  # and nothing else is ever raised
