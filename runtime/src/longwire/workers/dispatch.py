"""Runs the requests of clients in workers: middleware here, methods there.

request ─► middleware (metrics, limits, request states) ─► allowlist ─► envelope ─► worker
client ◄─ exchange ◄─ middleware ◄─ checks of the reply ◄─ result ◄─┘
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.session import ServerSession
from mcp.shared.dispatcher import DispatchContext
from mcp.shared.exceptions import MCPError
from mcp.shared.transport_context import TransportContext
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION

from longwire.contract.envelopes import LONGEST_STATE, Notify, NotifyOutcome, Result
from longwire.contract.frames import FrameError
from longwire.contract.writing import json_text
from longwire.counters import RuntimeCounters
from longwire.dispatch.dispatcher import TurnsEnd, continued
from longwire.dispatch.exchange import Exchange, Notice
from longwire.dispatch.fast_calls import composed, dumped
from longwire.dispatch.session_exchange import HandshakeExchange
from longwire.guard.refusal_lines import RefusalLines
from longwire.names import own_names
from longwire.principals.principal import Holders, Principal
from longwire.product.allowlists import left
from longwire.product.results import failure
from longwire.sessions.session import Session
from longwire.text import quoted, shortened
from longwire.wire.http.request import Request
from longwire.wire.mcp_headers import HANDSHAKE
from longwire.wire.replies import notification_payload
from longwire.wire.tasks import RunningTasks
from longwire.workers.call import Outcome, OwnCall, WorkerCall, WorkerFailure
from longwire.workers.completed_results import completed, discovered, is_unknown, tool_names
from longwire.workers.members import Members, span_headers
from longwire.workers.pool import WorkerPool
from longwire.workers.running_call import RunningCall

_INITIALIZE: Final = "initialize"
_CALL: Final = "tools/call"
_LIST: Final = "tools/list"
_DISCOVER: Final = "server/discover"
_CANCELLED: Final = "notifications/cancelled"  # workers get `cancel` for it
_ENDLESS: Final = frozenset({"subscriptions/listen"})
_LONGEST_NAME: Final = 128  # characters of an unknown tool's name
_LOST: Final[Mapping[str, str]] = {"unknown": "unknown_id", "failed": "notify_failed"}  # how they are counted
_OVER: Final = "its client has cancelled the call, or left"

# Sends notifications outside of calls to one session or (None) to all, and calls back with the outcome.
# Returns once more may be sent; the outcome may come later.
Notifier: TypeAlias = Callable[
    [str | None, list[bytes], Callable[[NotifyOutcome], None]], Coroutine[Any, Any, None]
]


@dataclass(kw_only=True)
class CallContext(ServerRequestContext[Any, Any]):
    """The context that middleware sees, with the call that it is about."""

    running: RunningCall | None = None  # None: a notification


class WorkerDispatch:
    """The Dispatch of a server whose methods are in workers."""

    def __init__(
        self,
        server: Server[Any],
        pool: WorkerPool,
        counters: RuntimeCounters,
        notify: Notifier,
        patience: float,
        on_tools: Callable[[Iterable[str]], None] | None = None,
    ) -> None:
        """`server` has the middleware; its handlers are never called. `on_tools` is told names of tools.

        `patience`: seconds in which a client has to take what waits for it.
        """
        self._on_tools = on_tools
        self._server = server
        self._pool = pool
        self._counters = counters
        self._members = Members()
        self._discovered: dict[str, Any] | None = None  # what a worker's handshake has said
        self.running: set[RunningCall] = set()  # calls that have not ended
        self._tasks = RunningTasks()
        self.turn = TurnsEnd()
        self._chain_of: list[ServerMiddleware[Any]] | None = None
        self._chain: CallNext = self._innermost
        self._notifies = notify
        self.patience = patience
        # A worker that is lost, or a queue that is full, fails many calls at once.
        self._lines = RefusalLines(one="%s", more="%d more call%s failed in workers, as was logged before")
        pool.on_notify = self._notify
        pool.on_ready = self._ready

    # ---- Dispatch ---------------------------------------------------------------------------

    def request(
        self, exchange: Exchange, connection: Connection, method: str, params: dict[str, Any] | None
    ) -> None:
        call = RunningCall(self, exchange, connection)
        self.running.add(call)
        call.work = self._run(_context(exchange, connection, method, params, call))
        self.turn.run(exchange, copy_context(), call.begin)

    def notification(
        self,
        context: DispatchContext[TransportContext],
        connection: Connection,
        method: str,
        params: dict[str, Any] | None,
    ) -> None:
        if method == _CANCELLED or not isinstance(context, Notice):
            return
        work = self._run(_context(context, connection, method, params))
        variables = copy_context()
        try:
            step = variables.run(work.send, None)
        except (StopIteration, MCPError):
            return
        self._tasks.spawn(continued(work, step), variables)

    def end_gone(self, gone: Holders) -> None:
        for call in list(self.running):
            if gone.include(call.exchange.request.principal):
                call.cancel()

    def clean_up(self, connection: Connection) -> None:
        """Do nothing: handlers, which leave things to clean up, are in workers."""

    def session_ended(self, session_id: str, reason: str) -> None:
        self._pool.session_ended(session_id, reason)

    async def close(self) -> None:
        """Cancel what still runs, and end the workers."""
        for call in list(self.running):
            call.cancel()
        self._tasks.cancel()
        await self._pool.close()

    # ---- calls ------------------------------------------------------------------------------

    def over(self, call: RunningCall) -> None:
        self.running.discard(call)

    def flooded(self, call: RunningCall) -> None:
        self._counters.worker_events["flood"] += 1
        self._pool.withdraw(call, "it sends more than its client takes")

    async def _run(self, context: CallContext) -> dict[str, Any]:
        if self._chain_of != self._server.middleware:
            self._chain_of = list(self._server.middleware)
            self._chain = composed(self._chain_of, self._innermost)
        result = await self._chain(context)
        return result if type(result) is dict else dumped(result)

    async def _innermost(self, ctx: ServerRequestContext[Any, Any]) -> HandlerResult:
        """Send the call to a worker, and take its outcome."""
        call = cast(CallContext, ctx).running
        if call is None:
            self._submit(WorkerCall(), ctx, {"jsonrpc": "2.0", "method": ctx.method})
            return None
        method, request = ctx.method, call.exchange.request
        if method == _CALL and request.principal.tools is not None:
            name = (ctx.params or {}).get("name")
            if not (isinstance(name, str) and request.principal.may_call(name)):
                return failure(_unknown(name))
        if isinstance(call.exchange, HandshakeExchange):
            types.InitializeRequestParams.model_validate(ctx.params or {}, by_name=False)
        elif method in _ENDLESS:
            call.endless = True
        self._submit(call, ctx, {"jsonrpc": "2.0", "id": ctx.request_id, "method": method})
        try:
            outcome = await call
        except asyncio.CancelledError:
            self._pool.withdraw(call, _OVER)
            raise
        finally:
            request.worker = call.link.label if call.link is not None else None
        if method == _DISCOVER and is_unknown(outcome):
            self._discovered = self._discovered or discovered(await self._shaken())
            if self._discovered is not None:
                return completed(method, ctx.protocol_version, self._discovered)
        return self._result(call, ctx, outcome)

    def _submit(self, call: WorkerCall, ctx: ServerRequestContext[Any, Any], message: dict[str, Any]) -> None:
        request, params = cast(Request, ctx.request), ctx.params
        if params is not None:
            message["params"] = params
            meta = params.get("_meta")
            if type(meta) is dict and "traceparent" in meta:  # the client's: this span is between
                message["params"] = {**params, "_meta": {**meta, **span_headers()}}
        session = request.session
        if isinstance(session, Session):
            call.session_id = session.id
            call.members = self._members.of_session(request, session)
        else:
            is_handshake = ctx.method == _INITIALIZE and ctx.protocol_version in HANDSHAKE
            version = _offered(params) if is_handshake else ctx.protocol_version
            call.members = self._members.of_single(request, version, params)
        call.jsonrpc = json_text(message)
        self._pool.submit(call)

    # ---- what a worker answers --------------------------------------------------------------

    def _result(
        self, call: RunningCall, ctx: ServerRequestContext[Any, Any], outcome: Outcome
    ) -> dict[str, Any]:
        if isinstance(outcome, WorkerFailure):
            raise self._failed(ctx, outcome)
        if not outcome.handled:
            raise MCPError(types.METHOD_NOT_FOUND, "Method not found", ctx.method)
        reply, exchange = outcome.jsonrpc, call.exchange
        if reply is None or reply["id"] != ctx.request_id or type(reply["id"]) is not type(ctx.request_id):
            raise self._broken(ctx, "its reply is missing, or is to another request")
        if outcome.session is not None:
            self._keep_state(exchange, ctx, outcome)
        if outcome.response_mode == "sse":
            exchange.prefer_events()
        if (error := reply.get("error")) is not None:
            raise MCPError(error["code"], error["message"], error.get("data"))
        result: dict[str, Any] = reply["result"]
        if ctx.method == _CALL:
            if type(result.get("content")) is not list and not _is_other(result):
                raise self._broken(ctx, "its result has no list 'content'")
        elif isinstance(exchange, HandshakeExchange):
            self._agree(call, ctx, result)
            return result
        result = completed(ctx.method, ctx.protocol_version, result)
        if ctx.method == _LIST:
            if self._on_tools is not None:
                self._on_tools(tool_names(result))
            if exchange.request.principal.tools is not None:
                result = left(dict(result), exchange.request.principal, "tools", "tools", "name")
        return result

    def _agree(self, call: RunningCall, ctx: ServerRequestContext[Any, Any], result: dict[str, Any]) -> None:
        """Take over the version of a handshake that succeeded."""
        version = result.get("protocolVersion")
        if version not in HANDSHAKE:
            raise self._broken(ctx, f"it agreed on the protocol version {quoted(str(version)[:40])}")
        connection = call.connection
        connection.client_params = types.InitializeRequestParams.model_validate(
            ctx.params or {}, by_name=False
        )
        connection.protocol_version = version

    def _keep_state(self, exchange: Exchange, ctx: ServerRequestContext[Any, Any], outcome: Result) -> None:
        said = outcome.session or {}
        state = said.get("state")
        if state is not None and len(json_text(state)) > LONGEST_STATE:
            raise self._broken(ctx, f"its 'session.state' has more than {LONGEST_STATE} bytes")
        if isinstance(exchange, HandshakeExchange):
            exchange.begins = said.get("create", True)
            exchange.state = state or {}
        elif state is not None and isinstance(exchange.request.session, Session):
            exchange.request.session.replace_state(state)

    def _failed(self, ctx: ServerRequestContext[Any, Any], problem: WorkerFailure) -> MCPError:
        self._counters.worker_failures[problem.error_class] += 1
        fields = {"event": "worker_call_failed", "error_class": problem.error_class, "method": ctx.method}
        if (worker := cast(Request, ctx.request).worker) is not None:
            fields["worker"] = worker
        said = f"{shortened(ctx.method, 100)} failed in a worker: {problem.logged}"
        self._lines.add(logging.WARNING, problem.error_class, shortened(problem.logged, 200), said, fields)
        return problem.error()

    def _broken(self, ctx: ServerRequestContext[Any, Any], what: str) -> MCPError:
        sentence = f"the worker's answer to '{shortened(ctx.method, 100)}' can't be used: {what}"
        return self._failed(ctx, WorkerFailure("app_contract_error", sentence))

    # ---- what the runtime asks itself -------------------------------------------------------

    def _ready(self) -> None:
        """Forget the answers of an earlier worker, now that there is a new one."""
        self._discovered = None
        if self._on_tools is not None:
            self._tasks.spawn(self._learn_tools(self._on_tools))

    async def _learn_tools(self, told: Callable[[Iterable[str]], None]) -> None:
        """Ask a worker for the names of its tools, for metrics and logs."""
        meta = {
            types.PROTOCOL_VERSION_META_KEY: LATEST_MODERN_VERSION,
            types.CLIENT_INFO_META_KEY: _myself(),
            types.CLIENT_CAPABILITIES_META_KEY: {},
        }
        outcome = await self._ask(_LIST, LATEST_MODERN_VERSION, {"_meta": meta})
        reply = outcome.jsonrpc if isinstance(outcome, Result) else None
        if reply is not None and "result" in reply:
            told(tool_names(reply["result"]))

    async def _shaken(self) -> Outcome:
        """A worker's answer to a handshake: it may know no other method that says what it offers."""
        params = {"protocolVersion": LATEST_HANDSHAKE_VERSION, "capabilities": {}, "clientInfo": _myself()}
        return await self._ask(_INITIALIZE, LATEST_HANDSHAKE_VERSION, params)

    async def _ask(self, method: str, version: str, params: dict[str, Any]) -> Outcome:
        call = OwnCall()
        request = Request("POST", "/mcp", principal=Principal("runtime"))
        call.members = self._members.of_single(request, version, params)
        call.jsonrpc = json_text({"jsonrpc": "2.0", "id": 0, "method": method, "params": params})
        self._pool.submit(call)
        return await call.outcome

    # ---- messages outside of calls ----------------------------------------------------------

    def _notify(self, notify: Notify, answer: Callable[[NotifyOutcome], None]) -> asyncio.Future[None] | None:
        """Give messages to sessions; where the store is slow, a task goes on with it."""
        try:
            payloads = [
                notification_payload(data["method"], data.get("params"))
                for data in notify.messages
                if "id" not in data
            ]
        except (FrameError, ValueError):
            self._counters.worker_events["unknown_event"] += 1
            answer("failed")
            return None

        def answered(outcome: NotifyOutcome) -> None:
            if outcome in _LOST:
                self._counters.worker_events[_LOST[outcome]] += 1
            answer(outcome)

        work = self._notifies(notify.session_id, payloads, answered)
        try:
            step = work.send(None)
        except StopIteration:
            return None
        return self._tasks.spawn(continued(work, step))


