"""Frames read as envelopes, and checked: a sentence says what is wrong with one.

Unknown fields are ignored. A document with an unknown event is read as `Unknown`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, get_args, get_origin, get_type_hints

from longwire.contract import envelopes
from longwire.contract.envelopes import MODE, Json
from longwire.contract.frames import FrameError, check_values, decode
from longwire.text import quoted


class EnvelopeError(FrameError):
    """A frame whose document is not as the contract has it."""


REQUIRED: Final = object()  # the default of a field that can't be left out
_WORDS: Final[Mapping[type, str]] = {
    str: "a string",
    int: "an integer",
    bool: "true or false",
    dict: "an object",
    list: "an array",
}


class Field(NamedTuple):
    """A field of an envelope, and its value where it is left out."""

    name: str
    types: tuple[type, ...]
    choices: tuple[str, ...]  # none: any
    default: Any


class EnvelopeKind(NamedTuple):
    """The form of one event: its record, its fields in the record's order, and a further check."""

    record: Callable[..., NamedTuple]
    fields: tuple[Field, ...]
    names: tuple[str, ...]
    defaults: tuple[Any, ...]
    choices: tuple[tuple[int, Field], ...]  # the fields that have some, by their places
    check: Callable[[list[Any]], None] | None
    right: set[tuple[type, ...]]  # combinations of types that were found right: there are few


def _kind(record: Any) -> EnvelopeKind:
    fields = []
    for name, hint in get_type_hints(record).items():
        parts = [hint] if get_origin(hint) in (None, dict, list, Literal) else get_args(hint)
        types = (str if get_origin(part) is Literal else get_origin(part) or part for part in parts)
        choices = [choice for part in parts if get_origin(part) is Literal for choice in get_args(part)]
        default = record._field_defaults.get(name, REQUIRED)
        fields.append(Field(name, tuple(types), tuple(choices), default))
    names, defaults = tuple(field.name for field in fields), tuple(field.default for field in fields)
    chosen = tuple((place, field) for place, field in enumerate(fields) if field.choices)
    return EnvelopeKind(record, tuple(fields), names, defaults, chosen, _CHECKS.get(record), set())


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
    _, _, principal, request, *_ = values
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


def _check_messages(values: list[Any]) -> None:
    values[1] = _data(values[1], "messages")


def _check_notify(values: list[Any]) -> None:
    values[0] = _data(values[0], "notify")


def _check_result(values: list[Any]) -> None:
    _, _, _, session, messages, reply = values
    if session is not None:
        if type(session.get("create", True)) is not bool:
            raise EnvelopeError("the 'session.create' of 'result' should be true or false")
        if type(session.get("state", {})) is not dict:
            raise EnvelopeError("the 'session.state' of 'result' should be an object")
    if messages:
        values[4] = _data(messages, "result")
    if reply is not None and (problem := _reply_problem(reply)) is not None:
        raise EnvelopeError(f"the 'jsonrpc' of 'result' {problem}")


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


_CHECKS: Final[Mapping[Any, Callable[[list[Any]], None]]] = {
    envelopes.Message: _check_message,
    envelopes.Response: _check_response,
    envelopes.WorkerHello: _check_worker_hello,
    envelopes.Messages: _check_messages,
    envelopes.Notify: _check_notify,
    envelopes.Result: _check_result,
}
FROM_RUNTIME: Final = {event: _kind(record) for event, record in envelopes.FROM_RUNTIME.items()}
FROM_WORKER: Final = {event: _kind(record) for event, record in envelopes.FROM_WORKER.items()}


def from_runtime(text: bytes) -> NamedTuple:
    """The envelope in a frame of the runtime; raises FrameError and EnvelopeError."""
    return _read(FROM_RUNTIME, decode(text))


def from_worker(text: bytes) -> NamedTuple:
    """The envelope in a frame of a worker; raises FrameError and EnvelopeError."""
    check_values(text)
    return _read(FROM_WORKER, decode(text))


def _read(kinds: Mapping[str, EnvelopeKind], document: Json) -> NamedTuple:
    event = document.get("event")
    if document.get("mode") != MODE:
        raise EnvelopeError(f"a frame without the mode '{MODE}'")
    if type(event) is not str:
        raise EnvelopeError("a frame without an 'event'")
    kind = kinds.get(event)
    if kind is None:
        return envelopes.Unknown(event)
    values = list(map(document.get, kind.names, kind.defaults))
    if (types := tuple(map(type, values))) not in kind.right:
        _check_types(kind, values, event)
        kind.right.add(types)
    for place, field in kind.choices:
        if (value := values[place]) is not None and value not in field.choices:
            raise EnvelopeError(
                f"the '{field.name}' of '{event}' is {quoted(value)}: use {' or '.join(field.choices)}"
            )
    if kind.check is not None:
        kind.check(values)
    return kind.record(*values)


def _check_types(kind: EnvelopeKind, values: list[Any], event: str) -> None:
    for (name, types, _, _), value in zip(kind.fields, values, strict=True):
        if type(value) not in types:
            expected = f"should be {_WORDS[types[0]]}{' or null' if type(None) in types else ''}"
            problem = "is missing" if value is REQUIRED else expected
            raise EnvelopeError(f"the '{name}' of '{event}' {problem}")
