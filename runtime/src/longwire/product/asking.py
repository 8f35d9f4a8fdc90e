"""Questions that a tool asks its client while a call runs: forms for people, a model's words, roots.

The same handler works in both eras of the protocol. After a handshake, over HTTP as on stdio and sockets, a
question is a request on the call's own stream, and the handler waits for the answer. Without a handshake the
first question that has no answer ends the call with an InputRequiredResult; the client calls again with the
answer, and the handler runs again from its beginning and is given all answers so far.

    call ──► handler ──► elicit #1 ──► input_required {question-1}, requestState: sealed
    call + answer 1 ──► handler ──► elicit #1 = answer 1 ──► sample #2 ──► input_required {question-2}, …
    call + answer 2 ──► handler ──► elicit #1 = answer 1 ──► sample #2 = answer 2 ──► result

Answers travel in the request state, which the server seals (encrypted, for this tool, these arguments, this
principal and a limited time), so nothing is kept here between the rounds.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from longwire.errors import AskingError
from longwire.foreign_json import parse_json
from longwire.principals.principal import PRINCIPAL
from longwire.product.client_capabilities import Count, RequestDropped, admit, admitted, need_of
from longwire.product.schema_checks import SchemaCheck
from longwire.settings import CapabilityPolicy, WireLimits
from longwire.text import quoted

MOST_ROUNDS: Final = 32  # more means that a handler's questions differ each time

_Context: TypeAlias = ServerRequestContext[Any, Any]
_Result = TypeVar("_Result", bound=BaseModel)
_Answers: TypeAlias = dict[str, tuple[str, dict[str, Any]]]  # by key: the question's digest, and the answer


@dataclass(frozen=True, slots=True)
class AskingRules:
    """The rules of a server's questions: the policy for undeclared capabilities, the time for an answer."""

    policy: CapabilityPolicy = WireLimits().capability_policy
    timeout: float = WireLimits().client_timeout  # seconds
    count: Count = lambda kind, outcome: None
    keys: tuple[bytes, ...] = ()  # keys that seal request states; none: a key of this process alone
    seals: bool = True  # False in a worker: the runtime in front of it seals and opens

    def boundary(self, audience: str) -> RequestStateBoundary:
        """The middleware that seals and opens the state of calls that take several rounds."""
        keys = self.keys or (secrets.token_bytes(32),)
        security = RequestStateSecurity(keys=keys, ttl=self.timeout, bind_principal=_principal)
        return RequestStateBoundary(security, default_audience=audience)


def _principal(_: _Context) -> str | None:
    """The principal that a state is bound to; not an address, which proves nothing and may change."""
    principal = PRINCIPAL.get()
    return principal.key if principal is not None and principal.has_token else None


class InputNeeded(BaseException):
    """Ends a handler whose question the client has not answered yet; perform() answers the call with it.

    It is no Exception, so that a handler which catches errors doesn't catch this.
    """


