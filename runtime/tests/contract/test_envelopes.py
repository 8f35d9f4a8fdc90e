"""Envelopes: what is written is read back, what is wrong is refused with a sentence, the rest is ignored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from longwire.contract import envelopes, writing
from longwire.contract.envelopes import Sender, Unknown, schemas
from longwire.contract.frames import FrameDecoder, FrameError, decode
from longwire.contract.reading import (
    FROM_RUNTIME,
    FROM_WORKER,
    REQUIRED,
    EnvelopeError,
    EnvelopeKind,
    from_runtime,
    from_worker,
)
from longwire.contract.writing import encode

REQUEST: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
NOTE: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info"}}
REPLY: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "result": {}}
ERROR: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}}


def _text(frame: bytes) -> bytes:
    (text,) = FrameDecoder().texts(frame)
    return text


def _json(value: object) -> bytes:
    return writing.json_text(value)


MEMBERS: dict[str, Any] = {
    "session_id": "s",
    "protocol_version": "2025-11-25",
    "headers": {"accept": "*/*"},
    "principal": {"key": "token:ci", "scopes": [], "tools": None},
    "client": {"info": {"name": "c"}, "capabilities": {}},
    "session": {"state": {"a": 1}, "initialized": True},
}
STATE = {"state": {"a": 1}}
SENT = [{"type": "jsonrpc", "data": NOTE}]
UNHANDLED = encode(
    {"mode": "mcp", "event": "result", "id": "17", "handled": False, "response_mode": "sse", "messages": SENT}
)


def _plain(*records: Any) -> list[tuple[bytes, Any]]:
    """Envelopes that are written from their records."""
    return [(writing.envelope(record), record) for record in records]


# A frame as its sender writes it, and what its reader makes of it.
WRITTEN: dict[Sender, list[tuple[bytes, Any]]] = {
    "runtime": [
        (
            writing.runtime_hello("longwire", "1", "w1"),
            envelopes.RuntimeHello(1, {"name": "longwire", "version": "1"}, "w1"),
        ),
        (
            writing.message("17", writing.circumstances(path="/mcp", **MEMBERS), _json(REQUEST)),
            envelopes.Message(id="17", jsonrpc=REQUEST, **MEMBERS),
        ),
        (writing.response("17", _json(ERROR)), envelopes.Response("17", ERROR)),
        *_plain(envelopes.Cancel("17", "gone"), envelopes.SessionEnd("s", "expired")),
        *_plain(envelopes.Notified("n", "queued"), envelopes.Ping("p1"), envelopes.Drain()),
    ],
    "worker": [
        (writing.messages("17", [_json(NOTE), _json(REQUEST)]), envelopes.Messages("17", [NOTE, REQUEST])),
        (writing.result("17", _json(REPLY)), envelopes.Result("17", jsonrpc=REPLY)),
        (writing.result("17", _json(REPLY), STATE), envelopes.Result("17", session=STATE, jsonrpc=REPLY)),
        (writing.result("17", None), envelopes.Result("17")),
        (UNHANDLED, envelopes.Result("17", False, "sse", None, [NOTE], None)),
        (writing.notify("s", [_json(NOTE)], "n"), envelopes.Notify([NOTE], "s", "n")),
        *_plain(envelopes.WorkerHello(1, "mine", "2", 8, "session"), envelopes.Pong("p1")),
        *_plain(envelopes.Failure("17", "it broke", "app_contract_error")),
        *_plain(envelopes.CloseStream("17"), envelopes.Bye("old")),
    ],
}


def _fits(sender: Sender, document: dict[str, Any]) -> bool:
    return Draft202012Validator(schemas(sender)[document["event"]]).is_valid(document)


@pytest.mark.parametrize("sender", WRITTEN)
def test_what_is_written_is_read_and_fits_its_schema(sender: Sender) -> None:
    texts = {_text(frame): record for frame, record in WRITTEN[sender]}
    for text, record in texts.items():
        assert (from_runtime(text) if sender == "runtime" else from_worker(text)) == record
        assert _fits(sender, decode(text))
    assert {decode(text)["event"] for text in texts} == schemas(sender).keys()


def test_a_notification_needs_no_session_and_no_id() -> None:
    old = {"mode": "mcp", "event": "notify", "messages": [{"type": "jsonrpc", "data": NOTE}]}
    assert from_worker(_json(old)) == envelopes.Notify([NOTE])


_TYPES = {str: "string", int: "integer", bool: "boolean", dict: "object", list: "array", type(None): "null"}


@pytest.mark.parametrize(("sender", "kinds"), [("runtime", FROM_RUNTIME), ("worker", FROM_WORKER)])
def test_schemas_have_the_fields_that_are_read(sender: Sender, kinds: Mapping[str, EnvelopeKind]) -> None:
    assert list(schemas(sender)) == list(kinds)
    for event, kind in kinds.items():
        schema = schemas(sender)[event]
        Draft202012Validator.check_schema(schema)
        assert schema["description"] == kind.record.__doc__
        fields = {name: field["type"] for name, field in schema["properties"].items() if "type" in field}
        assert {name: {kind} if isinstance(kind, str) else set(kind) for name, kind in fields.items()} == {
            field.name: {_TYPES[each] for each in field.types} for field in kind.fields
        }
        required = [field.name for field in kind.fields if field.default is REQUIRED]
        assert set(schema["required"]) == {"mode", "event", *required}


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


def test_unknown_fields_are_ignored_and_an_unknown_event_is_no_error() -> None:
    assert from_worker(_worker("pong", id="p", later=1)) == envelopes.Pong("p")
    assert from_runtime(_worker("drain", within=5)) == envelopes.Drain()
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
        (_worker("notify", messages=[{"type": "jsonrpc", "data": REPLY}]), "an entry in the 'messages' of"),
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
    document = decode(text)
    assert document.get("event") not in schemas("worker") or not _fits("worker", document)


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
