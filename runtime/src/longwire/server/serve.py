"""Serves one server object on several endpoints at once, and stops them in order.

Probable oversights of an operator (names that no tool has, tokens that can't work, open files) keep no server
from starting: each is a sentence, for the log and for `--check`.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, Final

import anyio
from mcp.server.lowlevel import Server

from longwire.cluster.cluster_node import ClusterNode
from longwire.cluster.shared_rates import SharedAllowances
from longwire.config.effective import Effective
from longwire.counters import RuntimeCounters
from longwire.dispatch.draining import PATIENCE
from longwire.endpoints import Endpoint, Http, Open, Stdio, open_endpoint
from longwire.guard.access import Access
from longwire.guard.grants import NO_SCOPES, Scopes
from longwire.guard.tokens import TokenFile, Tokens
from longwire.http_runtime import HttpRuntime, http_runtime
from longwire.names import expected_errors
from longwire.principals.limits import CallLimits
from longwire.principals.principal import Kind
from longwire.settings import MEMORY, Settings, WireLimits
from longwire.text import quoted
from longwire.wire.http.tls import Certificate
from longwire.wire.listeners import Address
from longwire.wire.serving import IGNORED, Presence, Serving, shared_lifespan
from longwire.workers.pool import WorkerPool

# The method without which a list of that kind has no effect.
_USED_BY: Final[Mapping[Kind, str]] = {
    "tools": "tools/call",
    "resources": "resources/read",
    "prompts": "prompts/get",
}


@dataclass(frozen=True, slots=True)
class Named:
    """The names of tools and scopes in the settings."""

    rates: Mapping[str, Any] = field(default_factory=dict)  # by tool or pattern
    scopes: Scopes = NO_SCOPES
    tokens: Tokens = field(default_factory=Tokens)

    def __bool__(self) -> bool:
        return bool(self.rates or self.scopes.tools or any(one.tools for one in self.tokens.granted.values()))

    def oversights(self, tools: Collection[str] | None) -> Iterator[str]:
        """A sentence for each name that is none of the tools, or none of the scopes.

        None: nobody knows the tools yet, as those of foreign workers.
        """
        yield from _unmatched(self.rates, tools, "[limits.tools]")
        for scope, patterns in self.scopes.tools.items():
            yield from _unmatched(patterns, tools, f"the scope '{scope}' of [auth.scopes]")
        yield from self.of_tokens(tools)

    def of_tokens(self, tools: Collection[str] | None) -> Iterator[str]:
        """The oversights of the tokens alone, which change when their file is read again."""
        opened = frozenset[str]().union(*self.scopes.tools.values())
        for name, principal in self.tokens.granted.items():
            yield from _unmatched((principal.tools or frozenset()) - opened, tools, f"the tokens of '{name}'")
            for scope in sorted(principal.scopes - self.scopes.tools.keys()):
                near = _near(scope, self.scopes.tools)
                yield f"the tokens of '{name}' have the scope {quoted(scope)}, which opens no tool{near}"
            for kind, method in _USED_BY.items():
                if principal.lists[kind] and not principal.may_use("methods", method):
                    yield f"the tokens of '{name}' have {kind}, but no method '{method}' to use them"
        if isinstance(self.tokens, TokenFile):
            yield from self.tokens.oversights()


def _unmatched(patterns: Iterable[str], tools: Collection[str] | None, where: str) -> Iterator[str]:
    if tools is None:
        return
    for pattern in sorted(patterns):
        if not any(fnmatchcase(tool, pattern) for tool in tools):
            yield f"no tool matches {quoted(pattern)} in {where}{_near(pattern, tools)}"


def _near(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), 1)
    return f": did you mean '{near[0]}'?" if near else ""


logger: Final = logging.getLogger(__name__)

# Ends the running work within the given number of seconds.
OnStop = Callable[[float], Coroutine[Any, Any, None]]

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_SPARE: Final = 2.0  # seconds after the grace time for cleaning up
# Seconds in which a node that has left still says so on connections that proxies keep: a proxy can't send a
# request again if its connection is closed on it.
_FAREWELL: Final = 0.5
_TURN: Final = 0.02  # seconds in which calls that were taken before are counted as in flight
_HURRY: Final = 0.25  # seconds for the store where a second signal came


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The options of the command line."""

    settings: Settings
    endpoints: Sequence[Endpoint]
    access: Access = field(default_factory=Access)
    metrics: Address | None = None
    admin: Address | None = None
    admin_tokens: Tokens | None = None  # None: one is made, in the data folder
    certificate: Certificate | None = None
    scopes: Scopes = NO_SCOPES
    found: Effective | None = None  # the values that these options were made of
    again: Callable[[], Effective] | None = None  # finds them again; raises SettingsError
    log_level: str = "info"
    log_format: str = "json"
    warnings: Sequence[str] = ()  # sentences for the log

    @property
    def named(self) -> Named:
        return Named(self.settings.tool_rates, self.scopes, self.access.tokens)


class Stop:
    """A request to stop the server: the first is graceful, the second takes effect at once."""

    def __init__(self) -> None:
        self.soon = anyio.Event()
        self.now = anyio.Event()

    def request(self) -> None:
        (self.now if self.soon.is_set() else self.soon).set()

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Let SIGTERM and SIGINT request a stop. In the main thread only."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._signalled, number)
        try:
            yield
        finally:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)

    def _signalled(self, number: signal.Signals) -> None:
        logger.info("got %s", number.name, extra={"event": "signal", "signal": number.name})
        self.request()


