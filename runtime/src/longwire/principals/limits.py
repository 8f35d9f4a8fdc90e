"""Limits on requests in flight, for each client, for each origin and for all; and the identity of clients.

Over HTTP a client is identified by its token if the server requires one, else by its session, else by its
address. A header that only claims an identity, such as an unknown session id, is ignored.

The SDK itself would start every request. Requests that end only when their client disconnects are counted
separately, so that they take no place from those that are answered.
"""

from __future__ import annotations

from collections import Counter
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, TypeAlias

import anyio
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import ErrorData

from longwire.principals.principal import PRINCIPAL, Principal
from longwire.principals.rates import Over, RateLimits, SharedBuckets, whole_seconds

if TYPE_CHECKING:
    from longwire.settings import Settings
    from longwire.wire.http.request import Request

Full: TypeAlias = Literal["each", "all"]


class Quota:
    """Counts the places that each holder takes, with a limit for one holder and one for all."""

    def __init__(self, places: int = 0, each: int = 0) -> None:
        self.places = places
        self.each = each
        self._taken: dict[str, int] = {}  # no Counter: this is counted twice for each request
        self._total = 0

    @property
    def taken(self) -> int:
        return self._total

    def full(self, holder: str) -> Full | None:
        """The limit that leaves no place for this holder, if one does."""
        if self._taken.get(holder, 0) >= self.each:
            return "each"
        return "all" if self._total >= self.places else None

    def take(self, holder: str) -> None:
        self._taken[holder] = self._taken.get(holder, 0) + 1
        self._total += 1

    def give_back(self, holder: str) -> None:
        self._total -= 1
        left = self._taken[holder] - 1
        if left:
            self._taken[holder] = left
        else:
            del self._taken[holder]  # or old holders would fill the memory


# Set by transports with one connection per client before they serve it.
CONNECTION: Final[ContextVar[str | None]] = ContextVar("longwire_connection", default=None)


def owner() -> str | None:
    """The token whose jobs the present request may see, or None for all jobs."""
    principal = PRINCIPAL.get()
    return principal.key if principal is not None and principal.has_token else None


def may_see(client: str) -> bool:
    """Whether the present request may see and cancel that client's jobs."""
    return owner() in (None, client)


def client_of(context: ServerRequestContext[Any, Any]) -> str:
    """The token, connection, session or address of a request."""
    principal = PRINCIPAL.get()
    if principal is not None and principal.has_token:
        return principal.key
    request: Request | None = context.request
    return CONNECTION.get() or ("local" if request is None else request.client)


def origin_of(context: ServerRequestContext[Any, Any]) -> str:
    """The token, connection or address of a request, without its session: a client may have many sessions."""
    if (principal := PRINCIPAL.get()) is not None:
        return principal.key
    request: Request | None = context.request
    return CONNECTION.get() or ("local" if request is None else request.principal.key)


# Error codes in the range that servers may define.
BUSY: Final = -32010
STOPPING: Final = -32011
UNAVAILABLE: Final = -32012  # no worker can take the call now
RETRY_AFTER: Final = "retryAfter"  # seconds, in the data of such an error; over HTTP also a header

_FREE: Final = frozenset({"ping"})  # a client at its limit may still ask whether the server is alive
_CALL: Final = "tools/call"
_ENDLESS: Final = frozenset({"subscriptions/listen"})  # they end with their connection

_SUBSCRIPTIONS: Final = "subscriptions from this address or token"
_OF_CLIENT: Final = "requests of this client"
_OF_ORIGIN: Final = "requests from this address or token"