class Questions:
    """The questions of one call, in the order in which its handler asks them."""

    __slots__ = ("_answers", "_asked", "_context", "_open", "_params", "_round", "_rules")

    def __init__(self, rules: AskingRules, context: _Context, params: types.CallToolRequestParams) -> None:
        self._rules = rules
        self._context = context
        self._params = params
        self._asked = 0
        self._answers: _Answers | None = None  # read when first needed
        self._open: dict[str, tuple[str, types.InputRequest]] = {}  # asked in this round, without an answer
        self._round = 0

    async def ask(
        self, request: types.InputRequest, result_type: type[_Result], timeout: float | None = None
    ) -> _Result:
        """The client's answer to a request.

        MCPError: the client's own error, no answer in time, or (by the server's policy) an undeclared
        capability. AskingError: the policy left the request out, or the answer can't be read.
        """
        if self._context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return await self._send(request, result_type, self._rules.timeout if timeout is None else timeout)
        self._asked += 1
        key, digest = f"question-{self._asked}", _digest(request)
        answered, answer = self._known().get(key, ("", {}))
        if answered == digest:  # a question that differs from the answered one is asked anew
            return _read(request, result_type, answer)
        self._admit(request)
        self._open[key] = (digest, request)
        raise InputNeeded

    def declared(self, request: types.InputRequest) -> bool:
        """Whether the client has declared that it answers such a request."""
        need = need_of(request.method, _document(request).get("params"))
        return need is None or need.declared_in(self._capabilities())

    def result(self) -> types.InputRequiredResult:
        """The answer to a call whose handler has ended for want of answers."""
        if self._round >= MOST_ROUNDS:
            raise MCPError(
                types.INTERNAL_ERROR,
                f"the tool {quoted(self._params.name)} still asks after {MOST_ROUNDS} rounds: "
                "its questions should be the same each time it runs",
            )
        state = {
            "round": self._round + 1,
            "asked": {key: digest for key, (digest, _) in self._open.items()},
            "answers": self._known(),
        }
        return types.InputRequiredResult(
            input_requests={key: request for key, (_, request) in self._open.items()},
            request_state=json.dumps(state, separators=(",", ":")),
        )

    async def _send(self, request: types.InputRequest, result_type: type[_Result], timeout: float) -> _Result:
        self._admit(request)
        try:
            with admitted():
                return await self._context.session.send_request(
                    request,
                    result_type,
                    request_read_timeout_seconds=timeout,
                    metadata=ServerMessageMetadata(related_request_id=self._context.request_id),
                )
        except ValidationError as error:
            raise _unreadable(request) from error

    def _admit(self, request: types.InputRequest) -> None:
        params = _document(request).get("params")
        try:
            admit(request.method, params, self._capabilities(), self._rules.policy, self._rules.count)
        except RequestDropped as error:
            raise AskingError(error.message) from None

    def _capabilities(self) -> dict[str, Any]:
        declared = self._context.session.client_capabilities
        return _document(declared) if declared is not None else {}

    def _known(self) -> _Answers:
        if self._answers is None:
            self._answers = self._from_rounds()
        return self._answers

    def _from_rounds(self) -> _Answers:
        """The answers of earlier rounds, from the state, and those of this one that were asked for."""
        state = _state(self._params.request_state)
        self._round = state.get("round", 0)
        answers = {key: (digest, answer) for key, (digest, answer) in state.get("answers", {}).items()}
        responses = self._params.input_responses or {}
        for key, digest in state.get("asked", {}).items():
            if (response := responses.get(key)) is not None:
                answers[key] = (digest, _document(response))
        return answers


def _state(text: str | None) -> Mapping[str, Any]:
    """The state of the rounds so far. The boundary has checked that this server wrote it."""
    try:
        state = parse_json(text or "null")
    except ValueError:
        state = None  # a tool that keeps a state of its own
    return state if isinstance(state, dict) else {}


def _document(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


def _digest(request: types.InputRequest) -> str:
    text = json.dumps(_document(request), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _read(request: types.InputRequest, result_type: type[_Result], answer: dict[str, Any]) -> _Result:
    try:
        return result_type.model_validate(answer, by_name=False)
    except ValidationError as error:
        raise _unreadable(request) from error


def _unreadable(request: types.InputRequest) -> AskingError:
    return AskingError(f"the client's answer to '{request.method}' can't be read: it is no such result")


def form_request(message: str, schema: Mapping[str, Any]) -> types.ElicitRequest:
    """The request for a form that a person fills in."""
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=message, requested_schema=dict(schema))
    )


def check_form(message: str, schema: Mapping[str, Any], result: types.ElicitResult) -> types.ElicitResult:
    """The result, if an accepted form has what its schema asks for; else AskingError."""
    if result.action == "accept" and (fault := SchemaCheck(dict(schema)).fault(result.content or {})):
        raise AskingError(f"the client's answer to {quoted(message)} doesn't fit the form: {fault}")
    return result
