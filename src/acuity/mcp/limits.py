"""How many requests may be in flight: of one client, and of all. The SDK itself would start every one."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import anyio
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.shared.exceptions import MCPError

from acuity.mcp.clients import client_of
from acuity.mcp.settings import Settings

# Of the band of error codes that a server may define itself.
BUSY: Final = -32010
STOPPING: Final = -32011

_FREE: Final = frozenset({"ping"})  # a client that is at its limit may still ask whether we live
_ENDLESS: Final = frozenset({"subscriptions/listen"})  # they end when their connection does


class CallLimits(ServerMiddleware[Any]):
    """Counts requests while they run, and refuses those over the limits. Notifications always pass."""

    def __init__(self, settings: Settings) -> None:
        self._each = settings.calls_each
        self._all = settings.calls
        self._by_client: Counter[str] = Counter()
        self._waited_for = 0  # of those, the ones that end by themselves
        self._ended = anyio.Event()
        self._stopping = False

    @property
    def in_flight(self) -> int:
        return self._by_client.total()

    def stop(self) -> None:
        """Take no more requests; those in flight go on."""
        self._stopping = True

    async def idle(self) -> None:
        """Wait until nothing is in flight but what never ends by itself."""
        while self._waited_for:
            if self._ended.is_set():
                self._ended = anyio.Event()
            await self._ended.wait()

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.request_id is None or ctx.method in _FREE:
            return await call_next(ctx)
        client = client_of(ctx)
        self._admit(client)
        waited_for = ctx.method not in _ENDLESS
        self._by_client[client] += 1
        self._waited_for += waited_for
        try:
            return await call_next(ctx)
        finally:
            self._waited_for -= waited_for
            self._leave(client)

    def _admit(self, client: str) -> None:
        if self._stopping:
            raise MCPError(STOPPING, "the server is stopping: connect again later")
        if self._by_client[client] >= self._each:
            raise MCPError(
                BUSY, f"{self._each} requests of this client are in flight, which is the most: wait for one"
            )
        if self.in_flight >= self._all:
            raise MCPError(
                BUSY, f"{self._all} requests are in flight, which is the most: try again when some have ended"
            )

    def _leave(self, client: str) -> None:
        self._by_client[client] -= 1
        if not self._by_client[client]:
            del self._by_client[client]
        self._ended.set()