class CallLimits(ServerMiddleware[Any]):
    """Counts requests while they run, and refuses those over the limits. Notifications always pass.

    Rates are checked here and nowhere else: every transport passes each request through here once, and HTTP
    asks `charge` about those that it refuses before.
    """

    def __init__(self, settings: Settings, rates: RateLimits | None = None) -> None:
        self._rates = rates or RateLimits()
        # A client may open many sessions, so each origin has a limit too.
        self._clients, self._origins, self._streams = Quota(), Quota(), Quota()
        self.become(settings)
        self.refused: Counter[str] = Counter()  # by reason: `rate` or `calls`
        self._ended: anyio.Event | None = None  # is set when a request ends, for those who wait for that
        self._stopping = False
        self.shared: SharedBuckets | None = None  # of several nodes, whose rates hold together

    def become(self, settings: Settings) -> None:
        """Hold requests to other limits and rates from now on; those in flight go on."""
        self._rates.become(settings.rate, settings.tool_rates)
        calls, each = settings.calls, settings.calls_each
        self._clients.places, self._clients.each = calls, each
        self._origins.places, self._origins.each = calls, max(each, calls * 3 // 4)
        self._streams.places, self._streams.each = settings.streams, settings.streams_each

    @property
    def in_flight(self) -> int:
        return self._clients.taken + self._streams.taken

    @property
    def subscriptions(self) -> int:
        return self._streams.taken

    @property
    def answering(self) -> bool:
        """Whether a request is in flight that ends by itself."""
        return self._clients.taken > 0

    def stop(self) -> None:
        """Refuse new requests; those in flight continue."""
        self._stopping = True

    async def idle(self) -> None:
        """Wait until no request is in flight that ends by itself."""
        while self._clients.taken:
            if self._ended is None or self._ended.is_set():
                self._ended = anyio.Event()
            await self._ended.wait()

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.request_id is None or ctx.method in _FREE:
            return await call_next(ctx)
        if ctx.request is not None:
            ctx.request.charge = None  # it is counted here
        if self._stopping:
            raise MCPError(STOPPING, "the server is stopping: connect again later")
        origin = origin_of(ctx)
        holders, of_holder, holder = self._streams, _SUBSCRIPTIONS, origin
        ends = ctx.method not in _ENDLESS
        if ends:
            holders, of_holder, holder = self._clients, _OF_CLIENT, client_of(ctx)
        origins = self._origins
        if (full := holders.full(holder)) is not None:
            self._refuse(holders, full, of_holder)
        if ends and (full := origins.full(origin)) is not None:
            self._refuse(origins, full, _OF_ORIGIN)
        # Last, because this takes from the allowance.
        principal = PRINCIPAL.get()
        own = principal.rate if principal is not None else None
        params = ctx.params if ctx.method == _CALL else None
        if self.shared is None:
            over = self._rates.check(origin, own, params)
        else:
            over = await self._rates.check_shared(self.shared, origin, own, params)
        if over is not None:
            raise self._over(over)
        holders.take(holder)
        if ends:
            origins.take(origin)
        try:
            return await call_next(ctx)
        finally:
            holders.give_back(holder)
            if ends:
                origins.give_back(origin)
            if self._ended is not None:
                self._ended.set()

    def charge(self, principal: Principal) -> ErrorData | None:
        """Count a request that was refused before it came here; the error where that is over the rate."""
        over = self._rates.charge(self.shared, principal.key, principal.rate)
        return None if over is None else self._over(over).error

    def _over(self, over: Over) -> MCPError:
        self.refused["rate"] += 1
        seconds = whole_seconds(over.seconds)
        what = "requests" if over.tools is None else f"calls of '{over.tools}'"
        sentence = f"{what} come faster than {over.rate}, their rate: try again in {seconds} s"
        return MCPError(BUSY, sentence, {RETRY_AFTER: seconds})

    def _refuse(self, quota: Quota, full: Full, what: str) -> NoReturn:
        self.refused["calls"] += 1
        if full == "each":
            raise MCPError(BUSY, f"{quota.each} {what} are in flight, which is the most: wait for one")
        kind = what.split()[0]
        raise MCPError(
            BUSY, f"{quota.places} {kind} are in flight, which is the most: try again when some have ended"
        )
