"""Calls that are answered at once, without the way through the SDK: the question an agent asks all the time.

Every microsecond spent on an answer is one that the measuring thread can't have the interpreter. The bytes
are those of the long way, whichever way the client speaks; whatever is unusual goes that long way.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Mapping
from typing import Any, Final, TypeAlias

import pydantic_core
from mcp.server.lowlevel import Server
from mcp.shared.inbound import InboundLadderRejection, classify_inbound_request
from mcp_types import PROTOCOL_VERSION_META_KEY, RequestId
from mcp_types import methods as protocol

from acuity.mcp.embedded.agreed import Agreed
from acuity.mcp.embedded.budget import Budget
from acuity.mcp.embedded.parted import Parted
from acuity.mcp.embedded.questions import Question
from acuity.mcp.embedded.shapes import METHOD, Shape

logger: Final = logging.getLogger(__name__)

# What a tool says when it is called without arguments.
Document: TypeAlias = Callable[[], dict[str, Any] | Parted]
# A tool and a protocol version.
Said: TypeAlias = tuple[str, str]

_PARTS: Final = frozenset({"jsonrpc", "id", "method", "params"})
_QUESTIONS: Final = 4  # that are kept of one client


class FastAnswers:
    """Answers calls of some tools that come without arguments."""

    def __init__(
        self, server: Server[Any], documents: Mapping[str, Document], budget: Budget | None = None
    ) -> None:
        """A client that owes the budget too much is not answered here: the long way has it wait."""
        self._server = server
        self._budget = budget
        self._documents = dict(documents)
        self._names = tuple(f'"{name}"'.encode() for name in documents)
        self._shapes: dict[str, Shape] = {}  # by protocol version

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
        if agreed.shaking or (self._budget is not None and not self._budget.admits(agreed.client)):
            return None
        try:
            for question in agreed.questions:
                number = question.number(text)
                if number is not None and question.agreed == agreed.version:
                    return self._filled(number, question.name, question.version, busy, said)
            if any(name in text for name in self._names):
                return self._read(text, agreed, busy, said)
        except Exception:  # the long way finds it again, and knows how to say it
            logger.debug("a quick answer failed", exc_info=True)
        return None

    def _read(
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
        if version is None or name not in self._documents:
            return None
        if type(number) is int and len(agreed.questions) < _QUESTIONS:
            question = Question.of(text, message, name, version, agreed.version)
            if question is not None:
                agreed.questions.append(question)
        return self._filled(number, name, version, busy, said)

    def _filled(
        self, number: Any, name: str, version: str, busy: Container[RequestId], said: Said | None
    ) -> bytes | None:
        if number in busy or (said or (name, version)) != (name, version):
            return None
        return self._shape(version).filled(number, self._documents[name]())

    def _shape(self, version: str) -> Shape:
        shape = self._shapes.get(version)
        if shape is None:
            shape = self._shapes[version] = Shape(self._server, version)
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
