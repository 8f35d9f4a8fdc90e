"""The request that the present handler answers, for the methods of App that handlers use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp_types import LOG_LEVEL_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from longwire.contract.envelopes import LONGEST_STATE
from longwire.errors import AskingError, SettingsError
from longwire.product.catalog import Call, Context
from longwire.wire.http.request import SessionState

LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
LOG_LEVEL: Final = "log_level"  # in a session's state

CONTEXT: Final[ContextVar[Context | None]] = ContextVar("longwire_worker_context", default=None)
CALL: Final[ContextVar[Call | None]] = ContextVar("longwire_worker_call", default=None)


class Enters(ServerMiddleware[Any]):
    """Middleware that remembers the request while its handler runs."""

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        CONTEXT.set(ctx)  # each request has a copy of the variables of its own
        return await call_next(ctx)


def current_context(wanted: str) -> Context:
    """The present request; raises AskingError where there is none."""
    context = CONTEXT.get()
    if context is None:
        raise AskingError(f"'{wanted}' is for handlers: no request is being answered here")
    return context


def current_call(wanted: str) -> Call:
    """The present call of a tool; raises AskingError where there is none."""
    call = CALL.get()
    if call is None:
        raise AskingError(f"'{wanted}' is for tools: no call of one is being answered here")
    return call


def session_state(context: Context) -> SessionState | None:
    """What the session of a request remembers; None: it has no session."""
    found: SessionState | None = getattr(context.request, "session", None)
    return found


def check_state(name: str, state: Mapping[str, Any]) -> None:
    """Raise SettingsError if a session can't remember this state, in which `name` is new."""
    try:
        size = len(json.dumps(state, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode())
    except (TypeError, ValueError) as error:
        raise SettingsError(f"'{name}' can't be remembered: JSON can't hold it ({error})") from None
    if size > LONGEST_STATE:
        raise SettingsError(
            f"'{name}' can't be remembered: the session's state would have {size} bytes, "
            f"and {LONGEST_STATE} is the most"
        )


def takes_logs(context: Context, level: str) -> bool:
    """Whether the client wants log messages of this level."""
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        # Each request asks for them itself, or gets none.
        least = (context.meta or {}).get(LOG_LEVEL_META_KEY)
        return least in LEVELS and LEVELS.index(level) >= LEVELS.index(str(least))
    session = session_state(context)
    least = session.state.get(LOG_LEVEL) if session is not None else None
    return least not in LEVELS or LEVELS.index(level) >= LEVELS.index(str(least))
