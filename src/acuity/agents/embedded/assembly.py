"""The parts of an embedded server, its catalog and its endpoints, put together on its own thread."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, TypeAlias

import pydantic_core
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, SubscriptionBus

from acuity import __version__
from acuity.access.paths import AllowedPaths
from acuity.agents.apps import CAPABILITIES, AppResources, with_apps
from acuity.agents.embedded.budget import PAGES, PAYER, POSTS, Budget
from acuity.agents.embedded.config import STEERING_TOOLS, EmbeddedConfig
from acuity.agents.embedded.live.pictures import LivePictures
from acuity.agents.embedded.live.scores import Scores
from acuity.agents.embedded.live.state import LiveState
from acuity.agents.embedded.presence import PAGE_NAME, EndSignals, Presence, Watchers
from acuity.agents.embedded.resources import MeasurementResources
from acuity.agents.embedded.steering.bridge import CommandSender
from acuity.agents.embedded.steering.commands import CONNECTED, Leases, client_name, lasting_connection
from acuity.agents.embedded.subscriptions import Subscriptions
from acuity.agents.embedded.tools import computing, steering, watching
from acuity.agents.embedded.tools.computing import embedded_services
from acuity.agents.tools.services import Services
from longwire.endpoints import PATH, Http, Offer, Open, Pair, SsePaths, Uds, open_endpoint
from longwire.guard.access import Access
from longwire.guard.tokens import Tokens
from longwire.operations.tracing import trace_requests
from longwire.principals.limits import CallLimits, client_of
from longwire.product.app import build_server
from longwire.product.catalog import Catalog
from longwire.wire.framing import FramingName
from longwire.wire.http.request import Handler, Request, Responder
from longwire.wire.http.routes import JSON, for_methods
from longwire.wire.http.static_files import page_headers, static_files
from longwire.wire.listeners import LOOPBACK, Address
from longwire.wire.quick import QuickAnswers
from longwire.wire.serving import Serving, shared_lifespan

Opening: TypeAlias = AbstractAsyncContextManager[list[Open]]
# Calls a function at once, or when there is time for it.
Paced: TypeAlias = Callable[[Callable[[], object]], object]

_INDEX: Final = "live.html"
_READ: Final = ("GET", "HEAD")


def local_access(tokens: Tokens | None = None) -> Access:
    """The rules of access for HTTP clients of a server on 127.0.0.1."""
    return Access(tokens or Tokens(), wrong_host=f"use its address, {LOOPBACK}", local_pages=True)


class Endpoints:
    """Opens endpoints; each is served while its block is entered. Raises SettingsError.

    At `/` of a port is the live page for browsers, and the health document for everybody else. Anybody on
    the machine may load the page and its files, as often as they like: they are sent when there is time for
    pages.
    """

    def __init__(
        self,
        serving: Serving,
        measurement: Callable[[], dict[str, Any]] = dict,
        paced: Paced = lambda work: work(),
    ) -> None:
        """`measurement` says in short how far the work is; `paced` says when a page's file is sent."""
        self._serving, self._measurement, self._paced = serving, measurement, paced

    def uds(self, path: Path, listener: socket.socket | None = None) -> Opening:
        """A Unix socket for this user alone; it may listen already."""
        return open_endpoint(Uds(path, listener, same_user=True), self._serving)

    def pair(self, read: int, write: int, framing: FramingName, on_end: Callable[[], None]) -> Opening:
        """Two descriptors, which stay the caller's to close; `on_end` is called when the client has left."""
        return open_endpoint(Pair(read, write, framing, on_end), self._serving)

    def port(self, name: Offer, port: int, path: str, listener: socket.socket | None = None) -> Opening:
        """Event streams and POSTs ('sse') or Streamable HTTP ('http') at a path of 127.0.0.1.

        Port 0 is any free one. The page speaks Streamable HTTP, wherever it was opened.
        """
        sse = SsePaths(path, f"{path.rpartition('/')[0]}/request") if name == "sse" else SsePaths()
        offers = {name, "http"} if name == "http" or PATH not in sse else {name}
        health = self._health(path)
        pages: dict[str, Handler] = {"/": for_methods(_READ, health)}
        page_files: dict[str, Handler] = {}
        if with_page := "http" in offers:
            found = {name: self._when_paced(handler) for name, handler in _page_files().items()}
            page = found.pop(_INDEX)
            pages["/"] = for_methods(
                _READ, lambda ask, responder: (page if _asks_for_page(ask) else health)(ask, responder)
            )
            page_files = {f"/live/{name}": for_methods(_READ, handler) for name, handler in found.items()}
        is_open = _asks_for_page if with_page else None
        at, offered = Address(LOOPBACK, port), frozenset(offers)
        http = Http(at, offered, sse, pages=pages, files=page_files, is_open=is_open, listener=listener)
        return open_endpoint(http, self._serving)

    def _when_paced(self, handler: Handler) -> Handler:
        def handle(request: Request, responder: Responder) -> None:
            self._paced(lambda: None if responder.gone else handler(request, responder))

        return handle

    def _health(self, path: str) -> Handler:
        """The answer at `/`: that the server is there, and where to speak to it."""

        def answer(_: Request, responder: Responder) -> None:
            server = self._serving.server.server_info_stamp
            about = {"status": "ok", "server": server, "endpoint": path, "measurement": self._measurement()}
            responder.answer(200, pydantic_core.to_json(about), JSON)

        return answer


