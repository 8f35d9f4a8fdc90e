"""The program vmaf-mcp: creates the services and the server from settings, and serves every endpoint."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import Final

from mcp.server.subscriptions import InMemorySubscriptionBus, SubscriptionBus

from acuity import __version__
from acuity.access.paths import AllowedPaths
from acuity.jobs.elsewhere import SharedJobs
from acuity.jobs.service import Jobs, JobsConfig
from acuity.mcp.admin.port import AdminPort
from acuity.mcp.admin.sources import Sources
from acuity.mcp.allowlists import Allowlists
from acuity.mcp.app import build_server
from acuity.mcp.asking import AskingRules
from acuity.mcp.catalog import Services
from acuity.mcp.endpoints import Endpoint, Open, Page
from acuity.mcp.limits import CallLimits
from acuity.mcp.operations.logs import Redactor, configure_logging
from acuity.mcp.operations.loop_lag import LoopLag
from acuity.mcp.operations.metrics import HEALTH, Metrics, metrics_pages
from acuity.mcp.operations.observe import Observer
from acuity.mcp.operations.tracing import JobTracer, configure_tracing, trace_requests
from acuity.mcp.rates import RateLimits
from acuity.mcp.runtime.cluster.cluster_node import ClusterNode, joined
from acuity.mcp.runtime.cluster.redis_link import RedisLink
from acuity.mcp.runtime.cluster.shared_bus import SharedSubscriptionBus
from acuity.mcp.runtime.counters import RuntimeCounters
from acuity.mcp.runtime.http_runtime import HttpRuntime
from acuity.mcp.runtime.workers.pool import WorkerPool
from acuity.mcp.settings import Settings, WireLimits
from acuity.mcp.standalone.node_jobs import NodeJobs
from acuity.mcp.standalone.operating import admin_port
from acuity.mcp.standalone.product import NAME, Product, product_catalog
from acuity.mcp.standalone.reload import Configuration, reloading, tell
from acuity.mcp.standalone.serve import ServeOptions, serve
from acuity.mcp.standalone.service_manager import ServiceManager
from acuity.mcp.standalone.worker_mode import front, workers_of
from acuity.mcp.tasks.listen import publish_changes
from acuity.mcp.tools import videos
from acuity.mcp.tools.kept_pictures import KeptPictures
from acuity.mcp.wire.listeners import is_loopback
from acuity.mcp.wire.tasks import collect_rarely, loop_factory

logger: Final = logging.getLogger(__name__)


def run(options: ServeOptions) -> int:
    """Serve until a signal or the end of stdin; raises AcuityError if an endpoint can't be started."""
    secrets = [*options.access.tokens, *(options.admin_tokens or ())]
    redactor = configure_logging(options.log_level, options.log_format, secrets=secrets)
    for sentence in options.warnings:
        logger.warning("%s", sentence, extra={"event": "configuration"})
    end_tracing = configure_tracing()
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(_run(options, redactor))
        logger.info("stopped", extra={"event": "stopped"})
    finally:
        end_tracing()
    return 0


@asynccontextmanager
async def product(
    settings: Settings,
    cluster: ClusterNode | None = None,
    turns: Path | None = None,
    link: RedisLink | None = None,
) -> AsyncIterator[Product]:
    """The server with its job service, which ends with the block. It may be a node of a cluster.

    `turns`: this is one of several workers behind a runtime, which take turns by that folder. Limits, metrics
    and the sealing of request states are the runtime's. `link`: that runtime is a node of a cluster.
    """
    link = link if cluster is None else cluster.state.link
    services = _services(settings, turns, None if link is None else NodeJobs(link))
    async with AsyncExitStack() as stack:
        jobs = await stack.enter_async_context(services.jobs)
        bus: SubscriptionBus
        if cluster is not None:
            bus = cluster.bus
        elif link is not None:
            bus = shared = SharedSubscriptionBus(link, token_hex(8))
            stack.push_async_callback(shared.close)
        else:
            bus = InMemorySubscriptionBus()
        pictures = KeptPictures(settings.data)
        catalog = product_catalog(services, bus, pictures)
        metrics = Metrics([tool.name for tool in catalog.tools])
        observer = Observer(metrics)
        carriers = {tool.name: tool.runs for tool in catalog.tools if tool.runs is not None}
        limits = CallLimits(settings, RateLimits(settings.rate, settings.tool_rates, carriers=carriers))
        counters = RuntimeCounters()
        asking = AskingRules(
            settings.capability_policy,
            settings.client_timeout,
            counters.count_request,
            () if cluster is None else (cluster.keys.request_state,),
            seals=turns is None,
        )
        middleware = [observer, limits, Allowlists()] if turns is None else []
        server = build_server(catalog, name=NAME, version=__version__, middleware=middleware, asking=asking)
        trace_requests(server)
        undo = stack.enter_context(ExitStack())
        for stop in (*_watchers(jobs, bus, metrics), pictures.watch(jobs)):
            undo.callback(stop)
        undo.callback(observer.flush)
        yield Product(server, services, limits, metrics, counters, [tool.name for tool in catalog.tools])


def tool_names(settings: Settings) -> list[str] | None:
    """The tools of a server with these settings; None: foreign workers have them. Nothing is started."""
    if settings.has_foreign_workers:
        return None
    # Folders are checked at the start, and name no tools.
    services = _services(replace(settings, allow=(), allow_write=()))
    catalog = product_catalog(services, InMemorySubscriptionBus(), KeptPictures(settings.data))
    return [tool.name for tool in catalog.tools]


