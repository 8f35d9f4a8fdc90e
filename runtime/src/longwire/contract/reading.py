"""Frames read as envelopes, and checked: a sentence says what is wrong with one.

Unknown fields are ignored. A document with an unknown event is read as `Unknown`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, Final, NamedTuple

from longwire.contract.envelopes import (
    MODE,
    Bye,
    Cancel,
    CloseStream,
    Drain,
    Failure,
    FromRuntime,
    FromWorker,
    Json,
    Message,
    Messages,
    Notified,
    Notify,
    Ping,
    Pong,
    Response,
    Result,
    RuntimeHello,
    SessionEnd,
    Unknown,
    WorkerHello,
)
from longwire.contract.frames import FrameError, check_values, decode
from longwire.text import quoted


class EnvelopeError(FrameError):
    """A frame whose document is not as the contract has it."""


REQUIRED: Final = object()  # the default of a field that can't be left out
_TEXT: Final[frozenset[type]] = frozenset({str})
_TEXT_OR_NULL: Final[frozenset[type]] = frozenset({str, type(None)})
_COUNT: Final[frozenset[type]] = frozenset({int})
_SWITCH: Final[frozenset[type]] = frozenset({bool})
_OBJECT: Final[frozenset[type]] = frozenset({dict})
_OBJECT_OR_NULL: Final[frozenset[type]] = frozenset({dict, type(None)})
_LIST: Final[frozenset[type]] = frozenset({list})
_WORDS: Final = {
    _TEXT: "a string",
    _TEXT_OR_NULL: "a string or null",
    _COUNT: "an integer",
    _SWITCH: "true or false",
    _OBJECT: "an object",
    _OBJECT_OR_NULL: "an object or null",
    _LIST: "an array",
}


class Field(NamedTuple):
    """A field of an envelope, and its value where it is left out."""

    name: str
    types: frozenset[type]
    default: Any = REQUIRED


class EnvelopeKind(NamedTuple):
    """The form of one event: its record, its fields in the record's order, and a further check."""

    record: Callable[..., Any]
    fields: tuple[Field, ...]
    check: Callable[[list[Any]], None] | None = None


def _reply_problem(reply: Json) -> str | None:
    """A sentence about a fault in the JSON-RPC reply to a request; None: there is none."""
    if reply.get("jsonrpc") != "2.0":
        return "has no 'jsonrpc' of \"2.0\""
    if "method" in reply:
        return "is no reply: it has a 'method'"
    if ("result" in reply) == ("error" in reply):
        return "should have either a 'result' or an 'error'"
    if "id" not in reply:
        return "has no 'id'"
    if "result" in reply:
        return None if type(reply["result"]) is dict else "has a 'result' that is no object"
    error = reply["error"]
    if type(error) is not dict or type(error.get("code")) is not int or type(error.get("message")) is not str:
        return "has an 'error' without a 'code' and a 'message'"
    return None


def _check_message(values: list[Any]) -> None:
    principal, request = values[7], values[10]
    if type(principal.get("key")) is not str:
        raise EnvelopeError("the 'principal' of 'message' has no 'key'")
    if type(request.get("method")) is not str:
        raise EnvelopeError("the 'jsonrpc' of 'message' has no 'method'")


def _check_response(values: list[Any]) -> None:
    if (problem := _reply_problem(values[1])) is not None:
        raise EnvelopeError(f"the 'jsonrpc' of 'response' {problem}")


def _check_worker_hello(values: list[Any]) -> None:
    if values[3] < 1:
        raise EnvelopeError(f"the 'max_in_flight' of 'hello' is {values[3]}: it should be 1 or more")
    _check_choice("hello", "affinity", values[4], ("none", "session"))


def _check_close_stream(values: list[Any]) -> None:
    _check_choice("close_stream", "stream", values[1], ("call", "get"))


def _check_messages(values: list[Any]) -> None:
    values[1] = _data(values[1], "messages")


def _check_notify(values: list[Any]) -> None:
    values[1] = _data(values[1], "notify")


def _check_result(values: list[Any]) -> None:
    _, _, mode, session, messages, reply = values
    if mode is not None:
        _check_choice("result", "response_mode", mode, ("json", "sse"))
    if session is not None:
        if type(session.get("create", True)) is not bool:
            raise EnvelopeError("the 'session.create' of 'result' should be true or false")
        if type(session.get("state", {})) is not dict:
            raise EnvelopeError("the 'session.state' of 'result' should be an object")
    if messages:
        values[4] = _data(messages, "result")
    if reply is not None and (problem := _reply_problem(reply)) is not None:
        raise EnvelopeError(f"the 'jsonrpc' of 'result' {problem}")


