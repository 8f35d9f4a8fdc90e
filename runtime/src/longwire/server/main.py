"""One server from its start to its end: its parts from the options, the product's catalog, every endpoint,
the operator's port, and what systemd is told."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, MutableMapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final

from longwire.admin.own_token import own_token
from longwire.admin.port import AdminPort
from longwire.admin.sources import Sources
from longwire.cluster.cluster_node import joined
from longwire.declared import Served, declared
from longwire.endpoints import Endpoint, Open, Page
from longwire.errors import SettingsError
from longwire.http_runtime import HttpRuntime
from longwire.operations.logs import Redactor, configure_logging
from longwire.operations.metrics import HEALTH, LoopLag, metrics_pages
from longwire.operations.tracing import configure_tracing
from longwire.server.method_workers import front, workers_of
from longwire.server.reload import Configuration, tell
from longwire.server.serve import ServeOptions, serve
from longwire.settings import Settings
from longwire.wire.listeners import Address, is_loopback
from longwire.wire.tasks import collect_rarely, loop_factory
from longwire.workers.pool import WorkerPool

_SHORTEST: Final = 0.1  # seconds between two signs of life


class ServiceManager:
    """The systemd that started this process, if one did. Nothing here fails or waits."""

    def __init__(self, environ: MutableMapping[str, str] = os.environ, pid: int | None = None) -> None:
        """`pid` is that of this process, for which alone the watchdog is meant.

        Its variables are taken out: workers that had them could speak for the server.
        """
        self._address = _address(environ.pop("NOTIFY_SOCKET", ""))
        own = environ.pop("WATCHDOG_PID", "") in ("", str(os.getpid() if pid is None else pid))
        microseconds = environ.pop("WATCHDOG_USEC", "")
        self._watchdog = int(microseconds) / 1e6 if own and microseconds.isdecimal() else None

    def __bool__(self) -> bool:
        """Whether systemd started this process."""
        return self._address is not None

    def ready(self, status: str) -> None:
        self._tell("READY=1", f"STATUS={' '.join(status.split())}")

    def stopping(self) -> None:
        """Tell systemd that the server was asked to stop, and that this may take a while."""
        self._tell("STOPPING=1", "STATUS=finishing what is in flight")

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Give signs of life while the block lasts. A process that hangs gives none, and is restarted."""
        if self._address is None or self._watchdog is None:
            yield
            return
        rest = max(self._watchdog / 2, _SHORTEST)

        async def beat() -> None:
            while True:
                self._tell("WATCHDOG=1")
                await asyncio.sleep(rest)

        beating = asyncio.ensure_future(beat())
        try:
            yield
        finally:
            beating.cancel()

    def _tell(self, *states: str) -> None:
        if self._address is None:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)  # rather no sign of life than a server that waits
            sender.sendto("\n".join(states).encode(), self._address)


def _address(given: str) -> str | None:
    """The address of its socket: a path, or a name that begins with '@'."""
    if given.startswith("@"):
        return "\0" + given[1:]
    return given if given.startswith("/") else None


@asynccontextmanager
async def admin_port(
    options: ServeOptions, sources: Sources, redactor: Redactor
) -> AsyncIterator[AdminPort | None]:
    """The operator's view, if the options ask for it; raises SettingsError where its token can't be kept."""
    if options.admin is None:
        yield None
        return
    tokens = options.admin_tokens
    if tokens is None:
        tokens, path = own_token(options.settings.data)
        redactor.hide(tokens)
        fields = {"event": "admin_token", "path": str(path)}
        logger.info("the token for /admin is in the file %s", path, extra=fields)
    admin = AdminPort(options.admin, sources, tokens, options.access, _tls(options, options.admin))
    try:
        yield admin
    finally:
        await admin.close()


logger: Final = logging.getLogger(__name__)


def run(options: ServeOptions) -> int:
    """Serve until a signal or the end of stdin; raises LongwireError if an endpoint can't be started."""
    check_serves(options.settings)
    secrets = [*options.access.tokens, *(options.admin_tokens or ())]
    redactor = configure_logging(options.log_level, options.log_format, secrets=secrets)
    for sentence in options.warnings:
        logger.warning("%s", sentence, extra={"event": "configuration"})
    end_tracing = configure_tracing()
    loops = loop_factory()
    if loops is None:
        logger.info(
            "with pip install 'longwire[uvloop]' requests take half the time", extra={"event": "asyncio"}
        )
    try:
        with asyncio.Runner(loop_factory=loops) as runner:
            runner.run(_run(options, redactor))
        logger.info("stopped", extra={"event": "stopped"})
    finally:
        end_tracing()
    return 0


