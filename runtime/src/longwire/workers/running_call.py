"""A request that a worker runs, driven without a task of its own.

The middleware is one coroutine around the call. Its first step sends the envelope; the frame with the outcome
makes the next one. So a plain call costs no task and no turn of the event loop. Where middleware waits for
something else, the rest goes on in a task.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Coroutine, Generator
from contextvars import copy_context
from typing import Any, Final, Protocol

from mcp.server.connection import Connection
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from longwire.contract.envelopes import Result
from longwire.contract.writing import json_text
from longwire.dispatch.dispatcher import continued
from longwire.dispatch.exchange import Exchange
from longwire.sessions.sending import TOO_MUCH, Overrun
from longwire.workers.call import Carrier, Outcome, WorkerCall, WorkerFailure

logger: Final = logging.getLogger(__name__)

_CANCELLED: Final = "notifications/cancelled"
MOST_WAITING: Final = 256  # messages of one call that wait here; more are not read from its worker
_STALLED: Final = 1.0  # seconds in which a client takes nothing, after which its worker is read again


class CallHome(Protocol):
    """What begins calls, as one of them sees it."""

    patience: float  # seconds in which a client has to take what waits for it

    def flooded(self, call: RunningCall) -> None: ...
    def over(self, call: RunningCall) -> None: ...


class RunningCall(WorkerCall):
    """One request of a client. It stands for the task of its exchange."""

    __slots__ = (
        "_asking", "_busy", "_future", "_held", "_home", "_inbox", "_outcome", "_questions", "_since",
        "_task", "_timer", "_variables", "_waits", "connection", "exchange", "work",
    )  # fmt: skip

    def __init__(self, home: CallHome, exchange: Exchange, connection: Connection) -> None:
        super().__init__()
        self._home = home
        self.exchange = exchange
        self.connection = connection
        self._variables = copy_context()
        self.work: Coroutine[Any, Any, dict[str, Any]] | None = None  # around this; None: it is over
        self._waits = False  # for the outcome, outside of a task
        self._task: asyncio.Task[None] | None = None
        self._future: asyncio.Future[None] | None = None  # that a task waits for
        self._outcome: Outcome | None = None
        self._inbox: deque[dict[str, Any]] = deque()  # messages that the client has not been sent
        self._busy = False  # with a message that has to wait
        self._since = 0.0  # when it began to wait
        self._held: Carrier | None = None  # is not read until there is room for more
        self._timer: asyncio.TimerHandle | None = None
        self._asking: set[asyncio.Future[None]] = set()
        self._questions: dict[str, asyncio.Task[None]] = {}  # to the client, by the worker's ids

    # ---- its steps --------------------------------------------------------------------------

    def begin(self) -> None:
        """Make the first step of the coroutine, in which this is awaited."""
        if self.work is not None:  # or it was cancelled before
            self._step()
            if not self.exchange.is_over:
                self.exchange.wait(self)

    def __await__(self) -> Generator[Any, Any, Outcome]:
        if self._outcome is None:
            if self._task is None:
                yield self
            else:
                self._future = asyncio.get_running_loop().create_future()
                yield from self._future
        assert self._outcome is not None
        return self._outcome

    def _step(self, problem: BaseException | None = None) -> None:
        work, exchange = self.work, self.exchange
        assert work is not None
        self._waits = False
        try:
            if problem is None:
                step = self._variables.run(work.send, None)
            else:
                step = self._variables.run(work.throw, problem)
        except StopIteration as done:
            exchange.succeed(done.value)
        except asyncio.CancelledError:
            exchange.cancelled()
        except Exception as error:
            exchange.fail(error)
        else:
            if step is self:
                self._waits = True
            else:
                self._go_on_in_task(continued(work, step))
            return
        finally:
            # Its traceback has this frame, and so the whole request: nothing would free them for long.
            problem = None
        self._over()

    def _go_on_in_task(self, work: Coroutine[Any, Any, Any]) -> None:
        self._task = asyncio.get_running_loop().create_task(self._finish(work), context=self._variables)
        self._task.add_done_callback(self._settle)

    async def _finish(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            result = await work
        except Exception as problem:
            self.exchange.fail(problem)
        else:
            self.exchange.succeed(result)

    def _settle(self, _: asyncio.Task[None]) -> None:
        if not self.exchange.is_over:
            self.exchange.cancelled()
        self._over()

    def _over(self) -> None:
        for task in self._asking:
            task.cancel()
        self._release()
        self.work = None
        self.exchange.task = None  # the exchange holds this call
        self._home.over(self)

    def cancel(self) -> None:
        """Stop it, because its client or the server asks for that."""
        work = self.work
        if self._task is not None:
            self._task.cancel()
        elif work is not None:
            if getattr(work, "cr_running", False):
                asyncio.get_running_loop().call_soon(self.cancel)
            else:
                self._step(asyncio.CancelledError())

    # ---- what comes from the worker ---------------------------------------------------------

    def came(self, messages: list[dict[str, Any]]) -> None:
        self._inbox.extend(messages)
        self._pump()
        if len(self._inbox) > MOST_WAITING and self._held is None and self.link is not None:
            self._held = self.link
            self._held.hold()
            # From when the client took its last message: a worker isn't held anew for each call of a client
            # that has read nothing for long.
            self._look_later(self._since, asyncio.get_running_loop().time() + self._home.patience)

    def _look_later(self, since: float, end: float) -> None:
        loop, waiting = asyncio.get_running_loop(), len(self._inbox)
        self._timer = loop.call_at(min(end, since + _STALLED), self._look, end, waiting)

    def _look(self, end: float, waiting: int) -> None:
        """Fail if the client takes nothing for a while, or too little: other calls need the worker."""
        taken = len(self._inbox) < waiting or self.exchange.awaits_store
        now = asyncio.get_running_loop().time()
        if taken and now < end:
            self._look_later(now, end)
        else:
            self._overrun(TOO_MUCH)

    def _overrun(self, sentence: str) -> None:
        """Fail, because the client or the store doesn't take what the worker sends."""
        self._inbox.clear()
        self._release()
        if self.work is None:
            return
        self._home.flooded(self)
        self._outcome = WorkerFailure("worker_protocol", sentence)
        self._resume()

    def _release(self) -> None:
        """Have the worker read again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._held is not None:
            self._held.release()
            self._held = None

    def ended(self, outcome: Outcome) -> None:
        if self._outcome is not None:
            return
        if type(outcome) is Result and outcome.messages:
            self.came(outcome.messages)
            if self._outcome is not None:
                return
        self._outcome = outcome
        if not self._busy and not self._inbox:
            self._resume()

    def _resume(self) -> None:
        if self._future is not None:
            if not self._future.done():
                self._future.set_result(None)
        elif self._waits:
            self._step()

    def _pump(self) -> None:
        """Send the messages that wait, in their order."""
        inbox = self._inbox
        while inbox and not self._busy:
            data = inbox.popleft()
            if "close" in data:
                self._close(data["close"])
                continue
            method, params = data["method"], data.get("params")
            if "id" in data:
                self._wait()
                self._ask(data["id"], method, params)
                asyncio.get_running_loop().call_soon(self._go_on)  # after the first step of that task
                return
            if method == _CANCELLED and self._gave_up(params):
                continue
            work = self.exchange.notify(method, params if isinstance(params, dict) else None)
            try:
                step = self._variables.run(work.send, None)
            except StopIteration:
                continue
            except Overrun as overrun:
                self._overrun(overrun.error.message)
                return
            self._wait()  # the client doesn't read, or the store is slow
            self._keep(asyncio.get_running_loop().create_task(self._sent(continued(work, step))))

    def _wait(self) -> None:
        self._busy = True
        self._since = asyncio.get_running_loop().time()

    def _close(self, stream: str) -> None:
        """End a connection of the client while the call goes on."""
        exchange = self.exchange
        close = exchange.close_sse_stream if stream == "call" else exchange.close_standalone_sse_stream
        if close is not None:
            self._keep(asyncio.ensure_future(close()))

    def _gave_up(self, params: Any) -> bool:
        """Whether a cancellation of the worker takes back a question to the client, by the question's id."""
        asked = params.get("requestId") if isinstance(params, dict) else None
        task = self._questions.get(asked) if type(asked) is str else None
        if task is not None:
            task.cancel()  # the cancelled task tells the client
        return task is not None

    def _go_on(self) -> None:
        self._busy = False
        self._pump()
        if self._held is not None and len(self._inbox) <= MOST_WAITING // 2:
            self._release()
        if self._outcome is not None and not self._busy and not self._inbox:
            self._resume()

    async def _sent(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            await work
        except Overrun as overrun:
            self._overrun(overrun.error.message)
        else:
            self._go_on()

    def _ask(self, request_id: Any, method: str, params: Any) -> None:
        """Send a request to the client, and its answer to the worker."""
        work = self._asked(request_id, method, params if isinstance(params, dict) else None)
        task = asyncio.get_running_loop().create_task(work, context=self._variables)
        self._keep(task)
        self._questions[str(request_id)] = task

    def _keep(self, task: asyncio.Future[None]) -> None:
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _asked(self, request_id: Any, method: str, params: dict[str, Any] | None) -> None:
        reply: dict[str, Any]
        try:
            reply = {"result": await self.exchange.send_raw_request(method, params)}
        except MCPError as problem:
            reply = {"error": problem.error.model_dump(mode="json", exclude_none=True)}
        except Exception:
            logger.exception("a request of a worker to its client failed")
            reply = {"error": {"code": INTERNAL_ERROR, "message": "the request could not be sent"}}
        if self.link is not None:
            self.link.respond(self, json_text({"jsonrpc": "2.0", "id": request_id, **reply}))
