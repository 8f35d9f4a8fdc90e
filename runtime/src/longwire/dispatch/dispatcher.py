"""Runs requests: in place where they end at once, in one task each where they wait for something."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context as Variables
from contextvars import copy_context
from types import coroutine
from typing import Any, Final, TypeAlias, cast

from mcp.server.connection import Connection
from mcp.server.runner import ServerRunner, aclose_shielded
from mcp.shared.dispatcher import DispatchContext
from mcp.shared.transport_context import TransportContext

from longwire.dispatch.connections import EnvelopeConnection
from longwire.dispatch.exchange import Exchange, Given
from longwire.dispatch.fast_calls import CALL, FastCalls, Work
from longwire.principals.principal import Holders
from longwire.product.app import CatalogServer
from longwire.wire.serving import Serving
from longwire.wire.tasks import RunningTasks, is_coroutine_function

logger: Final = logging.getLogger(__name__)

Context: TypeAlias = DispatchContext[TransportContext]  # of a notification

# Methods whose handlers never wait for anything.
_AT_ONCE: Final = frozenset(
    {"initialize", "ping", "server/discover", "tools/list", "prompts/list", "resources/templates/list"}
)


class TurnsEnd:
    """Runs the first request of a turn of the loop at once, since it may be alone, and the others at its end.

    A request passes through more code than a processor's cache holds. Reading all that has come, and then
    running all of it, takes a quarter less time than to read and run each request by itself.
    """

    __slots__ = ("_begun", "_waiting", "gathers")

    def __init__(self) -> None:
        self.gathers = False  # False: all are run at once
        self._begun = False
        self._waiting: list[tuple[Exchange, Variables, Callable[..., None], tuple[Any, ...]]] = []

    def run(self, exchange: Exchange, variables: Variables, work: Callable[..., None], *given: Any) -> None:
        """Call a function of a request with these variables, now or at the end of the turn."""
        if self._begun:
            self._waiting.append((exchange, variables, work, given))
            return
        if self.gathers:
            self._begun = True
            asyncio.get_running_loop().call_soon(self.end)
        variables.run(work, *given)

    def end(self) -> None:
        """Run what waits; a turn begins."""
        self._begun = False
        waiting, self._waiting = self._waiting, []
        for exchange, variables, work, given in waiting:
            try:
                variables.run(work, *given)
            except Exception:  # the others go on
                logger.exception("the request %r could not be answered", exchange.request_id)
                if not exchange.is_over:
                    exchange.cancelled()


class Dispatcher:
    """Runs the requests and notifications of one server's clients, and knows those that still run."""

    def __init__(self, serving: Serving) -> None:
        self._server = server = serving.server
        self._state = serving.lifespan_state
        self._tasks = RunningTasks()
        self._exchanges: dict[asyncio.Task[None], Exchange] = {}
        self._closing = RunningTasks()
        self.turn = TurnsEnd()
        self._calls = FastCalls(server, self._state)
        tools = server.catalog.tools if isinstance(server, CatalogServer) else ()
        self._plain = frozenset(tool.name for tool in tools if not is_coroutine_function(tool.run))

    def request(self, exchange: Exchange, connection: Connection, method: str, params: Given) -> None:
        """Run a request, in place if it ends at once; its exchange is given the outcome, now or later."""
        work: Work | None = None
        if method == CALL:
            at_once = params is not None and params.get("name") in self._plain
            work = self._calls.begin(exchange, connection, params)
        else:
            at_once = method in _AT_ONCE or self._server.get_request_handler(method) is None
            work = self._calls.begin_list(exchange, connection, method, params)
        if work is None:
            runner = ServerRunner(self._server, connection, self._state)
            work = cast(Work, runner.on_request(exchange, method, params))
        variables = copy_context()
        if at_once:
            self.turn.run(exchange, variables, self._begin, exchange, connection, work, variables)
        else:
            self._wait(exchange, connection, work, variables)

    def _begin(self, exchange: Exchange, connection: Connection, work: Work, variables: Variables) -> None:
        """Run a request in place, and in a task from where it has to wait."""
        if exchange.is_over:  # it was cancelled before its turn
            work.close()
        else:
            try:
                step = work.send(None)
            except StopIteration as done:
                exchange.succeed(done.value)
            except asyncio.CancelledError:
                exchange.cancelled()
            except Exception as problem:
                exchange.fail(problem)
            else:
                work = continued(work, step)
        if exchange.is_over:
            self._let_go(connection)
        else:
            self._wait(exchange, connection, work, variables)

    def _wait(self, exchange: Exchange, connection: Connection, work: Work, variables: Variables) -> None:
        task = self._tasks.spawn(_finish(exchange, work), variables)
        self._exchanges[task] = exchange
        task.add_done_callback(lambda _: self._settle(exchange, work, connection))
        task.add_done_callback(self._exchanges.pop)
        exchange.wait(task)

    def notification(
        self, context: Context, connection: Connection, method: str, params: Given
    ) -> asyncio.Task[None] | None:
        """Run a client's notification; the task that its handler goes on in, if it has not ended."""
        runner = ServerRunner(self._server, connection, self._state)
        work = cast("Coroutine[Any, Any, None]", runner.on_notify(context, method, params))
        variables = copy_context()
        if self._server.get_notification_handler(method) is None:
            try:
                step = variables.run(work.send, None)
            except StopIteration:
                return None
            work = continued(work, step)
        return self._tasks.spawn(work, variables)

    def end_gone(self, gone: Holders) -> None:
        """Cancel the requests of principals whose tokens are no longer valid."""
        for task, exchange in list(self._exchanges.items()):
            if gone.include(exchange.request.principal):
                task.cancel()

    def clean_up(self, connection: Connection) -> None:
        """Call the functions that handlers registered for the end of a connection."""
        self._closing.spawn(aclose_shielded(connection))

    def session_ended(self, session_id: str, reason: str) -> None:
        """Do nothing: workers may keep data of a session, but handlers of this process have clean_up()."""

    async def close(self) -> None:
        self.turn.end()
        await self._tasks.end()
        await self._closing.ended()  # each takes a few seconds at most

    def _settle(self, exchange: Exchange, work: Work, connection: Connection) -> None:
        """Look after an exchange whose task has ended; a task may be cancelled before it has begun."""
        work.close()
        if not exchange.is_over:
            exchange.cancelled()
        exchange.task = None  # a cancelled task holds the frames that it ended in, and they hold the exchange
        self._let_go(connection)

    def _let_go(self, connection: Connection) -> None:
        """End the connection of one request, if a handler has left something to be cleaned up."""
        if isinstance(connection, EnvelopeConnection) and connection.is_used:
            self.clean_up(connection)


async def _finish(exchange: Exchange, work: Work) -> None:
    try:
        result = await work
    except Exception as problem:
        exchange.fail(problem)
    else:
        exchange.succeed(result)


@coroutine
def _rest(work: Coroutine[Any, Any, Any], step: Any) -> Generator[Any, Any, Any]:
    try:
        while True:
            try:
                sent = yield step
            except GeneratorExit:
                work.close()
                raise
            except BaseException as problem:
                step = work.throw(problem)
            else:
                step = work.send(sent)
    except StopIteration as done:
        return done.value


async def continued(work: Coroutine[Any, Any, Any], step: Any) -> Any:
    """The rest of a coroutine whose first step was made outside of a task."""
    return await _rest(work, step)