def _services(settings: Settings, turns: Path | None = None, shared: SharedJobs | None = None) -> Services:
    """The services, before they are started; `shared` has the jobs of other nodes."""
    paths = AllowedPaths.configured(
        settings.data,
        settings.allow,
        settings.allow_write,
        listed_by=videos.NAME,
        quota=settings.output_bytes,
    )
    config = JobsConfig(
        workers=settings.workers,
        queue=settings.queue,
        time_limit=settings.time_limit,
        queue_each=settings.queue_each or max(1, settings.queue * 3 // 4),  # one client can't fill it
        running_each=settings.running_each,
        submitted_limit=settings.submitted_limit,
        memory=settings.memory,
        kept=settings.kept,
        data=settings.data,
        roots=tuple(str(root) for root in paths.roots),
        private=tuple(str(root) for root in paths.private),
        writable=tuple(str(root) for root in paths.writable),
        output_bytes=settings.output_bytes,
        turns=turns,
    )
    return Services(settings, paths, Jobs(config, shared))


def _watchers(jobs: Jobs, bus: SubscriptionBus, metrics: Metrics) -> list[Callable[[], None]]:
    """Register the listeners to job changes; returns the functions that remove them."""
    # A bus of the cluster tells other nodes by itself.
    everywhere = isinstance(bus, InMemorySubscriptionBus)
    return [publish_changes(jobs, bus, everywhere=everywhere), metrics.watch(jobs), JobTracer().watch(jobs)]


async def _run(options: ServeOptions, redactor: Redactor) -> None:
    named = options.named
    tools: list[str] | None = None

    def oversights() -> Iterable[str]:
        return named.of_tokens(tools)

    access, manager, configuration = options.access, ServiceManager(), Configuration(options)
    with reloading(
        access.tokens,
        redactor,
        options.certificate,
        oversights,
        operators=options.admin_tokens,
        oauth=access.oauth,
        always=bool(manager),
        configuration=configuration if configuration else None,
    ):
        making = front if options.settings.has_workers else product
        async with (
            joined(options.settings) as cluster,
            making(options.settings, cluster) as made,
            workers_of(options, made) as workers,
        ):
            if made.tools or named:  # otherwise nobody asks for them, and making them takes a second
                tools = list(made.tools) or await asyncio.to_thread(tool_names, options.settings)
            tell(named.oversights(tools))
            ready = _Ready(workers, made.metrics.loop_lag)
            sources = Sources(options.settings, made.metrics, made.limits, made.services.jobs, ready)
            configuration.on_change += [made.limits.become, sources.use]
            async with admin_port(options, sources, redactor) as admin, made.metrics.loop_lag.watched():
                with manager.watched():
                    await _serve(options, made, ready, admin, cluster, manager, workers, configuration.wire)


async def _serve(
    options: ServeOptions,
    made: Product,
    ready: _Ready,
    admin: AdminPort | None,
    cluster: ClusterNode | None,
    manager: ServiceManager,
    workers: WorkerPool | None,
    wire: WireLimits,
) -> None:
    endpoints: list[Endpoint] = list(options.endpoints)
    if options.metrics is not None:
        pages = metrics_pages(made.metrics.registry, ready.problem)
        certificate = None if is_loopback(options.metrics.host) else options.certificate
        tls = None if certificate is None else certificate.context
        endpoints.append(
            Page("metrics", options.metrics, pages, "/metrics", tls, open_paths=frozenset(HEALTH))
        )
    if admin is not None:
        endpoints.append(admin.page)

    def on_runtime(runtime: HttpRuntime) -> Callable[[], None]:
        if admin is not None:
            admin.sources.runtime = runtime
            if runtime.peers is not None:
                runtime.peers.operators = admin.peers
        return made.metrics.watch_runtime(runtime.counters, runtime.sessions.__iter__, runtime.nodes)

    def opened(found: Sequence[Open]) -> None:
        ready.opened()
        manager.ready(f"serving {', '.join(one.where for one in found)}")

    def stopping() -> None:
        ready.closed()
        manager.stopping()

    collect_rarely()
    await serve(
        made.server,
        endpoints,
        options.settings,
        access=options.access,
        limits=made.limits,
        on_stop=made.services.jobs.stop if workers is None else workers.stop,
        on_ready=opened,
        on_stopping=stopping,
        presence=made.metrics.connections,
        counters=made.counters,
        on_runtime=on_runtime,
        cluster=cluster,
        workers=workers,
        on_tools=made.metrics.know,
        wire=wire,
    )


class _Ready:
    """Whether the server accepts work: from when all endpoints are open until it is asked to stop.

    One whose methods are in workers needs one of those, too, and one whose loop is late should get no more.
    """

    def __init__(self, workers: WorkerPool | None, lag: LoopLag) -> None:
        self._workers = workers
        self._lag = lag
        self._problem: str | None = "the server is starting"

    def __call__(self) -> bool:
        return self.problem() is None

    def problem(self) -> str | None:
        """Why it doesn't, in a sentence."""
        if self._problem is None and self._workers is not None:
            return self._workers.problem() or self._lag.problem()
        return self._problem or self._lag.problem()

    def opened(self) -> None:
        self._problem = None

    def closed(self) -> None:
        self._problem = "the server is stopping"
