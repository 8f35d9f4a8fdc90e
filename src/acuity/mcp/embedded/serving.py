"""What an embedded server is made of, put together on its own thread."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus

from acuity import __version__
from acuity.access.paths import AllowedPaths
from acuity.mcp.app import build_server
from acuity.mcp.embedded.budget import PAYER, POSTS, Budget
from acuity.mcp.embedded.catalog import embedded_catalog, quick_documents
from acuity.mcp.embedded.compute import Compute
from acuity.mcp.embedded.config import EmbeddedConfig
from acuity.mcp.embedded.front import Front
from acuity.mcp.embedded.live.scores import Scores
from acuity.mcp.embedded.quick import QuickAnswers
from acuity.mcp.limits import CallLimits, client_of
from acuity.mcp.operations.tracing import drop_unused

if TYPE_CHECKING:
    from acuity.mcp.embedded.live.state import Live
    from acuity.mcp.embedded.presence import Ending, Presence
    from acuity.mcp.embedded.steering.bridge import McpSide

_GREETINGS: Final = frozenset({"initialize", "ping", "server/discover"})
# Methods that are answered at once whatever their client owes: what they begin is paced by itself.
_FREE: Final = frozenset(
    {"ping", "initialize", "resources/subscribe", "resources/unsubscribe", "subscriptions/listen"}
)


@asynccontextmanager
async def serving(
    live: Live,
    steer: McpSide,
    paths: AllowedPaths,
    config: EmbeddedConfig,
    presence: Presence,
    ending: Ending,
) -> AsyncIterator[Front]:
    """What every transport serves, for as long as the block lasts."""
    compute = Compute(paths)
    scores = Scores(live)
    catalog = embedded_catalog(live, steer, InMemorySubscriptionBus(), compute, scores, ending)
    limits = CallLimits(config.settings())
    ending.answering = lambda: limits.answering
    pacing = Pacing(live.budget, frozenset(tool.name for tool in catalog.tools if not tool.read_only))
    middleware = [limits, _Noted(presence), pacing]
    server = build_server(catalog, name=config.name, version=__version__, middleware=middleware)
    drop_unused(server)
    quick = {name: presence.noting(document) for name, document in quick_documents(live, scores).items()}
    try:
        async with Front(
            server,
            QuickAnswers(server, quick, live.budget.admits),
            dataclasses.replace(config.front_limits(), budget=live.budget),
            presence=presence,
            tokens=config.tokens,
            measurement=lambda: _in_short(live),
        ) as front:
            yield front
    finally:
        await compute.close()


class Pacing(ServerMiddleware[Any]):
    """Has requests that read wait until the budget admits their client."""

    def __init__(self, budget: Budget, steering: frozenset[str]) -> None:
        """`steering` are the tools that never wait."""
        self._budget = budget
        self._steering = steering

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        client = client_of(ctx)
        # HTTP requests without a session share one account.
        payer = POSTS if client.startswith(("post:", "address:")) else client
        PAYER.set(payer)
        if ctx.request_id is None or ctx.method in _FREE or self._steers(ctx):
            self._budget.owed(payer)
        else:
            await self._budget.turn()
        return await call_next(ctx)

    def _steers(self, ctx: ServerRequestContext[Any, Any]) -> bool:
        return ctx.method == "tools/call" and (ctx.params or {}).get("name") in self._steering


class _Noted(ServerMiddleware[Any]):
    """Says when a client asks for something; to shake hands is to ask for nothing yet."""

    def __init__(self, presence: Presence) -> None:
        self._presence = presence

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.request_id is not None and ctx.method not in _GREETINGS:
            self._presence.asked()
        return await call_next(ctx)


def _in_short(live: Live) -> dict[str, Any]:
    """Where the measurement stands, for those who only look whether the server is there."""
    status = live.status()
    return {key: status[key] for key in ("state", "frames_read", "frames_scored", "frames_total")}
