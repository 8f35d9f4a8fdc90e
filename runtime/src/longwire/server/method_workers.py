"""The server whose methods are in workers: what it has itself, and how its workers are started."""

from __future__ import annotations

import logging
import os
import re
import shlex
import sys
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, nullcontext
from typing import Any, Final

from mcp.server.lowlevel import Server

from longwire.cluster.cluster_node import ClusterNode
from longwire.config.keys import keys
from longwire.contract.envelopes import command_words
from longwire.counters import RuntimeCounters
from longwire.declared import Served, declared
from longwire.operations.metrics import Metrics
from longwire.operations.observe import Observer
from longwire.operations.tracing import trace_requests
from longwire.principals.limits import CallLimits
from longwire.principals.rates import RateLimits
from longwire.product.allowlists import Allowlists
from longwire.product.asking import AskingRules
from longwire.product.calls import NamesBadParams
from longwire.server.serve import ServeOptions
from longwire.settings import Settings
from longwire.work import NoJobs
from longwire.workers.home import OnOutput, WorkerPlan
from longwire.workers.pool import WorkerPool
from longwire.workers.private_folder import PrivateFolder

_SECRET: Final = re.compile(
    r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY)S?(?:_|$)"
    r"|^OTEL_.*HEADERS$",
    re.IGNORECASE,
)


def foreign_environment(environ: Mapping[str, str], passed: Collection[str] = ()) -> dict[str, str]:
    """The variables that another program may see: those in `passed`, and all but secrets and our own."""
    own = {declared().config_variable, *(key.environment for key in keys())}
    return {
        name: value
        for name, value in environ.items()
        if name in passed or not (name in own or _SECRET.search(name))
    }


logger: Final = logging.getLogger(__name__)

_LONGEST_LINE: Final = 2000  # characters of a line that a worker prints


@asynccontextmanager
async def front(settings: Settings, cluster: ClusterNode | None = None) -> AsyncIterator[Served]:
    """The part of the server that is not in workers: middleware, and a view of the jobs."""
    product = declared()
    own = None if settings.has_foreign_workers else product.own_workers
    async with nullcontext(NoJobs()) if own is None else own.jobs(settings) as jobs:
        metrics, counters = Metrics(()), RuntimeCounters()
        observer = Observer(metrics)
        carriers = {} if own is None else own.carriers
        limits = CallLimits(settings, RateLimits(settings.rate, settings.tool_rates, carriers=carriers))
        sealing = () if cluster is None else (cluster.keys.request_state,)
        asking = AskingRules(
            settings.capability_policy, settings.client_timeout, counters.count_request, sealing
        )
        server: Server[Any] = Server(product.name, version=product.version)
        server.middleware.extend(
            [observer, limits, Allowlists(), asking.boundary(product.name), NamesBadParams()]
        )
        trace_requests(server)
        try:
            yield Served(server, jobs, limits, metrics, counters)
        finally:
            observer.flush()


@asynccontextmanager
async def workers_of(options: ServeOptions, made: Served) -> AsyncIterator[WorkerPool | None]:
    """The workers that the settings ask for, not started yet; they end with the block."""
    settings = options.settings
    if not settings.has_workers:
        yield None
        return
    folder = PrivateFolder()
    product = declared()
    own = product.own_workers if settings.worker_command is None else None
    command = own.command if own is not None else command_words(settings.worker_command or "")
    count = settings.method_workers or (1 if settings.worker_command else 0)
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
        environment={} if own is None else own.environment(options, folder.path / "turns"),
        inherited=None if own is not None else foreign_environment(os.environ, settings.worker_environment),
    )
    program = f"{product.title}'s own" if own is not None else shlex.join(command)
    where = _places(count, program, len(settings.worker_sockets))
    logger.info("methods run %s", where, extra={"event": "workers"})
    on_output: OnOutput = _pass_on if own is not None else _LoggedLines(made.counters)
    pool = WorkerPool(plan, made.counters.worker_events, on_output)
    forget = made.metrics.watch_workers(pool, made.counters)
    try:
        yield pool
    finally:
        forget()
        await pool.close()
        folder.remove()


def _places(count: int, program: str, sockets: int) -> str:
    words = []
    if count:
        words.append(f"in {count} worker process{'' if count == 1 else 'es'} ({program})")
    if sockets:
        words.append(f"at {sockets} socket{'' if sockets == 1 else 's'} of workers that somebody else runs")
    return " and ".join(words)


def _pass_on(_: str, output: bytes) -> None:
    """The product's own workers write log lines: they go where the server's own go."""
    sys.stderr.buffer.write(output)
    sys.stderr.buffer.flush()


class _LoggedLines:
    """Writes the output of other workers as lines of the server's log."""

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
