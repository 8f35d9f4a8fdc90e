"""The server whose methods are in workers: what it has itself, and how its workers are started."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from mcp.server.lowlevel import Server

from acuity import __version__
from acuity.access.paths import AllowedPaths
from acuity.jobs.service import Jobs, JobsConfig
from longwire.product.allowlists import Allowlists
from longwire.product.asking import AskingRules
from longwire.product.calls import NamesBadParams
from longwire.product.catalog import Services
from longwire.config.foreign_environment import foreign_environment
from longwire.contract.launch import command_words
from longwire.guard.limits import CallLimits
from longwire.operations.metrics import Metrics
from longwire.operations.observe import Observer
from longwire.operations.tracing import trace_requests
from longwire.guard.rates import RateLimits
from longwire.cluster.cluster_node import ClusterNode
from longwire.dispatch.counters import RuntimeCounters
from longwire.workers.pool import WorkerPlan, WorkerPool
from longwire.workers.private_folder import PrivateFolder
from longwire.settings import Settings
from acuity.agents.standalone.product import NAME, Product
from longwire.server.serve import ServeOptions
from acuity.agents.tools import videos
from acuity.agents.tools.jobs import CARRIERS

logger: Final = logging.getLogger(__name__)

SETTINGS_VARIABLE: Final = "ACUITY_WORKER_SETTINGS"
_MODULE: Final = "acuity.agents.standalone.method_worker"
# The settings that matter to Acuity's own workers; all others are the runtime's.
_SENT: Final = (
    "data",
    "allow",
    "allow_write",
    "output_bytes",
    "binary",
    "bench_output",
    "vlm_model",
    "vlm_seconds",
    "workers",
    "queue",
    "queue_each",
    "running_each",
    "time_limit",
    "submitted_limit",
    "memory",
    "grace",
    "kept",
    "calls",
    "body",
    "client_timeout",
    "capability_policy",
    "cluster_redis",
    "cluster_node",
    "cluster_prefix",
)
_LONGEST_LINE: Final = 2000  # characters of a line that a worker prints


@asynccontextmanager
async def front(settings: Settings, cluster: ClusterNode | None = None) -> AsyncIterator[Product]:
    """The part of the server that is not in workers: middleware, and a view of the jobs."""
    paths = AllowedPaths.configured(settings.data, settings.allow, listed_by=videos.NAME)
    own = not settings.has_foreign_workers
    config = JobsConfig(
        workers=0,  # they are run elsewhere
        queue=settings.queue,
        time_limit=settings.time_limit,
        kept=settings.kept,
        data=settings.data if own else None,
    )
    async with Jobs(config) as jobs:
        metrics, counters = Metrics(()), RuntimeCounters()
        observer = Observer(metrics)
        carriers = CARRIERS if own else {}
        limits = CallLimits(settings, RateLimits(settings.rate, settings.tool_rates, carriers=carriers))
        asking = AskingRules(
            settings.capability_policy,
            settings.client_timeout,
            counters.count_request,
            () if cluster is None else (cluster.keys.request_state,),
        )
        server: Server[Any] = Server(NAME, version=__version__)
        server.middleware.extend([observer, limits, Allowlists(), asking.boundary(NAME), NamesBadParams()])
        trace_requests(server)
        try:
            yield Product(server, Services(settings, paths, jobs), limits, metrics, counters)
        finally:
            observer.flush()


@asynccontextmanager
async def workers_of(options: ServeOptions, made: Product) -> AsyncIterator[WorkerPool | None]:
    """The workers that the settings ask for, not started yet; they end with the block."""
    settings = options.settings
    if not settings.has_workers:
        yield None
        return
    folder = PrivateFolder()
    own = settings.worker_command is None
    command = (sys.executable, "-P", "-m", _MODULE) if own else command_words(settings.worker_command or "")
    count = settings.method_workers or (0 if own else 1)
    plan = WorkerPlan(
        command=tuple(command),
        count=count,
        sockets=settings.worker_sockets,
        queue=settings.worker_queue,
        queue_seconds=settings.worker_queue_seconds,
        call_seconds=settings.worker_call_seconds,
        ping_seconds=settings.worker_ping_seconds,
        silent_seconds=settings.worker_silent_seconds,
        max_requests=settings.worker_max_requests,
        affinity=settings.worker_affinity,
        environment=worker_environment(options, folder.path / "turns") if own else {},
        inherited=None if own else foreign_environment(os.environ, settings.worker_environment),
    )
    where = _places(count, "Acuity's own" if own else shlex.join(command), len(settings.worker_sockets))
    logger.info("methods run %s", where, extra={"event": "workers"})
    pool = WorkerPool(
        plan, made.counters.worker_events, on_output=_pass_on if own else _LoggedLines(made.counters)
    )
    forget = made.metrics.watch_workers(pool, made.counters)
    try:
        yield pool
    finally:
        forget()
        await pool.close()
        folder.remove()


def worker_environment(options: ServeOptions, turns: Path) -> dict[str, str]:
    """The variable that has everything Acuity's own workers need to know."""
    told = {name: getattr(options.settings, name) for name in _SENT}
    document = {
        "settings": {name: str(value) if isinstance(value, Path) else value for name, value in told.items()},
        "turns": str(turns),
        "log_level": options.log_level,
        "log_format": options.log_format,
    }
    return {SETTINGS_VARIABLE: json.dumps(document)}


def settings_from(document: dict[str, Any]) -> Settings:
    """The settings of a worker, from that variable."""
    told = dict(document)
    told["data"] = Path(told["data"])
    told |= {name: tuple(told[name]) for name in ("allow", "allow_write")}
    return dataclasses.replace(Settings(), **told)


def _places(count: int, program: str, sockets: int) -> str:
    """Where methods run, in words."""
    words = []
    if count:
        words.append(f"in {count} worker process{'' if count == 1 else 'es'} ({program})")
    if sockets:
        words.append(f"at {sockets} socket{'' if sockets == 1 else 's'} of workers that somebody else runs")
    return " and ".join(words)


def _pass_on(_: str, output: bytes) -> None:
    """Acuity's own workers write log lines: they go where the server's own go."""
    sys.stderr.buffer.write(output)
    sys.stderr.buffer.flush()


class _LoggedLines:
    """What other workers print, as lines of the server's log."""

    def __init__(self, counters: RuntimeCounters) -> None:
        self._counters = counters
        self._begun: dict[str, bytes] = {}

    def __call__(self, label: str, output: bytes) -> None:
        *lines, rest = (self._begun.pop(label, b"") + output).split(b"\n")
        if rest:
            self._begun[label] = rest[-_LONGEST_LINE:]
        for line in lines:
            text = line.decode("utf-8", "replace").strip()
            if text:
                fields = {"event": "worker_output", "worker": label}
                logger.info("worker %s: %s", label, text[:_LONGEST_LINE], extra=fields)
