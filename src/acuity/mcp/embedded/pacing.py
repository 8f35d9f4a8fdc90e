"""Requests that read wait for their client's turn; the budget says when that is."""

from __future__ import annotations

from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext

from acuity.mcp.embedded.budget import PAYER, POSTS, Budget
from acuity.mcp.limits import client_of

# Methods that are answered at once whatever their client owes: what they begin is paced by itself.
_FREE: Final = frozenset(
    {"ping", "initialize", "resources/subscribe", "resources/unsubscribe", "subscriptions/listen"}
)


class Pacing(ServerMiddleware[Any]):
    """Has requests that read wait for their client's turn."""

    def __init__(self, budget: Budget, steering: frozenset[str]) -> None:
        """`steering` are the tools that never wait."""
        self._budget = budget
        self._steering = steering

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        payer = payer_of(client_of(ctx))
        PAYER.set(payer)
        if ctx.request_id is None or ctx.method in _FREE or self._steers(ctx):
            self._budget.owed(payer)
        else:
            await self._budget.turn()
        return await call_next(ctx)

    def _steers(self, ctx: ServerRequestContext[Any, Any]) -> bool:
        return ctx.method == "tools/call" and (ctx.params or {}).get("name") in self._steering


def payer_of(client: str) -> str:
    """Whose account a client's requests go to: HTTP requests without a session share one."""
    return POSTS if client.startswith(("post:", "address:")) else client
