"""Calls that are answered at once, without the way through the SDK: the question an agent asks all the time.

Every microsecond spent on an answer is one that the measuring thread can't have the interpreter. The bytes
are those of the long way, whichever way the client speaks; whatever is unusual goes that long way.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Container, Mapping
from typing import Any, Final, TypeAlias

import pydantic_core
from mcp.server.lowlevel import Server
from mcp.shared.inbound import InboundLadderRejection, classify_inbound_request
from mcp_types import PROTOCOL_VERSION_META_KEY, SERVER_INFO_META_KEY, JSONRPCResponse, RequestId
from mcp_types import methods as protocol
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from acuity.mcp.embedded.agreed import Agreed
from acuity.mcp.results import answer, finite, to_text
from acuity.mcp.transports.messages import encode

logger: Final = logging.getLogger(__name__)

# What a tool says when it is called without arguments.
Document: TypeAlias = Callable[[], dict[str, Any]]
# A tool and a protocol version.
Said: TypeAlias = tuple[str, str]

METHOD: Final = "tools/call"
_PARTS: Final = frozenset({"jsonrpc", "id", "method", "params"})
_MARK: Final = {"mark": 0}
_MARK_TEXT: Final = pydantic_core.to_json(to_text(_MARK))
_MARK_DOCUMENT: Final = pydantic_core.to_json(_MARK)
# Numbers that Python and the other writer of JSON may put differently, and whatever looks like one. Two plain
# searches: one pattern for both would have to look at every digit.
_EXPONENT: Final = re.compile(r"e(?<=[0-9]e)")
_TINY: Final = "0.0000"
_HOLDERS: Final = frozenset({dict, list, tuple})
_SHORT: Final = 40_000  # characters; a text that is much longer isn't indented


class FastAnswers:
    """Answers calls of some tools that come without arguments."""

    def __init__(self, server: Server[Any], documents: Mapping[str, Document]) -> None:
        self._server = server
        self._documents = dict(documents)
        self._names = tuple(f'"{name}"'.encode() for name in documents)
        self._shapes: dict[str, _Shape] = {}  # by protocol version

    def answer(
        self,
        text: bytes,
        agreed: Agreed,
        busy: Container[RequestId] = frozenset(),
        said: Said | None = None,
    ) -> bytes | None:
        """The whole answer to a message as it came, or None if it has to go the long way.

        `busy` are the ids of requests that are being answered on the same connection; `said` is what was
        said beside the message, which has to agree with it.
        """
        if not any(name in text for name in self._names) or agreed.shaking:
            return None
        try:
            return self._answer(text, agreed, busy, said)
        except Exception:  # the long way finds it again, and knows how to say it
            logger.debug("a quick answer failed", exc_info=True)
            return None

    def _answer(
        self, text: bytes, agreed: Agreed, busy: Container[RequestId], said: Said | None
    ) -> bytes | None:
        message = pydantic_core.from_json(text, allow_inf_nan=False)
        if not isinstance(message, dict) or not message.keys() <= _PARTS:
            return None
        number, params = message.get("id"), message.get("params")
        if (
            message.get("jsonrpc") != "2.0"
            or message.get("method") != METHOD
            or type(number) not in (int, str)
            or not isinstance(params, dict)
        ):
            return None
        name, version = params.get("name", ""), _version(params, agreed)
        document = self._documents.get(name)
        if (
            document is None
            or version is None
            or number in busy
            or (said or (name, version)) != (name, version)
        ):
            return None
        return self._shape(version).filled(number, document())

    def _shape(self, version: str) -> _Shape:
        shape = self._shapes.get(version)
        if shape is None:
            shape = self._shapes[version] = _Shape(self._server, version)
        return shape


def _version(params: dict[str, Any], agreed: Agreed) -> str | None:
    """The version that a call without arguments is to be served at; None if anything about it is special."""
    if params.get("arguments", {}) != {} or len(params) > 1 + ("arguments" in params) + ("_meta" in params):
        return None
    if "_meta" not in params:
        return agreed.version
    meta = params["_meta"]
    if not isinstance(meta, dict) or "progressToken" in meta:
        return None
    version = meta.get(PROTOCOL_VERSION_META_KEY)
    if version is None:  # nothing in it that concerns us, but it may still be wrong
        protocol.validate_client_request(METHOD, agreed.version, params)
        return agreed.version
    if meta != agreed.envelope:
        if isinstance(classify_inbound_request({"params": params}), InboundLadderRejection):
            return None
        protocol.validate_client_request(METHOD, version, params)
        agreed.envelope = meta
    return str(version)


class _Shape:
    """The answer at one protocol version, with holes for the id, the text and the document."""

    def __init__(self, server: Server[Any], version: str) -> None:
        dumped = answer(_MARK).model_dump(by_alias=True, mode="json", exclude_none=True)
        result = protocol.serialize_server_result(METHOD, version, dumped)
        if version in MODERN_PROTOCOL_VERSIONS:
            result["_meta"] = {SERVER_INFO_META_KEY: server.server_info_stamp}
        whole = encode(JSONRPCResponse(jsonrpc="2.0", id=0, result=result))
        head, found, rest = whole.partition(b'"id":0,')
        assert found
        self._head = head + b'"id":'
        before, found, after = rest.partition(_MARK_TEXT)
        assert found
        self._before = b"," + before
        # Early versions know no structured content.
        self._between, self._structured, self._after = after.partition(_MARK_DOCUMENT)

        self._last: tuple[dict[str, Any] | None, bytes] = (None, b"")  # a document, and what follows the id

    def filled(self, number: Any, document: dict[str, Any]) -> bytes:
        """The answer; documents are never changed, so the same one makes the same bytes."""
        known, rest = self._last
        if known is not document:
            structured = pydantic_core.to_json(document, inf_nan_mode="null") if self._structured else b""
            text = pydantic_core.to_json(readable(document))
            rest = b"".join((self._before, text, self._between, structured, self._after))
            self._last = document, rest
        return b"".join((self._head, pydantic_core.to_json(number), rest))


def readable(document: dict[str, Any]) -> str:
    """The same text as `to_text` makes of the finite document, in a twentieth of the time."""
    text = pydantic_core.to_json(_sorted(document), indent=2, inf_nan_mode="null").decode()
    if len(text) > _SHORT or _TINY in text or _EXPONENT.search(text):
        return to_text(finite(document))
    return text


def _sorted(value: Any) -> Any:
    # Only what holds more is looked into: a call for each number would take longer than all the rest.
    if isinstance(value, dict):
        return {key: _sorted(item) if type(item) in _HOLDERS else item for key, item in sorted(value.items())}
    return [_sorted(item) if type(item) in _HOLDERS else item for item in value]
