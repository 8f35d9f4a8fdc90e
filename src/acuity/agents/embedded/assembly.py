"""The parts of an embedded server and its catalog, put together on its own thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus

from acuity import __version__
from acuity.access.paths import AllowedPaths
from acuity.agents.apps import CAPABILITIES, AppResources, with_apps
from acuity.agents.embedded.budget import PAGES, PAYER, POSTS, Budget
from acuity.agents.embedded.config import STEERING_TOOLS, EmbeddedConfig
from acuity.agents.embedded.endpoints import Endpoints, local_access
from acuity.agents.embedded.live.pictures import LivePictures
from acuity.agents.embedded.live.scores import Scores
from acuity.agents.embedded.presence import PAGE_NAME, EndSignals, Presence, Watchers
from acuity.agents.embedded.resources import MeasurementResources
from acuity.agents.embedded.steering.clients import CONNECTED, Leases, client_name, lasting_connection
from acuity.agents.embedded.subscriptions import Subscriptions
from acuity.agents.embedded.tools import computing, steering, watching
from acuity.agents.embedded.tools.computing import Compute
from longwire.operations.tracing import trace_requests
from longwire.principals.limits import CallLimits, client_of
from longwire.product.app import build_server
from longwire.product.catalog import Catalog
from longwire.wire.quick import QuickAnswers
from longwire.wire.serving import Serving, shared_lifespan

if TYPE_CHECKING:
    from mcp.server.subscriptions import SubscriptionBus

    from acuity.agents.embedded.live.state import LiveState
    from acuity.agents.embedded.steering.bridge import CommandSender

_GREETINGS: Final = frozenset({"initialize", "ping", "server/discover"})
# Methods that are answered at once whatever their client owes: what they begin is paced by itself.
_FREE: Final = frozenset(
    {"ping", "initialize", "resources/subscribe", "resources/unsubscribe", "subscriptions/listen"}
)


_STEERING: Final = """\
; steer it with vmaf.request_model_swap, vmaf.pause, vmaf.resume, vmaf.set_subsample, vmaf.stop_after and \
vmaf.stop, which are carried out between two frames. Neither changes a figure: every frame has the score \
of its model. A pause ends when you leave, or when its lease runs out"""
INSTRUCTIONS: Final = f"""\
A measurement of video quality (VMAF) runs in this process. Look at it with vmaf.status, vmaf.score, \
vmaf.curve, vmaf.worst_frames and vmaf.report, or have vmaf.watch wait for frames below a score\
{_STEERING}. To follow along, subscribe to \
acuity://measurement/scores (?rate=10: told at most ten times a second), acuity://measurement/status or \
acuity://measurement/watch?below=70. Who reads more than a small share of the time allows waits for its \
answers while frames are measured. compute_vmaf scores another pair of files in a process of its own."""

# What a server offers is fixed while it runs; what its resources show is not.
_FIXED: Final = CacheHint(ttl_ms=300_000, scope="public")
_LISTS: Final = ("tools/list", "resources/list", "resources/templates/list")


@asynccontextmanager
async def assembled(
    live: LiveState,
    sender: CommandSender,
    paths: AllowedPaths,
    config: EmbeddedConfig,
    presence: Presence,
    end: EndSignals,
    watchers: Watchers,
) -> AsyncIterator[Endpoints]:
    """The endpoints that can be opened, for as long as the block lasts."""
    compute = Compute(paths)
    scores = Scores(live)
    leases = Leases(live.measurement.gate, presence.has)
    presence.on_client = leases.update
    bus = InMemorySubscriptionBus()
    catalog = embedded_catalog(live, scores, sender, leases, bus, compute, end, config)
    limits = CallLimits(config.settings())
    end.answering = lambda: limits.answering
    steers = frozenset(tool.name for tool in catalog.tools if not tool.read_only)
    middleware = [limits, _Noted(presence, watchers), Pacing(live.budget, steers, _is_page)]
    server = build_server(catalog, name=config.name, version=__version__, middleware=middleware)
    trace_requests(server)
    # What the tools that agents poll answer when they are called without arguments.
    polled = {watching.STATUS: live.status, watching.SCORE: scores.newest}
    documents = {name: presence.noting(made) for name, made in polled.items() if config.offers(name)}
    try:
        async with shared_lifespan(server) as state:
            served = Serving(
                server,
                config.wire_limits(),
                state,
                local_access(config.tokens),
                bare=True,
                quick=QuickAnswers(server, documents, lambda client: live.budget.admits(_payer(client))),
                presence=presence,
                accounts=live.budget,
                on_connection=CONNECTED.set,
            )
            yield Endpoints(served, lambda: _in_short(live), partial(live.budget.when_admitted, PAGES))
    finally:
        await compute.close()


def embedded_catalog(
    live: LiveState,
    scores: Scores,
    sender: CommandSender,
    leases: Leases,
    bus: SubscriptionBus,
    compute: Compute,
    end: EndSignals,
    config: EmbeddedConfig,
) -> Catalog:
    """Everything the server offers."""
    subscriptions = Subscriptions(live, scores, bus, end.over)
    pictures = LivePictures(live.measurement)
    end.on_close(subscriptions.close)
    end.on_close(pictures.close)
    tools = [
        *watching.tools(live, scores, pictures),
        *steering.tools(sender, leases, config.max_lease),
        *computing.tools(compute),
    ]
    steers = any(map(config.offers, STEERING_TOOLS))
    return Catalog(
        tools=with_apps([tool for tool in tools if config.offers(tool.name)]),
        resources=[MeasurementResources(live, scores, pictures), AppResources()],
        methods=subscriptions.methods(),
        listen=subscriptions.listen,
        cache=dict.fromkeys(_LISTS, _FIXED),
        capabilities=CAPABILITIES,
        instructions=INSTRUCTIONS if steers else INSTRUCTIONS.replace(_STEERING, ""),
    )


class Pacing(ServerMiddleware[Any]):
    """Has requests that read wait until the budget admits their client.

    All live pages have one account, and wait in one line: however many are open, one of them is answered at
    a time, and only the first one looks whether it may be.
    """

    def __init__(
        self,
        budget: Budget,
        steering: frozenset[str],
        is_page: Callable[[ServerRequestContext[Any, Any]], bool] = lambda _: False,
    ) -> None:
        """`steering` are the tools that never wait; `is_page` says whether a live page sent a request."""
        self._budget = budget
        self._steering = steering
        self._is_page = is_page
        self._line = asyncio.Lock()  # of the pages

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        page = self._is_page(ctx)
        payer = PAGES if page else _payer(client_of(ctx))
        PAYER.set(payer)
        if ctx.request_id is None or ctx.method in _FREE or self._steers(ctx):
            self._budget.owed(payer)
        elif page:
            async with self._line:
                await self._budget.turn()
        else:
            await self._budget.turn()
        return await call_next(ctx)

    def _steers(self, ctx: ServerRequestContext[Any, Any]) -> bool:
        return ctx.method == "tools/call" and (ctx.params or {}).get("name") in self._steering


def _is_page(ctx: ServerRequestContext[Any, Any]) -> bool:
    return client_name(ctx.session) == PAGE_NAME


def _payer(client: str) -> str:
    """The account of a client: HTTP requests without a session share one."""
    return POSTS if client.startswith(("post:", "address:")) else client


class _Noted(ServerMiddleware[Any]):
    """Notes that a client has sent a request, and which are pages; a handshake is none yet."""

    def __init__(self, presence: Presence, watchers: Watchers) -> None:
        self._presence = presence
        self._watchers = watchers

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.request_id is not None and ctx.method not in _GREETINGS:
            self._presence.asked()
            self._note_page(ctx)
        return await call_next(ctx)

    def _note_page(self, ctx: ServerRequestContext[Any, Any]) -> None:
        if not _is_page(ctx):
            return
        connection = lasting_connection(ctx.session)
        if connection is not None and self._watchers.heard(connection):
            connection.exit_stack.callback(self._watchers.left, connection)


def _in_short(live: LiveState) -> dict[str, Any]:
    """The measurement's progress, for the answer at `/`."""
    status = live.status()
    return {key: status[key] for key in ("state", "frames_read", "frames_scored", "frames_total")}