def tool_names(settings: Settings) -> list[str] | None:
    """The tools of a server with these settings; None: foreign workers have them. Nothing is started."""
    return None if settings.has_foreign_workers else declared().tool_names(settings)


def check_serves(settings: Settings) -> None:
    """Raise SettingsError where there is neither a catalog nor a worker that has one."""
    product = declared()
    if product.serving is None and not settings.has_foreign_workers:
        raise SettingsError(
            f"{product.title} has no tools of its own: name workers that have, by "
            "--worker-command COMMAND or --worker-socket PATH"
        )


async def _run(options: ServeOptions, redactor: Redactor) -> None:
    named, settings = options.named, options.settings
    tools: list[str] | None = None
    serving = declared().serving
    making = front if settings.has_workers or serving is None else serving
    manager, configuration = ServiceManager(), Configuration(options)
    with configuration.reloading(redactor, lambda: named.of_tokens(tools), always=bool(manager)):
        async with (
            joined(settings) as cluster,
            making(settings, cluster) as made,
            workers_of(options, made) as workers,
        ):
            if made.tools or named:  # otherwise nobody asks for them, and making them takes a second
                tools = list(made.tools) or await asyncio.to_thread(tool_names, settings)
            tell(named.oversights(tools))
            ready = Readiness(workers, made.metrics.loop_lag)
            sources = Sources(settings, made.metrics, made.limits, made.jobs, ready.problem)
            configuration.on_change += [made.limits.become, sources.use]
            async with admin_port(options, sources, redactor) as admin, made.metrics.loop_lag.watched():
                endpoints = [*options.endpoints, *_pages(options, made, ready, admin)]

                def on_runtime(runtime: HttpRuntime) -> Callable[[], None]:
                    if admin is not None:
                        admin.sources.runtime = runtime
                        if runtime.peers is not None:
                            runtime.peers.operators = admin.peers
                    return made.metrics.watch_runtime(
                        runtime.counters, runtime.sessions.__iter__, runtime.nodes
                    )

                def opened(found: Sequence[Open]) -> None:
                    ready.opened()
                    manager.ready(f"serving {', '.join(one.where for one in found)}")

                def stopping() -> None:
                    ready.closed()
                    manager.stopping()

                collect_rarely()
                with manager.watched():
                    await serve(
                        made.server,
                        endpoints,
                        settings,
                        access=options.access,
                        limits=made.limits,
                        on_stop=made.jobs.stop if workers is None else workers.stop,
                        on_ready=opened,
                        on_stopping=stopping,
                        presence=made.metrics.connections,
                        counters=made.counters,
                        on_runtime=on_runtime,
                        cluster=cluster,
                        workers=workers,
                        on_tools=made.metrics.know,
                        wire=configuration.wire,
                    )


def _pages(
    options: ServeOptions, made: Served, ready: Readiness, admin: AdminPort | None
) -> Iterator[Endpoint]:
    """The ports for operators: figures, and the view at /admin."""
    if (address := options.metrics) is not None:
        pages = metrics_pages(made.metrics.registry, ready.problem)
        open_paths = frozenset(HEALTH)
        yield Page("metrics", address, pages, "/metrics", _tls(options, address), open_paths=open_paths)
    if admin is not None:
        yield admin.page


def _tls(options: ServeOptions, address: Address) -> ssl.SSLContext | None:
    """TLS for a port of operators, unless only this machine reaches it."""
    certificate = None if is_loopback(address.host) else options.certificate
    return None if certificate is None else certificate.context


class Readiness:
    """Whether the server accepts work: from when all endpoints are open until it is asked to stop.

    A server whose methods are in workers needs one of these, too; one whose loop is late takes no more work.
    """

    def __init__(self, workers: WorkerPool | None, lag: LoopLag) -> None:
        self._workers = workers
        self._lag = lag
        self._problem: str | None = "the server is starting"

    def problem(self) -> str | None:
        """Why the server accepts no work, in a sentence."""
        missing = None if self._workers is None else self._workers.problem()
        return self._problem or missing or self._lag.problem()

    def opened(self) -> None:
        self._problem = None

    def closed(self) -> None:
        self._problem = "the server is stopping"
