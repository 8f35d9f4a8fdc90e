"""The classes of errors that end a call outside of JSON-RPC: one table, for code and documents."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

ErrorClass: TypeAlias = Literal[
    "transport_error",
    "worker_lost",
    "worker_timeout",
    "worker_queue_full",
    "worker_queue_timeout",
    "worker_protocol",
    "worker_runtime_error",
    "app_contract_error",
]

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