def _check_choice(event: str, name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise EnvelopeError(f"the '{name}' of '{event}' is {quoted(value)}: use {' or '.join(choices)}")


def _data(messages: list[Any], event: str) -> list[Json]:
    """The JSON-RPC messages inside, each a notification or a request."""
    found = []
    for entry in messages:
        data = entry.get("data") if type(entry) is dict and entry.get("type") == "jsonrpc" else None
        if type(data) is not dict or data.get("jsonrpc") != "2.0" or type(data.get("method")) is not str:
            raise EnvelopeError(
                f"an entry in the 'messages' of '{event}' is no "
                '{"type": "jsonrpc", "data": a notification or request}'
            )
        found.append(data)
    return found


_ID: Final = Field("id", _TEXT)
_NOTHING: Final[list[Any]] = []  # never changed

FROM_RUNTIME: Final[Mapping[str, EnvelopeKind]] = {
    "hello": EnvelopeKind(
        RuntimeHello,
        (Field("contract", _COUNT), Field("runtime", _OBJECT, {}), Field("label", _TEXT, "")),
    ),
    "message": EnvelopeKind(
        Message,
        (
            _ID,
            Field("session_id", _TEXT_OR_NULL, None),
            Field("transport", _TEXT, "streamable_http"),
            Field("http_method", _TEXT, "POST"),
            Field("path", _TEXT, "/mcp"),
            Field("protocol_version", _TEXT),
            Field("headers", _OBJECT, {}),
            Field("principal", _OBJECT),
            Field("client", _OBJECT_OR_NULL, None),
            Field("session", _OBJECT_OR_NULL, None),
            Field("jsonrpc", _OBJECT),
        ),
        _check_message,
    ),
    "response": EnvelopeKind(Response, (_ID, Field("jsonrpc", _OBJECT)), _check_response),
    "cancel": EnvelopeKind(Cancel, (_ID, Field("reason", _TEXT, ""))),
    "session_end": EnvelopeKind(SessionEnd, (Field("session_id", _TEXT), Field("reason", _TEXT, ""))),
    "notified": EnvelopeKind(Notified, (_ID, Field("outcome", _TEXT))),
    "ping": EnvelopeKind(Ping, (_ID,)),
    "drain": EnvelopeKind(Drain, ()),
}

FROM_WORKER: Final[Mapping[str, EnvelopeKind]] = {
    "hello": EnvelopeKind(
        WorkerHello,
        (
            Field("contract", _COUNT),
            Field("name", _TEXT),
            Field("version", _TEXT, ""),
            Field("max_in_flight", _COUNT, 64),
            Field("affinity", _TEXT, "none"),
        ),
        _check_worker_hello,
    ),
    "messages": EnvelopeKind(Messages, (_ID, Field("messages", _LIST)), _check_messages),
    "result": EnvelopeKind(
        Result,
        (
            _ID,
            Field("handled", _SWITCH, True),
            Field("response_mode", _TEXT_OR_NULL, None),
            Field("session", _OBJECT_OR_NULL, None),
            Field("messages", _LIST, _NOTHING),
            Field("jsonrpc", _OBJECT_OR_NULL, None),
        ),
        _check_result,
    ),
    "error": EnvelopeKind(
        Failure, (_ID, Field("error", _TEXT), Field("error_class", _TEXT, "worker_runtime_error"))
    ),
    "close_stream": EnvelopeKind(CloseStream, (_ID, Field("stream", _TEXT, "call")), _check_close_stream),
    "notify": EnvelopeKind(
        Notify,
        (
            Field("session_id", _TEXT_OR_NULL, None),
            Field("messages", _LIST),
            Field("id", _TEXT_OR_NULL, None),
        ),
        _check_notify,
    ),
    "pong": EnvelopeKind(Pong, (_ID,)),
    "bye": EnvelopeKind(Bye, (Field("reason", _TEXT, ""),)),
}


def from_runtime(text: bytes) -> FromRuntime:
    """The envelope in a frame of the runtime; raises FrameError and EnvelopeError."""
    found: FromRuntime = _read(FROM_RUNTIME, decode(text))
    return found


def from_worker(text: bytes) -> FromWorker:
    """The envelope in a frame of a worker; raises FrameError and EnvelopeError."""
    check_values(text)
    found: FromWorker = _read(FROM_WORKER, decode(text))
    return found


def _read(kinds: Mapping[str, EnvelopeKind], document: Json) -> Any:
    event = document.get("event")
    kind = kinds.get(event) if type(event) is str else None
    if document.get("mode") != MODE:
        raise EnvelopeError(f"a frame without the mode '{MODE}'")
    if kind is None:
        if type(event) is not str:
            raise EnvelopeError("a frame without an 'event'")
        return Unknown(event)
    values = _whole(kind, document) or _each(kind, document)
    if kind.check is not None:
        kind.check(values)
    return kind.record(*values)


def _whole(kind: EnvelopeKind, document: Json) -> list[Any] | None:
    """The values of all fields, if none is missing and their types were found right before."""
    take = _TAKES.get(kind.record)
    if take is None or len(document) < len(kind.fields):
        return None
    try:
        values = take(document)
    except KeyError:
        return None
    return list(values) if tuple(map(type, values)) in _RIGHT else None


def _each(kind: EnvelopeKind, document: Json) -> list[Any]:
    """The values of all fields, each checked by itself."""
    values = []
    for name, types, default in kind.fields:
        value = document.get(name, default)
        if type(value) not in types:
            problem = "is missing" if value is REQUIRED else f"should be {_WORDS[types]}"
            raise EnvelopeError(f"the '{name}' of '{document['event']}' {problem}")
        values.append(value)
    if kind.record in _TAKES:
        _RIGHT.add(tuple(map(type, values)))
    return values


# The two events that every call has. Their fields have few types each, so there are few combinations; the
# two have different numbers of fields, so no combination fits both.
_TAKES: Final[Mapping[Callable[..., Any], Callable[[Json], tuple[Any, ...]]]] = {
    kind.record: itemgetter(*(field.name for field in kind.fields))
    for kind in (FROM_RUNTIME["message"], FROM_WORKER["result"])
}
_RIGHT: Final[set[tuple[type, ...]]] = set()
