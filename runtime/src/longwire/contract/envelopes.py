"""Envelopes: what the frames between the runtime and a worker say, as records; how a worker is started.

    runtime ─► hello message response cancel session_end notified ping drain ─► worker
    runtime ◄─ hello messages result error close_stream notify pong bye ◄─ worker

reading.py makes them of frames, and checks them by these annotations and defaults; writing.py makes frames.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from longwire.errors import SettingsError

SOCKET_VARIABLE: Final = "LONGWIRE_WORKER_SOCKET"
LABEL_VARIABLE: Final = "LONGWIRE_WORKER_LABEL"
PARENT_VARIABLE: Final = "LONGWIRE_PARENT_PID"
_PLACEHOLDER: Final = "{socket}"


def command_words(command: str) -> list[str]:
    """The words of a command line; raises SettingsError."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise SettingsError(f"the worker's command '{command}' can't be read: {error}") from None
    if not words:
        raise SettingsError("the worker's command is empty: name a program")
    return words


def command_with_socket(command: Sequence[str], socket: str) -> list[str]:
    """The command with the path in the place of {socket}, or after --socket at the end."""
    if any(_PLACEHOLDER in word for word in command):
        return [word.replace(_PLACEHOLDER, socket) for word in command]
    return [*command, "--socket", socket]


def worker_environment(label: str, socket: str) -> dict[str, str]:
    """The variables of a worker that this process starts, besides its own."""
    return {SOCKET_VARIABLE: socket, LABEL_VARIABLE: label, PARENT_VARIABLE: str(os.getpid())}


ErrorClass: TypeAlias = Literal[
    "transport_error", "worker_lost", "worker_timeout", "worker_queue_full", "worker_queue_timeout",
    "worker_protocol", "worker_runtime_error", "app_contract_error",
]  # fmt: skip

# What each means. The client finds the word as `data.errorClass` of the error -32603.
ERROR_CLASSES: Final[dict[ErrorClass, str]] = {
    "transport_error": "the client's message is too long for a frame",
    "worker_lost": "the worker ended, or closed its connection, before it answered",
    "worker_timeout": "the worker did not answer in time; it was sent `cancel`",
    "worker_queue_full": "too many calls wait for a worker: try again after `Retry-After` (status 503)",
    "worker_queue_timeout": "the call waited too long for a worker (status 503)",
    "worker_protocol": "the worker broke this contract; its connection was closed",
    "worker_runtime_error": "the worker's code failed",
    "app_contract_error": "the worker's code returned something that it may not",
}
assert set(ERROR_CLASSES) == set(get_args(ErrorClass))


MODE: Final = "mcp"
LONGEST_STATE: Final = 64 << 10  # bytes of JSON that the runtime keeps with a session
CONTRACT: Final = 1
Json: TypeAlias = dict[str, Any]
Affinity: TypeAlias = Literal["none", "session"]
ResponseMode: TypeAlias = Literal["json", "sse"]
# What became of a notification outside of a call; `failed`: it may have reached nobody, or this node alone.
NotifyOutcome: TypeAlias = Literal["delivered", "queued", "failed", "unknown"]
_NO_FIELDS: Final[Json] = {}  # these two are never changed
_NO_MESSAGES: Final[list[Json]] = []


# ---- from the runtime -----------------------------------------------------------------------


class RuntimeHello(NamedTuple):
    """The first frame of a connection."""

    contract: int
    runtime: Json = _NO_FIELDS  # {"name", "version"}
    label: str = ""  # what the runtime calls this worker


class Message(NamedTuple):
    """A client's request or notification."""

    id: str  # of the call; every frame about it has the same
    protocol_version: str
    principal: Json  # {"key", "scopes", "tools"}
    jsonrpc: Json
    session_id: str | None = None
    transport: str = "streamable_http"
    http_method: str = "POST"
    path: str = "/mcp"
    headers: dict[str, str] = _NO_FIELDS  # names in lower case; only those about the message
    client: Json | None = None  # {"info", "capabilities"}
    session: Json | None = None  # {"state", "initialized"}; None: no session


class Response(NamedTuple):
    """The client's answer to a request that a call has sent to it."""

    id: str
    jsonrpc: Json


class Cancel(NamedTuple):
    """A call is over for its client; what still comes of it is dropped."""

    id: str
    reason: str = ""


class SessionEnd(NamedTuple):
    """A session has ended."""

    session_id: str
    reason: str = ""


class Notified(NamedTuple):
    """What became of a `notify` that had an id."""

    id: str
    outcome: str  # a NotifyOutcome


class Ping(NamedTuple):
    """Asks whether the worker is alive."""

    id: str


class Drain(NamedTuple):
    """No more calls will come: what runs may end."""


# ---- from the worker ------------------------------------------------------------------------


class WorkerHello(NamedTuple):
    """The answer to the runtime's hello."""

    contract: int
    name: str
    version: str = ""
    max_in_flight: int = 64
    affinity: Affinity = "none"


class Messages(NamedTuple):
    """Notifications and requests to the client of a call that runs."""

    id: str
    messages: list[Json]


class Result(NamedTuple):
    """The last frame of a call."""

    id: str
    handled: bool = True
    response_mode: ResponseMode | None = None
    session: Json | None = None  # {"create", "state"}
    messages: list[Json] = _NO_MESSAGES  # sent before the reply
    jsonrpc: Json | None = None  # the reply; None for notifications


class Failure(NamedTuple):
    """The last frame of a call that failed outside of JSON-RPC."""

    id: str
    error: str
    error_class: str = "worker_runtime_error"


class CloseStream(NamedTuple):
    """Ends the connection of a client that can come back, while its call goes on."""

    id: str
    stream: Literal["call", "get"] = "call"


class Notify(NamedTuple):
    """Messages outside of a call, to one session or to all, wherever they live."""

    messages: list[Json]
    session_id: str | None = None
    id: str | None = None  # to be repeated in `notified`; None: no answer is wanted


class Pong(NamedTuple):
    """The answer to a ping."""

    id: str


class Bye(NamedTuple):
    """The worker takes no more calls, and finishes what runs."""

    reason: str = ""


class Unknown(NamedTuple):
    """An event that this version of the contract doesn't have."""

    event: str


# The records by the words that frames have for them.
FROM_RUNTIME: Final[Mapping[str, type]] = {
    "hello": RuntimeHello,
    "message": Message,
    "response": Response,
    "cancel": Cancel,
    "session_end": SessionEnd,
    "notified": Notified,
    "ping": Ping,
    "drain": Drain,
}
FROM_WORKER: Final[Mapping[str, type]] = {
    "hello": WorkerHello,
    "messages": Messages,
    "result": Result,
    "error": Failure,
    "close_stream": CloseStream,
    "notify": Notify,
    "pong": Pong,
    "bye": Bye,
}


Sender: TypeAlias = Literal["runtime", "worker"]


def schemas_text() -> str:
    """The text of worker-contract.schema.json: an envelope is valid if it fits one of its schemas."""
    return files(__package__).joinpath("worker-contract.schema.json").read_text(encoding="utf-8")


def schemas(sender: Sender) -> dict[str, dict[str, Any]]:
    """The JSON Schemas of what a side sends, by event."""
    parts = json.loads(schemas_text())["$defs"].items()
    return {name.removeprefix(f"{sender}-"): part for name, part in parts if name.startswith(sender)}