def _context(
    source: Exchange | Notice,
    connection: Connection,
    method: str,
    params: dict[str, Any] | None,
    running: RunningCall | None = None,
) -> CallContext:
    meta = params.get("_meta") if params is not None and running is not None else None
    return CallContext(
        session=ServerSession(source, connection, request_meta=None),
        lifespan_context=None,
        protocol_version=connection.protocol_version,
        method=method,
        params=params,
        request_id=source.request_id,
        meta=cast(types.RequestParamsMeta, meta) if type(meta) is dict else None,
        request=source.request,
        running=running,
    )


def _offered(params: Mapping[str, Any] | None) -> str:
    """The version that the runtime would agree on: the client's, or else the latest."""
    asked = (params or {}).get("protocolVersion")
    return asked if isinstance(asked, str) and asked in HANDSHAKE else LATEST_HANDSHAKE_VERSION


def _myself() -> dict[str, Any]:
    return {"name": own_names().name, "version": own_names().version}


def _unknown(name: object) -> str:
    return f"unknown tool: {str(name)[:_LONGEST_NAME]}; 'tools/list' has those that there are for this client"


def _is_other(result: Mapping[str, Any]) -> bool:
    """Whether the result of a tool call is not its end: a task, or a question to the client."""
    return type(result.get("task")) is dict or result.get("resultType", "complete") != "complete"
