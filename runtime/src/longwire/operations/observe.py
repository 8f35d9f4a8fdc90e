"""Middleware that records requests: how long each took, and of tool calls a log line and the outcome."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, CallToolResult
from opentelemetry.trace import get_current_span
from pydantic import ValidationError

from longwire.names import attribute
from longwire.operations.logs import CALLS, CallLines, EndedCall, current_trace
from longwire.operations.metrics import OUTCOMES, UNKNOWN, Metrics
from longwire.operations.tracing import is_traced
from longwire.principals.limits import client_of
from longwire.text import shown_id
from longwire.wire.http.request import Request

_requests: Final = logging.getLogger("longwire.requests")

# Clients poll these while a job runs, so they are logged at DEBUG unless they fail.
_POLLED: Final = frozenset({"get_job", "list_jobs"})
_PROOFS: Final = ("session", "sse")  # kinds of clients whose name is a session id


class Observer(ServerMiddleware[Any]):
    """Middleware for SDK servers. Add it after the SDK's own, whose span it completes."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._traced = is_traced()
        self._lines = CallLines()

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.method != "tools/call":
            if _requests.isEnabledFor(logging.DEBUG):
                fields = {"method": ctx.method, "client": shown(client_of(ctx))}
                _requests.debug("%s", ctx.method, extra=fields)
            if ctx.request_id is None:  # a notification
                return await call_next(ctx)
            begin = time.perf_counter()
            try:
                return await call_next(ctx)
            finally:
                self._metrics.answered(ctx.method, time.perf_counter() - begin)
                if self._traced:
                    _describe_span(ctx)
        self._metrics.in_flight += 1
        begin = time.perf_counter()
        outcome, error = "crashed", None
        try:
            result = await call_next(ctx)
            outcome, error = _of_result(result)
            return result
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        except (MCPError, ValidationError) as problem:
            outcome, error = _of_refusal(problem)
            raise
        except Exception as problem:
            error = type(problem).__name__
            raise
        finally:
            self._metrics.in_flight -= 1
            self._over(ctx, outcome, error, time.perf_counter() - begin)

    def _over(
        self, ctx: ServerRequestContext[Any, Any], outcome: str, error: str | None, seconds: float
    ) -> None:
        asked = ctx.params.get("name") if ctx.params else None
        tool = self._metrics.tool(asked)
        self._metrics.called(tool, outcome, seconds)
        if self._traced:
            _describe_span(ctx, outcome)
        level = logging.DEBUG if tool in _POLLED and outcome == "ok" else logging.INFO
        if CALLS.isEnabledFor(level):
            name = tool if tool != UNKNOWN else f"unknown: {asked}"
            request = ctx.request
            about: tuple[str | None, ...] = ()
            if isinstance(request, Request):
                trace = current_trace() if self._traced else None
                about = (request.id, _session(request), request.worker, trace)
            ended = time.time()
            self._lines.add(
                EndedCall(level, name, shown(client_of(ctx)), outcome, seconds, error, ended, *about)
            )

    def flush(self) -> None:
        self._lines.flush()


def _describe_span(ctx: ServerRequestContext[Any, Any], outcome: str | None = None) -> None:
    """Set the client and the outcome of a request on the SDK's span."""
    told = {attribute("client"): shown(client_of(ctx)), attribute("outcome"): outcome}
    request = ctx.request
    if isinstance(request, Request):
        told |= {
            attribute("request_id"): request.id,
            attribute("session"): _session(request),
            "longwire.worker": request.worker,
            "client.address": request.address,
        }
    get_current_span().set_attributes({name: value for name, value in told.items() if value is not None})


def _session(request: Request) -> str | None:
    """The beginning of the id of a request's session."""
    return None if request.session_id is None else shown_id(request.session_id)


def shown(client: str) -> str:
    """A client's name for logs. Session ids are credentials, so only their beginning is shown."""
    kind, _, session_id = client.partition(":")
    return f"{kind}:{shown_id(session_id)}" if kind in _PROOFS else client


def _of_result(result: HandlerResult) -> tuple[str, str | None]:
    """The outcome of a call, from the result that is sent, and the sentence of a failed one if it has any."""
    if isinstance(result, CallToolResult):  # from middleware that answers by itself
        result = result.model_dump(by_alias=True)
    if not isinstance(result, dict):
        return "ok", None
    if not result.get("isError"):
        kind = result.get("resultType")
        return (kind if isinstance(kind, str) and kind in OUTCOMES else "ok"), None
    try:
        return "error", str(json.loads(result["content"][0]["text"])["error"])
    except (TypeError, LookupError, ValueError):
        return "error", None


def _of_refusal(problem: MCPError | ValidationError) -> tuple[str, str]:
    if isinstance(problem, ValidationError):  # whose message would repeat the client's input
        return "refused", "Invalid request parameters"
    said = problem.error
    is_lost = said.code == INTERNAL_ERROR and isinstance(said.data, dict) and "errorClass" in said.data
    return ("crashed" if is_lost else "refused"), said.message  # only lost calls have an error class
