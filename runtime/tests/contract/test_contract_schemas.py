"""Schemas of envelopes: valid, with the fields that are read, and true for everything that is written."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from longwire.contract import writing
from longwire.contract.frames import FrameDecoder, decode, encode
from longwire.contract.reading import FROM_RUNTIME, FROM_WORKER
from longwire.contract.schemas import SCHEMAS, Sender

_REPLY = b'{"jsonrpc":"2.0","id":1,"result":{}}'
_NOTE = b'{"jsonrpc":"2.0","method":"notifications/message"}'
_MEMBERS = writing.circumstances(
    session_id=None, protocol_version="2026-07-28", headers={"a": "b"}, principal={"key": "address:a"}
)
_WRITTEN: list[tuple[Sender, bytes]] = [
    ("runtime", writing.runtime_hello("longwire", "1", "w1")),
    ("runtime", writing.message("1", _MEMBERS, b'{"jsonrpc":"2.0","id":1,"method":"ping"}')),
    ("runtime", writing.response("1", _REPLY)),
    ("runtime", writing.cancel("1", "gone")),
    ("runtime", writing.session_end("s", "kicked")),
    ("runtime", writing.notified("n", "queued")),
    ("runtime", writing.ping("p")),
    ("runtime", writing.drain()),
    ("worker", writing.worker_hello("w", "1", 64, "none")),
    ("worker", writing.messages("1", [_NOTE])),
    ("worker", writing.result("1", _REPLY)),
    ("worker", writing.result("1", None, session={"state": {}}, response_mode="sse", sent=[_NOTE])),
    ("worker", encode({"mode": "mcp", "event": "result", "id": "1", "handled": False, "jsonrpc": None})),
    ("worker", writing.failure("1", "broken", "worker_runtime_error")),
    ("worker", writing.notify(None, [_NOTE])),
    ("worker", writing.pong("p")),
    ("worker", writing.close_stream("1")),
    ("worker", writing.bye("")),
]


def _document(frame: bytes) -> dict[str, Any]:
    (text,) = FrameDecoder().feed(frame)
    return decode(text)


def _fits(sender: Sender, document: dict[str, Any]) -> bool:
    return Draft202012Validator(SCHEMAS[sender][document["event"]]).is_valid(document)


@pytest.mark.parametrize("sender", ["runtime", "worker"])
def test_every_schema_is_one_and_says_what_its_fields_mean(sender: Sender) -> None:
    for schema in SCHEMAS[sender].values():
        Draft202012Validator.check_schema(schema)
        assert schema["description"]
    assert set(SCHEMAS[sender]) == set(FROM_RUNTIME if sender == "runtime" else FROM_WORKER)


@pytest.mark.parametrize(("sender", "frame"), _WRITTEN)
def test_what_is_written_fits_its_schema(sender: Sender, frame: bytes) -> None:
    assert _fits(sender, _document(frame))


def test_every_event_is_written_here() -> None:
    written = {(sender, _document(frame)["event"]) for sender, frame in _WRITTEN}
    assert written == {(sender, event) for sender, found in SCHEMAS.items() for event in found}


@pytest.mark.parametrize(
    "wrong",
    [
        {"jsonrpc": {"jsonrpc": "2.0", "id": 1}},
        {"jsonrpc": {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1, "message": ""}}},
        {"jsonrpc": {"jsonrpc": "2.0", "id": 1, "result": {}, "method": "x"}},
        {"jsonrpc": {"id": 1, "result": {}}},
        {"messages": [{"type": "text", "data": {}}]},
        {"response_mode": "xml"},
        {"session": {"create": "yes"}},
        {"id": 5},
    ],
)
def test_a_wrong_result_doesn_t_fit(wrong: dict[str, Any]) -> None:
    right = {"mode": "mcp", "event": "result", "id": "1", "jsonrpc": None}
    assert _fits("worker", right)
    assert not _fits("worker", {**right, **wrong})
