"""Plain calls of reading tools, answered without the SDK.

An agent asks for the status all the time, and an answer is made under Python's lock, which the measuring
thread waits for meanwhile. The SDK takes several hundred microseconds for a call, this takes a few dozen. The
bytes are the same; a call that is not plain (arguments, a progress token, a wrong envelope) goes to the SDK.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Mapping
from typing import Any, Final, TypeAlias

import pydantic_core
from mcp.server.lowlevel import Server
from mcp.shared.inbound import InboundLadderRejection, classify_inbound_request
from mcp_types import PROTOCOL_VERSION_META_KEY, SERVER_INFO_META_KEY, JSONRPCRequest, RequestId
from mcp_types import methods as protocol
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from longwire.product.results import answer, to_text
from longwire.wire.messages import Incoming, PlainRequest
from longwire.wire.serving import Handshake

logger: Final = logging.getLogger(__name__)

# Makes what a tool answers when it is called without arguments.
MakeDocument: TypeAlias = Callable[[], dict[str, Any]]

_CALL: Final = "tools/call"
_PLAIN: Final = frozenset({"name", "arguments", "_meta"})


class QuickAnswers:
    """Answers calls without arguments of the tools that it has documents for."""

    def __init__(
        self,
        server: Server[Any],
        documents: Mapping[str, MakeDocument],
        admits: Callable[[str], bool] = lambda client: True,
    ) -> None:
        """`admits` says whether a client may be answered at once; other calls wait their turn in the SDK."""
        self._server = server
        self._documents = dict(documents)
        self._admits = admits
        self._empty: dict[str, dict[str, Any]] = {}  # results by protocol version

    def answer(
        self, message: Incoming, handshake: Handshake, in_flight: Container[RequestId] = frozenset()
    ) -> bytes | None:
        """The whole reply to a message, or None if the SDK has to answer it.

        `in_flight` has the ids of the unanswered requests on the same connection.
        """
        if not isinstance(message, JSONRPCRequest | PlainRequest):
            return None
        if message.method != _CALL or handshake.pending:
            return None
        try:
            params = message.params or {}
            document = self._documents.get(params.get("name", ""))
            if document is None or message.id in in_flight or not self._admits(handshake.client):
                return None
            version = _version(params, handshake.version)
            return self._render(message.id, version, document()) if version is not None else None
        except Exception:  # the SDK's way fails again, and reports it to the client
            logger.debug("a quick answer failed", exc_info=True)
            return None

    def _render(self, request_id: RequestId, version: str, document: dict[str, Any]) -> bytes:
        empty = self._empty.get(version)
        if empty is None:
            empty = self._empty[version] = self._empty_result(version)
        content = [{**empty["content"][0], "text": to_text(document)}]
        result = {**empty, "content": content, "structuredContent": document}
        reply = {"jsonrpc": "2.0", "id": request_id, "result": result}
        return pydantic_core.to_json(reply, inf_nan_mode="null")

    def _empty_result(self, version: str) -> dict[str, Any]:
        """The result for an empty document as the SDK writes it at that version."""
        dumped = answer({}).model_dump(by_alias=True, mode="json", exclude_none=True)
        result = protocol.serialize_server_result(_CALL, version, dumped)
        if version in MODERN_PROTOCOL_VERSIONS:
            result["_meta"] = {SERVER_INFO_META_KEY: self._server.server_info_stamp}
        return result


def _version(params: Mapping[str, Any], agreed: str) -> str | None:
    """The protocol version to answer a plain call at; None if the call is not plain."""
    if not params.keys() <= _PLAIN or params.get("arguments", {}) != {}:
        return None
    meta = params.get("_meta")
    if meta is None:
        return agreed if "_meta" not in params else None
    if not isinstance(meta, Mapping) or "progressToken" in meta or PROTOCOL_VERSION_META_KEY not in meta:
        return None
    if isinstance(classify_inbound_request({"params": params}), InboundLadderRejection):
        return None
    version = str(meta[PROTOCOL_VERSION_META_KEY])
    protocol.validate_client_request(_CALL, version, dict(params))
    return version
