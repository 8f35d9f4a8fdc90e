"""Plain calls of tools, and lists, run as the SDK's runner would, with the same middleware, in less time.

The runner checks parameters twice and results twice, by models. A plain call has a name, an object of
arguments and at most a `_meta` that is known to be right, so the first check has nothing to find; and a
result of texts and a document has a known shape. Lists that stay the same while the server runs are kept as
they were sent. Everything else goes to the runner.
"""

from __future__ import annotations

import logging
import marshal
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from copy import copy
from functools import partial
from inspect import isfunction
from typing import Any, Final, TypeAlias

from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary
from mcp.server.runner import ServerRunner
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CORE_RESULT_TYPES,
    INTERNAL_ERROR,
    SERVER_INFO_META_KEY,
    CallToolRequestParams,
    CallToolResult,
    ErrorData,
    RequestParams,
    RequestParamsMeta,
    TextContent,
)
from mcp_types import methods as protocol
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS, is_version_at_least
from pydantic import BaseModel, ValidationError

from longwire.dispatch.exchange import Exchange, Given
from longwire.product.app import CatalogCalls, CatalogServer
from longwire.product.results import answer, finite, to_text
from longwire.wire.replies import EncodedResult

logger: Final = logging.getLogger(__name__)

CALL: Final = "tools/call"
Work: TypeAlias = Coroutine[Any, Any, dict[str, Any]]

# Runs a method, given its parameters.
_Run: TypeAlias = Callable[[str, Mapping[str, Any] | None], Awaitable[dict[str, Any]]]

_PLAIN: Final = frozenset({"name", "arguments", "_meta"})
_META: Final = frozenset({"_meta"})
_TOKEN: Final = "progressToken"
_TYPED_TOKEN: Final = "progress_token"  # in the SDK's model
_TOKEN_TYPES: Final = frozenset({int, str})
_NONE: Final[dict[str, Any]] = {}
_TEXTS: Final = frozenset({str})
# Structured content exists from this version on; older results are shaped by the SDK alone.
_VERSIONS: Final = frozenset(v for v in KNOWN_PROTOCOL_VERSIONS if is_version_at_least(v, "2025-06-18"))
_MODERN: Final = frozenset(MODERN_PROTOCOL_VERSIONS)
_LONGEST_META: Final = 4096  # bytes of an envelope that is remembered
_MOST_KEPT: Final = 64  # lists, by who may see which tools
_DEFAULTS: Final = dict(CallToolRequestParams(name=""))
_MOST_METAS: Final = 256  # different envelopes that are remembered; clients send the same again and again


class _Checked(dict[str, Any]):
    """The parameters of a plain call, which are known to be right; middleware may replace them by others."""

    __slots__ = ("meta",)

    def __init__(self, params: dict[str, Any], meta: RequestParamsMeta | None) -> None:
        super().__init__(params)
        self.meta = meta

    def typed(self) -> CallToolRequestParams:
        """The SDK's model of them, made as its `model_construct` does, in a fifth of the time."""
        model = CallToolRequestParams.__new__(CallToolRequestParams)
        given: dict[str, Any] = {"name": self["name"]}
        if "arguments" in self:
            given["arguments"] = self["arguments"]
        if self.meta is not None:
            given["meta"] = self.meta
        object.__setattr__(model, "__dict__", {**_DEFAULTS, **given})
        object.__setattr__(model, "__pydantic_fields_set__", set(given))
        object.__setattr__(model, "__pydantic_extra__", None)
        object.__setattr__(model, "__pydantic_private__", None)
        return model