async def serve(
    server: Server[Any],
    endpoints: Sequence[Endpoint],
    settings: Settings,
    *,
    access: Access | None = None,
    limits: CallLimits | None = None,
    on_stop: OnStop | None = None,
    on_ready: Callable[[Sequence[Open]], None] | None = None,
    on_stopping: Callable[[], None] = lambda: None,
    on_runtime: Callable[[HttpRuntime], Callable[[], None]] | None = None,
    presence: Presence = IGNORED,
    counters: RuntimeCounters | None = None,
    stop: Stop | None = None,
    cluster: ClusterNode | None = None,
    workers: WorkerPool | None = None,
    on_tools: Callable[[Iterable[str]], None] | None = None,
    wire: WireLimits | None = None,
) -> None:
    """Serve until a signal, or until stdin ends if that is one of the endpoints.

    `limits` is the server's middleware that counts its calls; one is added if there is none.
    `on_runtime` is given what the HTTP endpoints share, if any; what it returns is called at the end.
    `presence` is told about network connections. `on_stopping` is called as soon as it is asked to stop.
    `workers` run the methods, if not this process; `on_tools` is told the names of their tools.
    `wire` are limits that may be changed meanwhile, if not those of the settings.
    A node of a `cluster` shares its sessions. Without `stop`, signals end it.
    Raises SettingsError if an endpoint can't be opened.
    """
    if limits is None:
        limits = CallLimits(settings)
        server.middleware.append(limits)
    async with AsyncExitStack() as stack:
        stack.enter_context(_one_sentence())
        if stop is None:
            stop = Stop()
            stack.enter_context(stop.on_signals())
        state = await stack.enter_async_context(shared_lifespan(server))
        requested, is_stopping = stop.request, False

        def ended() -> None:
            """Stop at the end of stdin, unless the server is stopping already."""
            nonlocal is_stopping
            if not is_stopping:
                is_stopping = True
                requested()

        access = access or Access()
        limits.refused = access.refused  # one count, whichever check refuses
        if cluster is not None:
            limits.shared = SharedAllowances(cluster.nodes)
        serving = Serving(
            server, wire or settings.wire_limits(), state, access, presence=presence, charge=limits.charge
        )
        runtime: HttpRuntime | None = None
        if any(isinstance(endpoint, Http) for endpoint in endpoints):
            runtime = await stack.enter_async_context(
                http_runtime(serving, settings.store, counters, workers, cluster, on_tools)
            )
            if settings.store != MEMORY:
                back = len(runtime.sessions)
                fields = {"event": "store", "store": settings.store, "sessions": back}
                logger.info("sessions are kept in %s, %d came back", settings.store, back, extra=fields)
            if on_runtime is not None:
                stack.callback(on_runtime(runtime))
        opened: list[Open] = []
        for endpoint in endpoints:
            if isinstance(endpoint, Stdio):  # its end is the server's
                endpoint = replace(endpoint, on_end=ended)
            opened += await stack.enter_async_context(open_endpoint(endpoint, serving, runtime))
        for found in opened:
            told = {"event": "listening", "transport": found.transport, "address": found.where}
            logger.info("listening on %s", found.where, extra=told)
        if on_ready is not None:
            on_ready(opened)
        await stop.soon.wait()
        is_stopping = True
        on_stopping()
        await _drain(opened, runtime, limits, settings.grace, on_stop, stop)


@contextmanager
def _one_sentence() -> Iterator[None]:
    """Raise the original error instead of the exception groups that task groups wrap it in."""
    try:
        yield
    except BaseExceptionGroup as group:
        found: BaseException | None = group.subgroup(expected_errors())
        while isinstance(found, BaseExceptionGroup):
            found = found.exceptions[0]
        if found is None:
            raise
        raise found from None


async def _drain(
    opened: Sequence[Open],
    runtime: HttpRuntime | None,
    limits: CallLimits,
    grace: float,
    on_stop: OnStop | None,
    stop: Stop,
) -> None:
    """Refuse new requests, give those in flight the grace time, and send clients of sessions elsewhere."""
    logger.info("stopping", extra={"event": "stopping", "calls": limits.in_flight, "grace": grace})
    for endpoint in opened:
        endpoint.close()
    if runtime is not None:
        runtime.drain.begin()
        await anyio.sleep(_TURN)
    limits.stop()

    async def hurry() -> None:
        await stop.now.wait()
        waiting.cancel_scope.cancel()

    async with anyio.create_task_group() as waiting:
        waiting.start_soon(hurry)
        with anyio.move_on_after(grace + _SPARE):
            async with anyio.create_task_group() as work:
                if on_stop is not None:
                    work.start_soon(on_stop, grace)
                with anyio.move_on_after(grace):
                    await limits.idle()
        waiting.cancel_scope.cancel()
    if runtime is not None:
        await runtime.drain.leave(_HURRY if stop.now.is_set() else PATIENCE)
        if runtime.ownership is not None:
            with anyio.move_on_after(_FAREWELL):
                await stop.now.wait()
