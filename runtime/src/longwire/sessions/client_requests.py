"""Requests that the server sends to the client of one session, and the responses that the client POSTs back.

No I/O: a request is given to a function such as `Stream.add` or `EventLog.notify`, and the waiting handler is
a future.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from sys import float_info
from typing import Any, Final, TypeAlias

from mcp.shared.dispatcher import CallOptions, ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    REQUEST_TIMEOUT,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from longwire.counters import RuntimeCounters
from longwire.journal.journal import EventKind
from longwire.principals.limits import BUSY
from longwire.product.client_capabilities import Capabilities, admit, kind_of
from longwire.settings import WireLimits
from longwire.wire.messages import encode
from longwire.wire.tasks import RunningTasks

logger: Final = logging.getLogger(__name__)

MOST: Final = 32  # unanswered requests to one client

# Puts a message where the client will read it; `Stream.add` and `EventLog.notify` are such functions.
Send: TypeAlias = Callable[[bytes, EventKind], None]
_Params: TypeAlias = Mapping[str, Any] | None


@dataclass(slots=True)
class _Waiting:
    """A request that the client has not answered yet."""

    kind: str
    call: object
    send: Send
    outcome: asyncio.Future[dict[str, Any]]
    on_progress: ProgressFnT | None


class ClientRequests:
    """The requests to one session's client: their ids, their responses, their timeouts and their number."""

    def __init__(self, limits: WireLimits, counters: RuntimeCounters, capabilities: Capabilities) -> None:
        """`capabilities` are those of the initialize request, as they came."""
        self._limits = limits
        self._counters = counters
        self._capabilities = capabilities
        self._waiting: dict[str, _Waiting] = {}
        self._progress: RunningTasks | None = None  # made when first needed
        # An earlier process may have asked the same session, and its answers may still come.
        self._prefix = f"s-{secrets.token_hex(4)}-"
        self._last = 0
        self._ended = False

    def __len__(self) -> int:
        return len(self._waiting)

    async def ask(
        self,
        send: Send,
        method: str,
        params: _Params,
        opts: CallOptions | None = None,
        *,
        call: object = None,
    ) -> dict[str, Any]:
        """Send a request and wait for its result; `call` is what `end_call()` is told.

        MCPError: the client's own error, a capability that it did not declare, no answer in time, too many
        unanswered requests, or the end of the session or the call. A request that is given up (in time, by
        cancellation or with its call) is cancelled at the client too.
        """
        options: CallOptions = opts or {}
        admit(
            method, params, self._capabilities, self._limits.capability_policy, self._counters.count_request
        )
        if self._ended:
            raise MCPError(CONNECTION_CLOSED, "the session has ended: nothing can be asked of its client")
        if len(self._waiting) >= MOST:
            self._counters.count_request("other", "full")
            raise MCPError(
                BUSY, f"{MOST} requests to this client are unanswered, which is the most: wait for one"
            )
        self._last += 1
        request_id = f"{self._prefix}{self._last}"
        outcome: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        waiting = _Waiting(kind_of(method), call, send, outcome, options.get("on_progress"))
        self._waiting[request_id] = waiting
        timeout = options.get("timeout", self._limits.client_timeout)
        courtesy = options.get("cancel_on_abandon", True)
        try:
            send(_request(request_id, method, params, waiting.on_progress is not None), "request")
            async with asyncio.timeout(timeout):
                return await waiting.outcome
        except TimeoutError:
            if waiting.outcome.done() and not waiting.outcome.cancelled():
                return waiting.outcome.result()  # the answer came in the same turn
            self._counters.count_request(waiting.kind, "timeout")
            sentence = f"the client did not answer '{method}' within {timeout:g} s"
            if courtesy:
                send(_cancelled(request_id, sentence), "notification")
            raise MCPError(REQUEST_TIMEOUT, sentence) from None
        except asyncio.CancelledError:
            self._counters.count_request(waiting.kind, "cancelled")
            if courtesy and not self._ended:
                send(_cancelled(request_id, "the call that asked was cancelled"), "notification")
            raise
        finally:
            self._waiting.pop(request_id, None)

    def resolve(self, message: JSONRPCResponse | JSONRPCError) -> bool:
        """Give a response to the handler that waits for it. False: none waits; it is counted and ignored."""
        waiting = self._waiting.pop(message.id, None) if isinstance(message.id, str) else None
        if waiting is None or waiting.outcome.done():
            self._counters.count_request("other", "late" if self._was_asked(message.id) else "unknown")
            return False
        if isinstance(message, JSONRPCResponse):
            self._counters.count_request(waiting.kind, "answered")
            waiting.outcome.set_result(message.result)
        else:
            self._counters.count_request(waiting.kind, "failed")
            waiting.outcome.set_exception(MCPError.from_jsonrpc_error(message))
        return True

    def progress(self, params: _Params) -> None:
        """Give a client's progress notification to the handler whose request it is about, if it wants any."""
        given = params or {}
        waiting = self._waiting.get(token) if isinstance(token := given.get("progressToken"), str) else None
        progress, words = _number(given.get("progress")), given.get("message")
        if waiting is None or waiting.on_progress is None or progress is None:
            return
        said = words if isinstance(words, str) else None
        self._progress = self._progress or RunningTasks()
        self._progress.spawn(_told(waiting.on_progress, progress, _number(given.get("total")), said))

    def end_call(self, call: object) -> None:
        """Give up the requests of a call that has ended: a task that it left behind may still wait."""
        for request_id, waiting in list(self._waiting.items()):
            if waiting.call is call:
                sentence = "the call that asked has ended"
                waiting.send(_cancelled(request_id, sentence), "notification")
                self._fail(waiting, sentence)
                del self._waiting[request_id]

    def end(self) -> None:
        """Give up all requests, because the session has ended; later ones are refused."""
        self._ended = True
        for waiting in self._waiting.values():
            self._fail(waiting, "the session ended before the client answered")
        self._waiting.clear()

    def _fail(self, waiting: _Waiting, sentence: str) -> None:
        if not waiting.outcome.done():
            self._counters.count_request(waiting.kind, "ended")
            waiting.outcome.set_exception(MCPError(CONNECTION_CLOSED, sentence))

    def _was_asked(self, request_id: object) -> bool:
        found = re.fullmatch(self._prefix + "([0-9]{1,18})", str(request_id))
        return found is not None and 0 < int(found[1]) <= self._last


def _request(request_id: str, method: str, params: _Params, progress: bool) -> bytes:
    sent = dict(params or {})
    if progress:  # the id is the progress token too
        sent["_meta"] = {**(sent.get("_meta") or {}), "progressToken": request_id}
    given: dict[str, Any] = {"params": sent} if sent else {}
    return encode(JSONRPCRequest(jsonrpc="2.0", id=request_id, method=method, **given))


def _cancelled(request_id: str, reason: str) -> bytes:
    params = {"requestId": request_id, "reason": reason}
    return encode(JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=params))


def _number(given: object) -> float | None:
    """A number that a handler can reckon with: JSON's 1e400 is infinite, and 400 digits fit into no float."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    return given if abs(given) <= float_info.max else None  # also not for NaN


async def _told(listener: ProgressFnT, progress: float, total: float | None, message: str | None) -> None:
    try:
        await listener(progress, total, message)
    except Exception:
        logger.exception("a handler failed on the progress of a request to its client")
