"""Frames of every event; those that are on the way of each call are written from templates.

A JSON-RPC message is passed as its JSON text, because its owner usually has that already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import pydantic_core

from longwire.contract.envelopes import CONTRACT, FROM_RUNTIME, FROM_WORKER, MODE, RuntimeHello
from longwire.contract.frames import FrameError, frame

_EVENTS: Final = {record: event for kinds in (FROM_RUNTIME, FROM_WORKER) for event, record in kinds.items()}
_NULL: Final = b"null"
_MESSAGE: Final = b'{"mode":"mcp","event":"message","id":%b,%b,"jsonrpc":%b}'
_RESPONSE: Final = b'{"mode":"mcp","event":"response","id":%b,"jsonrpc":%b}'
_MESSAGES: Final = b'{"mode":"mcp","event":"messages","id":%b,"messages":[%b]}'
_NOTIFY: Final = b'{"mode":"mcp","event":"notify","session_id":%b,"messages":[%b],"id":%b}'
_ENTRY: Final = b'{"type":"jsonrpc","data":%b}'
_RESULT: Final = (  # with all fields: the reader is quickest then
    b'{"mode":"mcp","event":"result","id":%b,"handled":true,"response_mode":null,"session":%b,'
    b'"messages":[],"jsonrpc":%b}'
)


def json_text(value: Any) -> bytes:
    """A value as JSON; raises FrameError if JSON can't hold it."""
    try:
        return pydantic_core.to_json(value, inf_nan_mode="null")
    except ValueError as error:
        raise FrameError(f"a document that JSON can't hold: {error}") from error


def encode(document: Mapping[str, Any]) -> bytes:
    """A JSON object as a frame; raises FrameError if it is too long or JSON can't hold it."""
    return frame(json_text(document))


def _id(call: str) -> bytes:
    # The runtime's own ids are digits, and need no escapes.
    return b'"%b"' % call.encode() if call.isascii() and call.isalnum() else json_text(call)


def _entries(messages: Iterable[bytes]) -> bytes:
    return b",".join([_ENTRY % message for message in messages])


def envelope(record: NamedTuple) -> bytes:
    """Any envelope as a frame. Those with JSON text inside have functions of their own, which are quicker."""
    return encode({"mode": MODE, "event": _EVENTS[type(record)], **record._asdict()})


def runtime_hello(name: str, version: str, label: str, cluster: str | None = None) -> bytes:
    """The runtime's first frame; `cluster` names the nodes that it is one of."""
    runtime = {"name": name, "version": version, **({} if cluster is None else {"cluster": cluster})}
    return envelope(RuntimeHello(CONTRACT, runtime, label))


def circumstances(*, headers: Mapping[str, str], **fields: Any) -> bytes:
    """All fields of `message` but `id` and `jsonrpc`, as JSON members; the same ones may serve many calls."""
    named = {"transport": "streamable_http", "http_method": "POST", **fields}
    return json_text({**named, "headers": headers})[1:-1]  # they are the last: see with_headers()


def with_headers(members: bytes, headers: bytes) -> bytes:
    """The members of circumstances() with headers that are another call by call: JSON members and a brace."""
    return b"%b%b%b" % (members[:-1], b"" if members.endswith(b"{}") else b",", headers)


def message(call: str, members: bytes, jsonrpc: bytes) -> bytes:
    """A client's request or notification; `members` are those of circumstances()."""
    return frame(_MESSAGE % (_id(call), members, jsonrpc))


def response(call: str, jsonrpc: bytes) -> bytes:
    """The client's answer to a request of the worker."""
    return frame(_RESPONSE % (_id(call), jsonrpc))


def messages(call: str, sent: Iterable[bytes]) -> bytes:
    """Notifications and requests to the client of a call."""
    return frame(_MESSAGES % (_id(call), _entries(sent)))


def result(call: str, reply: bytes | None, session: Mapping[str, Any] | None = None) -> bytes:
    """The end of a call that was handled."""
    told = _NULL if session is None else json_text(session)
    return frame(_RESULT % (_id(call), told, reply or _NULL))


def notify(session_id: str | None, sent: Iterable[bytes], name: str | None = None) -> bytes:
    """Messages outside of a call, to one session or (None) to all; with a name it is answered."""
    return frame(_NOTIFY % (json_text(session_id), _entries(sent), json_text(name)))