def _asks_for_page(request: Request) -> bool:
    """Whether a browser asks for the page, which takes no token, as there is no secret in it."""
    return (
        request.path == "/" and request.method in _READ and "text/html" in request.headers.get("accept", "")
    )


@cache
def _page_files() -> dict[str, Handler]:
    """The handlers of the page's files: its own, and those that it shares with report pages."""
    folders = [files(package).joinpath("static") for package in ("acuity.report", __package__)]
    return static_files(folders, page_headers("'self' data:"))


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
acuity://measurement/watch?below=70. A client that reads more than a small share of the time allows waits \
for answers while frames are measured. compute_vmaf scores another pair of files in a process of its own."""

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
    services, jobs = embedded_services(paths)
    scores = Scores(live)
    leases = Leases(live.measurement.gate, presence.has)
    presence.on_client = leases.update
    bus = InMemorySubscriptionBus()
    catalog = embedded_catalog(live, scores, sender, leases, bus, services, end, config)
    limits = CallLimits(config.settings())
    end.answering = lambda: limits.answering
    steers = frozenset(tool.name for tool in catalog.tools if not tool.read_only)
    middleware = [limits, _Noted(presence, watchers), Pacing(live.budget, steers, _is_page)]
    server = build_server(catalog, name=config.name, version=__version__, middleware=middleware)
    trace_requests(server)
    # What the tools that agents poll answer when they are called without arguments.
    polled = {watching.STATUS: live.status, watching.SCORE: scores.newest}
    documents = {name: made for name, made in polled.items() if config.offers(name)}

    def admits(client: str) -> bool:
        presence.asked()
        return live.budget.admits(_payer(client))

    try:
        async with shared_lifespan(server) as state:
            served = Serving(
                server,
                config.wire_limits(),
                state,
                local_access(config.tokens),
                bare=True,
                quick=QuickAnswers(server, documents, admits),
                presence=presence,
                accounts=live.budget,
                on_connection=CONNECTED.set,
            )
            yield Endpoints(served, lambda: _in_short(live), partial(live.budget.when_admitted, PAGES))
    finally:
        await jobs.close()


def embedded_catalog(
    live: LiveState,
    scores: Scores,
    sender: CommandSender,
    leases: Leases,
    bus: SubscriptionBus,
    services: Services,
    end: EndSignals,
    config: EmbeddedConfig,
) -> Catalog:
    subscriptions = Subscriptions(live, scores, bus, end.over)
    pictures = LivePictures(live.measurement)
    end.callback(subscriptions.close)
    end.callback(pictures.close)
    tools = [
        *watching.tools(live, scores, pictures),
        *steering.tools(sender, leases, config.max_lease),
        *computing.tools(services),
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
        self._budget, self._steering, self._is_page = budget, steering, is_page
        self._line = asyncio.Lock()  # of the pages

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        page = self._is_page(ctx)
        payer = PAGES if page else _payer(client_of(ctx))
        PAYER.set(payer)
        steers = ctx.method == "tools/call" and (ctx.params or {}).get("name") in self._steering
        if ctx.request_id is None or ctx.method in _FREE or steers:
            self._budget.owed(payer)
        elif page:
            async with self._line:
                await self._budget.turn()
        else:
            await self._budget.turn()
        return await call_next(ctx)


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
            connection = lasting_connection(ctx.session) if _is_page(ctx) else None
            if connection is not None and self._watchers.heard(connection):
                connection.exit_stack.callback(self._watchers.left, connection)
        return await call_next(ctx)


def _in_short(live: LiveState) -> dict[str, Any]:
    """The measurement's progress, for the answer at `/`."""
    status = live.status()
    return {key: status[key] for key in ("state", "frames_read", "frames_scored", "frames_total")}
