"""The workers of one server: chosen for calls, drained, ended; and the queue before them.

A call goes to the worker with the fewest calls (in turn, where several have as few), or to the one that its
session is bound to. If none has room it waits in a queue, whose length and time are bounded. A worker has no
room until it has read what it was sent: so calls that it never began go to the others when it hangs.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from longwire.contract import writing
from longwire.contract.envelopes import SessionEnd
from longwire.supervised_process import waited
from longwire.wire.tasks import RunningTasks
from longwire.workers.call import WorkerCall, WorkerFailure
from longwire.workers.home import OnNotify, OnOutput, WorkerPlan
from longwire.workers.private_folder import PrivateFolder
from longwire.workers.slot import Slot
from longwire.workers.worker import Worker, WorkerStatus

logger: Final = logging.getLogger(__name__)

_FIRST_START: Final = 20.0  # seconds in which calls wait for the first worker, however long that takes
_STOPPING: Final = "the server is stopping, and has ended this call: call again later"
_LOOK: Final = 0.5  # seconds between two looks at the queue, at most
_SESSIONS: Final = 100_000  # that are remembered as bound to a worker


class WorkerPool:
    """Gives calls to workers, and keeps a worker in each place."""

    def __init__(self, plan: WorkerPlan, counters: Counter[str], on_output: OnOutput | None = None) -> None:
        self.plan = plan
        self.counters = counters
        self.on_output = on_output
        self.on_notify: OnNotify = lambda _, answer: None
        self.on_ready: Callable[[], None] = lambda: None  # is called for each worker that can be used
        self.cluster: str | None = None  # a name for the nodes that this server is one of
        self.closing = False
        self.tasks = RunningTasks()
        self._folder: PrivateFolder | None = None  # of the sockets
        self._loop = asyncio.get_running_loop()
        started = [Slot(self, f"w{number}") for number in range(1, plan.count + 1)]
        self._slots = started + [
            Slot(self, f"s{number}", path) for number, path in enumerate(plan.sockets, 1)
        ]
        self._queue: deque[WorkerCall] = deque()
        self._bound: dict[str, Worker] = {}  # sessions to workers that keep something of them
        self._timer: asyncio.TimerHandle | None = None
        self._is_forwarding = False  # in this turn of the loop
        self._first_ready = asyncio.Event()
        self._turn = 0  # the place that is looked at first
        self._without = self._loop.time()  # since when there is no worker, if there is none
        self._is_missed = False  # the log says that there is none

    # ---- for operators ----------------------------------------------------------------------

    def statuses(self) -> Sequence[WorkerStatus]:
        return [status for slot in self._slots for status in slot.statuses()]

    @property
    def queued(self) -> int:
        return len(self._queue)

    def drain(self, worker_id: str) -> bool:
        """Let a worker finish what it runs, end it and start another; False: there is none of that id."""
        for slot in self._slots:
            if slot.label == worker_id and (worker := slot.usable) is not None:
                logger.info("worker %s is drained", slot.label, extra={"event": "worker_drained"})
                worker.retire()
                return True
        return False

    def restart(self, worker_id: str) -> bool:
        """End a worker at once, with what it runs, and start another; False: there is none of that id."""
        return any(slot.restart() for slot in self._slots if slot.label == worker_id)

    def problem(self) -> str | None:
        """Why no call can be run now, in a sentence; None: there is a worker."""
        if any(slot.usable for slot in self._slots):
            return None
        return "no worker is running" if self._first_ready.is_set() else "no worker has started yet"

    @property
    def missing_seconds(self) -> float:
        return 0.0 if self.problem() is None else self._loop.time() - self._without

    # ---- calls ------------------------------------------------------------------------------

    def submit(self, call: WorkerCall) -> None:
        """Give a call to a worker, or let it wait for one."""
        if not self._queue and (worker := self._choose(call)) is not None:
            worker.send(call)
            return
        # Calls that the workers could run besides those they have may wait, too.
        spare = sum([worker.link.spare for worker in self._usable])
        if self.closing:
            call.ended(WorkerFailure("worker_lost", "the server is stopping: call again later"))
        elif len(self._queue) >= self.plan.queue + spare:
            self.counters["worker_queue_full"] += 1
            sentence = "too many calls wait already: try again later"
            call.ended(WorkerFailure("worker_queue_full", sentence))
        else:
            self.counters["queued"] += not spare
            call.began = self._loop.time()
            self._queue.append(call)
            self.freed()  # another call may wait for one worker alone
            self._look_later()

    def withdraw(self, call: WorkerCall, reason: str) -> None:
        """Take back a call whose client no longer waits."""
        if call.link is not None:
            call.link.withdraw(call, reason)
        else:
            with contextlib.suppress(ValueError):
                self._queue.remove(call)

    def session_ended(self, session_id: str, reason: str) -> None:
        """Tell all workers that a session has ended: any of them may keep data of it."""
        if (bound := self._bound.pop(session_id, None)) is not None:
            bound.sessions -= 1
        for worker in self._workers():
            if worker.link.is_open:
                worker.link.write(writing.envelope(SessionEnd(session_id, reason)))

    def freed(self) -> None:
        """Look at the queue once in this turn of the loop, for all that came."""
        if self._queue and not self._is_forwarding:
            self._is_forwarding = True
            self._loop.call_soon(self._forward)

    def _choose(self, call: WorkerCall) -> Worker | None:
        """The worker that a call goes to now; None: it has to wait."""
        session_id = call.session_id
        bound = self._bound.get(session_id) if session_id is not None and self._bound else None
        if bound is not None and bound.usable:
            return bound if bound.link.has_room(len(self._queue)) else None
        best, least, slots, waiting = None, 0, self._slots, len(self._queue)
        for step in range(len(slots)):
            worker = slots[(self._turn + step) % len(slots)].current
            if worker is None or not worker.usable or not worker.link.has_room(waiting):
                continue
            weight = worker.weight(session_id is not None and self._binds(worker))
            if best is None or weight < least:
                best, least, chosen = worker, weight, step
        if best is None:
            return None
        self._turn = (self._turn + chosen + 1) % len(slots)
        if session_id is not None and self._binds(best):
            self._bind(session_id, best)
        return best

    def _bind(self, session_id: str, worker: Worker) -> None:
        if len(self._bound) >= _SESSIONS:
            for bound in self._bound.values():
                bound.sessions = 0
            self._bound.clear()
        self._bound[session_id] = worker
        worker.sessions += 1

    def _binds(self, worker: Worker) -> bool:
        asked, hello = self.plan.affinity, worker.link.hello
        return asked == "session" or (asked == "auto" and hello is not None and hello.affinity == "session")

    def _forward(self) -> None:
        """Send the calls of the queue that a worker has room for, the oldest first."""
        self._is_forwarding = False
        passed: list[WorkerCall] = []  # whose own worker has no room
        while self._queue:
            call = self._queue[0]
            worker = self._choose(call)
            if worker is not None:
                worker.send(self._queue.popleft())
            elif call.session_id in self._bound:
                passed.append(self._queue.popleft())
            else:
                break
        self._queue.extendleft(reversed(passed))
        if self._queue:
            for worker in self._usable:
                worker.link.ask()

    @property
    def _usable(self) -> Iterator[Worker]:
        """The workers that are given calls."""
        return (worker for slot in self._slots if (worker := slot.usable) is not None)

    def _workers(self) -> list[Worker]:
        return [worker for slot in self._slots for worker in slot.workers()]

    def _look_later(self) -> None:
        if self._timer is None and self._queue:
            seconds = min(_LOOK, self.plan.queue_seconds / 4)
            self._timer = self._loop.call_later(seconds, self._look)

    def _look(self) -> None:
        """End the calls that have waited too long."""
        self._timer = None
        now, most = self._loop.time(), self.plan.queue_seconds
        while self._queue and not self._begins and now - self._queue[0].began > most:
            call = self._queue.popleft()
            self.counters["worker_queue_timeout"] += 1
            sentence = f"no worker was free within {most:g} s: try again later"
            call.ended(WorkerFailure("worker_queue_timeout", sentence, self._why_none(sentence)))
        self._look_later()

    @property
    def _begins(self) -> bool:
        """Whether the first workers are still being started, and none has failed."""
        if self._first_ready.is_set() or not self.plan.count:
            return False
        in_time = self._loop.time() - self._without < _FIRST_START
        return in_time and not any(slot.problem for slot in self._slots)

    def _why_none(self, sentence: str) -> str | None:
        problems = [slot.problem for slot in self._slots if slot.problem is not None]
        return f"{sentence}; {problems[0]}" if len(problems) == len(self._slots) else None

    # ---- their lives ------------------------------------------------------------------------

    async def start(self) -> None:
        if self.plan.count:
            self._folder = PrivateFolder()
        for slot in self._slots:
            self.tasks.spawn(slot.keep())

    async def ready(self, seconds: float) -> bool:
        """Wait until the first worker is ready; False: none is, after so long."""
        return await waited(self._first_ready, seconds)

    async def stop(self, grace: float) -> None:
        """Let the workers finish what they run, for so many seconds; no other is started."""
        self.closing = True
        await asyncio.gather(*(worker.finish(grace, _STOPPING) for worker in self._workers()))

    async def close(self) -> None:
        """End all workers now; afterwards there is no process left."""
        self.closing = True
        if self._timer is not None:
            self._timer.cancel()
        workers = self._workers()
        try:
            self.tasks.cancel()
            await asyncio.gather(*(worker.end() for worker in workers), return_exceptions=True)
            await self.tasks.end()
        finally:
            for worker in workers:
                worker.kill()
            if self._folder is not None:
                self._folder.remove()
            for call in self._queue:
                call.ended(WorkerFailure("worker_lost", "the server has stopped"))
            self._queue.clear()

    # ---- what places tell -------------------------------------------------------------------

    def socket(self, name: str) -> str:
        """The path of a socket for a worker that is started."""
        assert self._folder is not None
        return str(self._folder.path / f"{name}.sock")

    def note_ready(self) -> None:
        if self._is_missed:
            self._is_missed = False
            logger.warning("there is a worker again", extra={"event": "workers_back"})
        self.counters["starts"] += 1
        self._first_ready.set()
        self.on_ready()
        self.freed()

    def note_absence(self) -> None:
        """Note since when there is no worker, if one has just left."""
        if self.problem() is not None:
            self._without = self._loop.time()

    def note_failure(self) -> None:
        """Say so in the log if the worker that failed was the last."""
        if self.problem() is not None and not self._is_missed:
            self._is_missed = True
            sentence = "no worker is left: calls wait for one, and this server is not ready"
            logger.error(sentence, extra={"event": "workers_missing"})
