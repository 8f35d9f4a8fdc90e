"""Replies as bytes: results and errors of JSON-RPC, and the HTTP status that goes with an error."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import pydantic_core
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
from mcp_types import ErrorData, RequestId

from longwire.principals.limits import BUSY, RETRY_AFTER, STOPPING, UNAVAILABLE
from longwire.wire.http.request import HeaderList, Responder

JSON: Final = b"application/json"
_HEADER: Final = b"retry-after"

# Errors of a server that has no room now. Clients and proxies know what to do by the status.
_LATER: Final = {BUSY: 429, STOPPING: 503, UNAVAILABLE: 503}
_STATELESS: Final = {**ERROR_CODE_HTTP_STATUS, **_LATER}


class EncodedResult(dict[str, Any]):
    """A result that was sent before and is the same again; it is not to be changed."""

    __slots__ = ("source", "text")

    def __init__(self, result: Mapping[str, Any], source: object) -> None:
        """`source` is what it was made of."""
        super().__init__(result)
        self.text = pydantic_core.to_json(result, inf_nan_mode="null")
        self.source = source


def result_payload(request_id: RequestId, result: Mapping[str, Any]) -> bytes:
    if type(result) is EncodedResult:
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (pydantic_core.to_json(request_id), result.text)
    return pydantic_core.to_json({"jsonrpc": "2.0", "id": request_id, "result": result}, inf_nan_mode="null")


def error_payload(request_id: RequestId | None, code: int, message: str, data: Any = None) -> bytes:
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return pydantic_core.to_json({"jsonrpc": "2.0", "id": request_id, "error": error}, inf_nan_mode="null")


def notification_payload(method: str, params: Mapping[str, Any] | None) -> bytes:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    return pydantic_core.to_json(message, inf_nan_mode="null")


def status_of(error: ErrorData, *, stateless: bool) -> int:
    """The HTTP status of an error that is answered as JSON. In a session most are 200."""
    return (_STATELESS if stateless else _LATER).get(error.code, 200)


def status_of_code(code: int) -> int:
    """The HTTP status of a refusal by the stateless era's rules."""
    return _STATELESS.get(code, 400)


def headers_of(error: ErrorData) -> HeaderList:
    """The headers that go with an error: when to try again."""
    if error.code not in _LATER:
        return ()
    return (retry_after(error.data.get(RETRY_AFTER, 1) if isinstance(error.data, Mapping) else 1),)


def retry_after(seconds: float) -> tuple[bytes, bytes]:
    """The header that says when to try again, in whole seconds."""
    return _HEADER, b"%d" % max(1, math.ceil(seconds))


def refuse(
    responder: Responder,
    status: int,
    code: int,
    message: str,
    request_id: RequestId | None = None,
    *,
    headers: HeaderList = (),
) -> None:
    responder.answer(status, error_payload(request_id, code, message), JSON, headers)
