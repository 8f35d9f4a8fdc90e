"""JSON Schemas of every envelope: the fields that envelopes.py reads, and what is said of them here.

The tables of the contract's page are made of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias, get_args

from longwire.contract.envelopes import CONTRACT, ERROR_CLASSES, MODE, SESSION_ENDS, NotifyOutcome
from longwire.contract.reading import FROM_RUNTIME, FROM_WORKER, Kind, is_required

Schema: TypeAlias = dict[str, Any]
Sender: TypeAlias = Literal["runtime", "worker"]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_NOTIFICATION: Final[Schema] = {
    "type": "object",
    "properties": {
        "jsonrpc": {"const": "2.0"},
        "id": {"type": ["string", "integer"]},
        "method": {"type": "string"},
        "params": {"type": "object"},
    },
    "required": ["jsonrpc", "method"],
}
_REPLY: Final[Schema] = {
    "type": "object",
    "properties": {
        "jsonrpc": {"const": "2.0"},
        "id": {"type": ["string", "integer", "null"]},
        "result": {"type": "object"},
        "error": {
            "type": "object",
            "properties": {"code": {"type": "integer"}, "message": {"type": "string"}},
            "required": ["code", "message"],
        },
    },
    "required": ["jsonrpc", "id"],
    "oneOf": [{"required": ["result"]}, {"required": ["error"]}],
    "not": {"required": ["method"]},
}
_ENTRIES: Final[Schema] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"type": {"const": "jsonrpc"}, "data": _NOTIFICATION},
        "required": ["type", "data"],
    },
}
_PRINCIPAL: Final[Schema] = {
    "type": "object",
    "properties": {
        "key": {"type": "string", "description": "`token:NAME`, or `address:HOST` without a token"},
        "scopes": {"type": "array", "items": {"type": "string"}},
        "tools": {
            "type": ["array", "null"],
            "items": {"type": "string"},
            "description": "names and patterns of the tools that it may use; null: all",
        },
    },
    "required": ["key"],
}
_CLIENT: Final[Schema] = {
    "type": ["object", "null"],
    "properties": {"info": {"type": ["object", "null"]}, "capabilities": {"type": "object"}},
}
_TOLD: Final[Schema] = {
    "type": ["object", "null"],
    "properties": {"state": {"type": "object"}, "initialized": {"type": "boolean"}},
}
_SAID: Final[Schema] = {
    "type": ["object", "null"],
    "properties": {"create": {"type": "boolean"}, "state": {"type": "object"}},
}
_CALL_ID: Final[Schema] = {"description": "the call's id, as `message` had it"}
_VERSION: Final[Schema] = {"const": CONTRACT}

# What is known of a field besides its type, by sender and event.
_MORE: Final[Mapping[Sender, Mapping[str, Mapping[str, Schema]]]] = {
    "runtime": {
        "hello": {
            "contract": _VERSION,
            "runtime": {
                "description": "`name` and `version` of the runtime; `cluster`, if it is a node of one"
            },
            "label": {"description": "what the runtime calls this worker"},
        },
        "message": {
            "id": {"description": "names the call in every later frame about it"},
            "session_id": {"description": "null: no session (stateless, or an `initialize`)"},
            "transport": {"description": "`streamable_http`"},
            "http_method": {"description": "`POST`"},
            "path": {"description": "where the client sent it, such as `/mcp`"},
            "protocol_version": {"description": "the version of MCP that holds for the message"},
            "headers": {
                "additionalProperties": {"type": "string"},
                "description": "in lower case; those about the message alone, none that holds a secret",
            },
            "principal": {**_PRINCIPAL, "description": "who sent it"},
            "client": {**_CLIENT, "description": "what the client says about itself"},
            "session": {**_TOLD, "description": "what the runtime keeps for the session"},
            "jsonrpc": {**_NOTIFICATION, "description": "the client's request or notification"},
        },
        "response": {
            "id": _CALL_ID,
            "jsonrpc": {**_REPLY, "description": "the client's reply, under the worker's own id"},
        },
        "cancel": {"id": _CALL_ID, "reason": {"description": "a sentence"}},
        "session_end": {
            "session_id": {},
            "reason": {"description": "one of " + ", ".join(SESSION_ENDS)},
        },
        "notified": {
            "id": {"description": "that of the `notify`"},
            "outcome": {
                "enum": list(get_args(NotifyOutcome)),
                "description": "what became of it; ignore one that you don't know",
            },
        },
        "ping": {"id": {"description": "to be repeated in `pong`"}},
        "drain": {},
    },
    "worker": {
        "hello": {
            "contract": _VERSION,
            "name": {"description": "what the worker calls itself"},
            "version": {"description": "its own version"},
            "max_in_flight": {"minimum": 1, "description": "calls that it takes at once"},
            "affinity": {
                "enum": ["none", "session"],
                "description": "session: all calls of a session should come to the same worker",
            },
        },
        "messages": {
            "id": _CALL_ID,
            "messages": {**_ENTRIES, "description": "notifications, or requests to the client"},
        },
        "result": {
            "id": _CALL_ID,
            "handled": {"description": "false: the method is unknown (-32601)"},
            "response_mode": {"enum": ["json", "sse", None], "description": "how the answer is written"},
            "session": {
                **_SAID,
                "description": "`create`: only with initialize; `state`: replaces the session's state",
            },
            "messages": {**_ENTRIES, "description": "sent before the reply"},
            "jsonrpc": {
                "anyOf": [_REPLY, {"type": "null"}],
                "description": "the reply; null for notifications",
            },
        },
        "error": {
            "id": _CALL_ID,
            "error": {"description": "one sentence for the log and the client"},
            "error_class": {"enum": list(ERROR_CLASSES)},
        },
        "close_stream": {
            "id": _CALL_ID,
            "stream": {
                "enum": ["call", "get"],
                "description": "call: that of the call itself; get: those that its session has open with GET",
            },
        },
        "notify": {
            "session_id": {"description": "null: all sessions"},
            "messages": {**_ENTRIES, "description": "notifications"},
            "id": {"description": "of the worker's choice: the runtime answers with `notified`"},
        },
        "pong": {"id": {"description": "that of the ping"}},
        "bye": {"reason": {"description": "a sentence"}},
    },
}
_TYPES: Final[Mapping[type, str]] = {
    str: "string",
    int: "integer",
    bool: "boolean",
    dict: "object",
    list: "array",
    type(None): "null",
}
_ORDER: Final = ("string", "integer", "boolean", "object", "array", "null")


def _field(types: frozenset[type], more: Schema) -> Schema:
    names = sorted((_TYPES[kind] for kind in types), key=_ORDER.index)
    return {"type": names[0] if len(names) == 1 else names, **more}


def _schema(sender: Sender, event: str, kind: Kind) -> Schema:
    more = _MORE[sender][event]
    fields = {field.name: _field(field.types, more[field.name]) for field in kind.fields}
    return {
        "$schema": DIALECT,
        "title": f"{event}, from the {sender}",
        "description": (kind.record.__doc__ or "").strip(),
        "type": "object",
        "properties": {"mode": {"const": MODE}, "event": {"const": event}, **fields},
        "required": ["mode", "event", *(field.name for field in kind.fields if is_required(field))],
    }


SCHEMAS: Final[Mapping[Sender, Mapping[str, Schema]]] = {
    "runtime": {event: _schema("runtime", event, kind) for event, kind in FROM_RUNTIME.items()},
    "worker": {event: _schema("worker", event, kind) for event, kind in FROM_WORKER.items()},
}


# ---- the reference --------------------------------------------------------------------------

_TITLES: Final[dict[Sender, str]] = {"runtime": "From the runtime", "worker": "From the worker"}
_OWN: Final = frozenset({"mode", "event"})  # fields that every envelope has


def tables() -> str:
    """All envelopes with their fields, as Markdown."""
    return "\n".join(line for sender in SCHEMAS for line in _of_sender(sender))


def _of_sender(sender: Sender) -> Iterator[str]:
    yield f"### {_TITLES[sender]}"
    yield ""
    yield "| event | field | type | |"
    yield "|---|---|---|---|"
    for event, schema in SCHEMAS[sender].items():
        yield f"| **`{event}`** | | | {schema['description']} |"
        for name, field in schema["properties"].items():
            if name not in _OWN:
                yield f"| | `{name}`{_optional(schema, name)} | {_type(field)} | {_meaning(field)} |"
    yield ""


def _optional(schema: Schema, name: str) -> str:
    return "" if name in schema["required"] else " (optional)"


def _type(field: Schema) -> str:
    kind = field["type"]
    return kind if isinstance(kind, str) else " or ".join(kind)


def _meaning(field: Schema) -> str:
    said = [str(field["description"])] if "description" in field else []
    if "const" in field:
        said.append(f"{field['const']}")
    elif "enum" in field:
        said.append("one of " + ", ".join(f"`{value}`" for value in field["enum"] if value is not None))
    return "; ".join(said)


def bundle() -> dict[str, Any]:
    """All schemas as one: an envelope is valid if it fits one of them."""
    parts = {
        f"{sender}-{event}": {name: part for name, part in schema.items() if name != "$schema"}
        for sender, found in SCHEMAS.items()
        for event, schema in found.items()
    }
    return {
        "$schema": DIALECT,
        "title": "Envelopes of Longwire's worker contract, version 1",
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in parts],
        "$defs": parts,
    }


def bundle_text() -> str:
    """The same as the text of a file."""
    return json.dumps(bundle(), indent=1, ensure_ascii=False) + "\n"
