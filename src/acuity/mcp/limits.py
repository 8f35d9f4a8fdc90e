"""How many requests may be in flight: of one client, from one origin, and of all.

The SDK itself would start every one. Requests that end only when their client leaves are counted apart: they
take no place from those that are answered.
"""

from __future__ import annotations

from typing import Any, Final

import anyio
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.shared.exceptions import MCPError

from acuity.mcp.clients import client_of, origin_of
from acuity.mcp.quota import Quota
from acuity.mcp.settings import Settings

# Of the band of error codes that a server may define itself.
BUSY: Final = -32010
STOPPING: Final = -32011

_FREE: Final = frozenset({"ping"})  # a client that is at its limit may still ask whether we live
_ENDLESS: Final = frozenset({"subscriptions/listen"})  # they end when their connection does


class CallLimits(ServerMiddleware[Any]):
    """Counts requests while they run, and refuses those over the limits. Notifications always pass."""

    def __init__(self, settings: Settings) -> None:
        # A client may open sessions at will, so an origin has a limit too: nobody takes every place.
        self._clients = Quota(settings.calls, settings.calls_each)
        self._origins = Quota(settings.calls, max(settings.calls_each, settings.calls * 3 // 4))
        self._streams = Quota(settings.streams, settings.streams_each)
        self._ended = anyio.Event()
        self._stopping = False

    @property
    def in_flight(self) -> int:
        return self._clients.taken + self._streams.taken

    @property
    def answering(self) -> bool:
        """Whether anything is in flight that ends by itself."""
        return self._clients.taken > 0

    def stop(self) -> None:
        """Take no more requests; those in flight go on."""
        self._stopping = True

    async def idle(self) -> None:
        """Wait until nothing is in flight but what never ends by itself."""
        while self._clients.taken:
            if self._ended.is_set():
                self._ended = anyio.Event()
            await self._ended.wait()

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.request_id is None or ctx.method in _FREE:
            return await call_next(ctx)
        if self._stopping:
            raise MCPError(STOPPING, "the server is stopping: connect again later")
        client, origin = client_of(ctx), origin_of(ctx)
        places: list[tuple[Quota, str, str]]
        if ctx.method in _ENDLESS:
            places = [(self._streams, origin, "subscriptions from this address or token")]
        else:
            places = [
                (self._clients, client, "requests of this client"),
                (self._origins, origin, "requests from this address or token"),
            ]
        for quota, holder, what in places:
            _check(quota, holder, what)
        for quota, holder, _ in places:
            quota.take(holder)
        try:
            return await call_next(ctx)
        finally:
            for quota, holder, _ in places:
                quota.give_back(holder)
            self._ended.set()


def _check(quota: Quota, holder: str, what: str) -> None:
    full = quota.full(holder)
    if full == "each":
        raise MCPError(BUSY, f"{quota.each} {what} are in flight, which is the most: wait for one")
    if full == "all":
        kind = what.split()[0]
        raise MCPError(
            BUSY, f"{quota.places} {kind} are in flight, which is the most: try again when some have ended"
        )