class FastCalls:
    """Runs plain calls of one server's tools."""

    def __init__(self, server: Server[Any], lifespan_state: Any) -> None:
        self._server = server
        self._state = lifespan_state
        self._stamp = server.server_info_stamp  # the property makes a copy each time
        self._metas: dict[bytes, RequestParamsMeta] = {}  # those of the stateless era that are right
        self._chain_of: list[ServerMiddleware[Any]] = []
        self._chain: CallNext = self._innermost
        self._lists = server.lists if isinstance(server, CatalogServer) else {}
        self._kept: dict[tuple[str, str, int], EncodedResult] = {}  # by method, version and source
        self._bare = copy(server)  # whose handlers are called within the middleware
        self._bare.middleware = []

    def begin(self, exchange: Exchange, connection: Connection, params: Given) -> Work | None:
        """The work of a call; None: the runner has to do it."""
        if params is None or not params.keys() <= _PLAIN:
            return None
        if type(params.get("name")) is not str or type(params.get("arguments", _NONE)) is not dict:
            return None
        context = self._context(exchange, connection, CALL, params)
        if context is None:
            return None
        if self._chain_of != self._server.middleware:
            self._chain_of = list(self._server.middleware)
            self._chain = composed(self._chain_of, self._innermost)
        return _result_of(self._chain, context)

    def begin_list(
        self, exchange: Exchange, connection: Connection, method: str, params: Given
    ) -> Work | None:
        """The work of a list that stays the same while the server runs; None: the runner has to do it."""
        given = params or {}
        if method not in self._lists or not given.keys() <= _META:
            return None
        context = self._context(exchange, connection, method, given)
        if context is None:
            return None
        runner = ServerRunner(self._bare, connection, self._state)
        listed = partial(self._listed, context.params, partial(runner.on_request, exchange))
        return _result_of(composed(self._server.middleware, listed), context)

    def _context(
        self, exchange: Exchange, connection: Connection, method: str, params: dict[str, Any]
    ) -> ServerRequestContext[Any, Any] | None:
        """The context of a request; None: something about its `_meta` is not as it should be."""
        version = connection.protocol_version
        if version not in _VERSIONS:
            return None
        meta = self._checked_meta(params["_meta"], version) if "_meta" in params else None
        if meta is None and ("_meta" in params or version in _MODERN):
            return None
        return ServerRequestContext(
            session=ServerSession(exchange, connection, request_meta=meta),
            lifespan_context=self._state,
            protocol_version=version,
            method=method,
            params=_Checked(params, meta),
            request_id=exchange.request_id,
            meta=meta,
            request=exchange.request,
            close_sse_stream=exchange.close_sse_stream,
            close_standalone_sse_stream=exchange.close_standalone_sse_stream,
        )

    async def _listed(
        self, params: object, run: _Run, context: ServerRequestContext[Any, Any]
    ) -> dict[str, Any]:
        """A list as it was sent before to clients with the same rights, or else as the runner makes it."""
        method = context.method
        if context.params is not params or method not in self._lists:  # middleware has changed them
            return await run(method, context.params)
        source = self._lists[method](context)
        key = method, context.protocol_version, id(source)
        found = self._kept.get(key)
        if found is None:
            found = EncodedResult(await run(method, context.params), source)
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[key] = found
        return found

    async def _innermost(self, context: ServerRequestContext[Any, Any]) -> HandlerResult:
        """Call the handler. Middleware may have put something else in the place of the parameters."""
        version, params = context.protocol_version, context.params or {}
        entry = self._server.get_request_handler(CALL)
        assert entry is not None
        handler = entry.handler
        typed: Any
        if type(params) is not _Checked and not params.keys() <= _PLAIN:
            protocol.validate_client_request(CALL, version, params)
        if type(params) is _Checked and entry.params_type is CallToolRequestParams:
            typed = params.typed()
        else:
            typed = entry.params_type.model_validate(params, by_name=False)
        if type(handler) is not CatalogCalls:
            return self._shaped(await handler(context, typed), version)
        found = await handler.run(context, typed)
        if type(found) is dict and _TEXTS.issuperset(map(type, found)):
            safe = finite(found)  # the same as `answer()` and the SDK's models give
            texts = [{"text": to_text(safe), "type": "text"}]
            return self._stamped(_with_texts(texts, False, safe, version), version)
        return self._shaped(answer(found) if isinstance(found, dict) else found, version)

    # ---- metadata ---------------------------------------------------------------------------

    def _checked_meta(self, meta: Any, version: str) -> RequestParamsMeta | None:
        """The `_meta` of a request as the SDK has it; None: something about it is not as it should be."""
        if type(meta) is not dict or _TYPED_TOKEN in meta:
            return None
        token = meta.get(_TOKEN, _NONE)
        if token is not _NONE:
            if type(token) not in _TOKEN_TYPES:
                return None
            meta = {name: value for name, value in meta.items() if name != _TOKEN}
        # The older versions check nothing but the token.
        checked = meta if version not in _MODERN else self._checked_envelope(meta, version)
        if checked is None or token is _NONE:
            return checked
        return {**checked, _TYPED_TOKEN: token}

    def _checked_envelope(self, meta: dict[str, Any], version: str) -> RequestParamsMeta | None:
        key = marshal.dumps(meta, 2)
        known = self._metas.get(key)
        if known is None:
            try:
                protocol.validate_client_request(CALL, version, {"name": "", "_meta": meta})
                known = RequestParams.model_validate({"_meta": meta}, by_name=False).meta
            except ValidationError:
                return None
            assert known is not None
            if len(key) > _LONGEST_META:
                return known
            if len(self._metas) >= _MOST_METAS:
                self._metas.clear()
            self._metas[key] = known
        return known.copy()

    # ---- results ----------------------------------------------------------------------------

    def _shaped(self, result: Any, version: str) -> dict[str, Any]:
        """A handler's result as it is sent at a version."""
        shaped = _plain_result(result, version) or _core_result(dumped(result), version)
        return self._stamped(shaped, version)

    def _stamped(self, shaped: dict[str, Any], version: str) -> dict[str, Any]:
        """The same with the members that every result of the stateless era has."""
        if version not in _MODERN:
            return shaped
        if shaped.get("resultType") is None:
            shaped["resultType"] = "complete"
        meta = shaped.get("_meta")
        if meta is None or (isinstance(meta, dict) and meta.get(SERVER_INFO_META_KEY) is None):
            shaped["_meta"] = {**(meta or {}), SERVER_INFO_META_KEY: self._stamp}
        return shaped


