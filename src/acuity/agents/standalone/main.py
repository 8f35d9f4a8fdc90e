"""The server of vmaf-mcp: its services and its catalog, created from settings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import Final

from mcp.server.caching import CacheHint
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ResourcesListChanged,
    ResourceUpdated,
    SubscriptionBus,
)

from acuity import __version__
from acuity.access.paths import AllowedPaths
from acuity.agents.apps import CAPABILITIES, AppResources, with_apps
from acuity.agents.job_documents import REPORTS, JobTasks, has_report, report_uri
from acuity.agents.prompts.completions import completer
from acuity.agents.prompts.instructions import PROMPTS
from acuity.agents.resources import resources
from acuity.agents.settings import AcuitySettings, jobs_config
from acuity.agents.tools import (
    backends,
    compare,
    evaluation,
    extractors,
    frames,
    jobs,
    models,
    scoring,
    tuning,
    videos,
    worst_frames,
)
from acuity.agents.tools.argument_names import accepting
from acuity.agents.tools.services import Services
from acuity.jobs.node_jobs import NodeJobs
from acuity.jobs.service import Job, Jobs
from longwire.cluster.cluster_node import ClusterNode
from longwire.cluster.redis_link import RedisLink
from longwire.cluster.shared_bus import SharedSubscriptionBus
from longwire.counters import RuntimeCounters
from longwire.declared import Served
from longwire.operations.metrics import Metrics
from longwire.operations.observe import Observer
from longwire.operations.tracing import JobTracer, trace_requests
from longwire.principals.limits import CallLimits
from longwire.principals.rates import RateLimits
from longwire.product.allowlists import Allowlists
from longwire.product.app import build_server
from longwire.product.asking import AskingRules
from longwire.product.catalog import Catalog
from longwire.tasks.extension import Tasks
from longwire.tasks.listen import Listen
from longwire.wire.tasks import RunningTasks

NAME: Final = "acuity"


INSTRUCTIONS: Final = """\
Acuity measures how much a viewer sees of what encoding did to a video: VMAF, with libvmaf's own digits.

Score encoded files (MP4, MKV, WebM, Y4M) with vmaf_score_encoded, raw YUV with vmaf_score. 100 looks like the
reference; about 6 points are a difference that most viewers notice. For more than a minute of video use
submit_job, then get_job: the work survives a lost connection. An answer has the score first, then the worst
frames; get_frames reads others; describe_worst_frames shows the worst as pictures and says what is wrong with
them. compare_encodes ranks several encodes of one source. list_models says which models there are.
It encodes, too: run_search finds the setting that reaches a score, run_compare ranks encoders, run_ladder
builds bitrate ladders, run_tune_per_shot tunes each shot. Start these with submit_job.
Files are read from allowed folders only: list_videos shows those, and what is in them."""

# Tools and prompts are fixed while a server runs; resources change with every report.
_FIXED: Final = CacheHint(ttl_ms=300_000, scope="public")


# A family of tools is a file with a function `tools`.
_FAMILIES: Final = (
    scoring, videos, models, backends, extractors, tuning, compare, worst_frames, evaluation,
)  # fmt: skip


def product_catalog(services: Services, bus: SubscriptionBus) -> Catalog:
    tools = accepting(tool for family in _FAMILIES for tool in family.tools(services))
    tools = with_apps([*tools, *jobs.tools(services, tools), *frames.tools(services)])
    families = resources(services)
    tasks = JobTasks(services.jobs)
    return Catalog(
        tools=tools,
        prompts=PROMPTS,
        resources=[*families, AppResources()],
        complete=completer(services, PROMPTS, families),
        extensions=[Tasks(tools, tasks)],
        listen=Listen(bus, tasks),
        cache={"tools/list": _FIXED, "prompts/list": _FIXED, "resources/templates/list": _FIXED},
        capabilities=CAPABILITIES,
        instructions=INSTRUCTIONS,
    )


@asynccontextmanager
async def standalone_server(
    settings: AcuitySettings,
    cluster: ClusterNode | None = None,
    turns: Path | None = None,
    link: RedisLink | None = None,
) -> AsyncIterator[Served]:
    """The server with its job service, which ends with the block. It may be a node of a cluster.

    `turns`: this is one of several workers behind a runtime, which take turns by that folder. Limits, metrics
    and the sealing of request states are the runtime's. `link`: that runtime is a node of a cluster.
    """
    link = link if cluster is None else cluster.nodes.link
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
        catalog = product_catalog(services, bus)
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
        # A bus of the cluster tells other nodes by itself.
        everywhere = isinstance(bus, InMemorySubscriptionBus)
        undo.callback(publish_changes(jobs, bus, everywhere=everywhere))
        for watcher in (metrics, JobTracer(), services.pictures):
            undo.callback(watcher.watch(jobs))
        undo.callback(observer.flush)
        yield Served(server, jobs, limits, metrics, counters, [tool.name for tool in catalog.tools])


def tool_names(settings: AcuitySettings) -> list[str]:
    """The tools of a server with these settings. Nothing is started."""
    # Folders are left out: a server checks them at its start, and the tools don't depend on them.
    services = _services(replace(settings, allow=(), allow_write=()))
    catalog = product_catalog(services, InMemorySubscriptionBus())
    return [tool.name for tool in catalog.tools]


def _services(
    settings: AcuitySettings, turns: Path | None = None, shared: NodeJobs | None = None
) -> Services:
    """The services, before they are started; `shared` has the jobs of other nodes."""
    folders = settings.data, settings.allow, settings.allow_write
    paths = AllowedPaths.configured(*folders, listed_by=videos.NAME, quota=settings.output_bytes)
    config = jobs_config(
        settings,
        queue_each=settings.queue_each or max(1, settings.queue * 3 // 4),  # one client can't fill it
        roots=tuple(map(str, paths.roots)),
        private=tuple(map(str, paths.private)),
        writable=tuple(map(str, paths.writable)),
        turns=turns,
    )
    return Services(settings, paths, Jobs(config, shared))


def publish_changes(jobs: Jobs, bus: SubscriptionBus, *, everywhere: bool = True) -> Callable[[], None]:
    """Publish every new report on the bus, also those of other processes; returns a function that stops this.

    Without `everywhere`, those of this process only.
    """
    under_way = RunningTasks()

    def heard(job: Job) -> None:
        if has_report(job):
            under_way.spawn(_publish(bus, job.id))

    undo = jobs.on_change(heard, everywhere=everywhere)

    def stop() -> None:
        undo()
        under_way.cancel()

    return stop


async def _publish(bus: SubscriptionBus, job_id: str) -> None:
    await bus.publish(ResourcesListChanged())
    for uri in (REPORTS, report_uri(job_id)):
        await bus.publish(ResourceUpdated(uri=uri))