async def _result_of(chain: CallNext, context: ServerRequestContext[Any, Any]) -> dict[str, Any]:
    result = await chain(context)
    return result if isinstance(result, dict) else dumped(result)


def composed(chain: Sequence[ServerMiddleware[Any]], innermost: CallNext) -> CallNext:
    """The function that calls each middleware around the next, and the innermost last."""
    call = innermost
    for middleware in reversed(chain):
        call = _wrapped(middleware, call)
    return call


def _wrapped(middleware: ServerMiddleware[Any], call_next: CallNext) -> CallNext:
    if type(middleware) is RequestStateBoundary:
        return _sealed(middleware, call_next)
    run = middleware if isfunction(middleware) else middleware.__call__  # is called quicker than its object
    return lambda context: run(context, call_next)


def _sealed(boundary: RequestStateBoundary, call_next: CallNext) -> CallNext:
    """The boundary, left out for calls without a state that ask nothing: it has nothing to do for these."""

    async def call(context: ServerRequestContext[Any, Any]) -> HandlerResult:
        if "requestState" in (context.params or ()):
            return await boundary(context, call_next)
        result = await call_next(context)
        if isinstance(result, dict) and result.get("resultType") != "input_required":
            return result

        async def found(_: ServerRequestContext[Any, Any]) -> HandlerResult:
            return result

        return await boundary(context, found)

    return call


def _plain_result(result: Any, version: str) -> dict[str, Any] | None:
    """A result of texts and a document; None: it has more."""
    if type(result) is not CallToolResult or result.meta is not None or result.result_type != "complete":
        return None
    document = result.structured_content
    if document is not None and type(document) is not dict:
        return None
    content = []
    for block in result.content:
        if type(block) is not TextContent or block.annotations is not None or block.meta is not None:
            return None
        content.append({"text": block.text, "type": "text"})
    return _with_texts(content, result.is_error, document, version)


def _with_texts(
    content: list[dict[str, str]], is_error: bool, document: dict[str, Any] | None, version: str
) -> dict[str, Any]:
    """A result, with its keys in the order of the SDK's models."""
    shaped: dict[str, Any] = {"content": content, "isError": is_error}
    if version in _MODERN:
        shaped["resultType"] = "complete"
    if document is not None:
        shaped["structuredContent"] = document
    return shaped


def _core_result(dumped: dict[str, Any], version: str) -> dict[str, Any]:
    """A result by the rules of its version; an extension's own result keeps its shape."""
    kind = dumped.get("resultType")
    if version in _MODERN and isinstance(kind, str) and kind not in CORE_RESULT_TYPES:
        return dumped
    try:
        return protocol.serialize_server_result(CALL, version, dumped)
    except ValidationError:
        logger.exception("the handler of %r returned an invalid result", CALL)
        raise MCPError(INTERNAL_ERROR, "Handler returned an invalid result") from None


def dumped(result: HandlerResult | ErrorData) -> dict[str, Any]:
    """The result of a handler or middleware, as it is sent."""
    if isinstance(result, ErrorData):
        raise MCPError.from_error_data(result)
    if isinstance(result, BaseModel):
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)
    if isinstance(result, Mapping):
        return dict(result)
    if result is None:
        return {}
    raise TypeError(f"a handler returned {type(result).__name__}: it should be a model, a dict or None")
