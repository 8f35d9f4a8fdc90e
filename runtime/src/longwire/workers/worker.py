"""One worker: its process, if it was started here, and the connection to it."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from longwire.contract.envelopes import command_with_socket, worker_environment
from longwire.supervised_process import SupervisedProcess, waited
from longwire.text import one_line, shortened
from longwire.workers.call import WorkerCall, WorkerFailure
from longwire.workers.home import WorkersHome
from longwire.workers.link import WorkerLink

logger: Final = logging.getLogger(__name__)

START_SECONDS: Final = 60.0  # until a started worker listens
SOUND_SECONDS: Final = 5.0  # of use after which earlier failures are forgotten
END_SECONDS: Final = 3.0  # after SIGTERM, before SIGKILL
_SHOWN: Final = 300  # characters of a worker's last output in a sentence
_SILENT: Final = "it does not say whether it is alive, and gets no calls until it does"
_LAST_WORDS: Final = 0.5  # seconds in which a worker that closed its connection may end by itself
_LEAVING: Final = 1 << 40  # the weight of one that is being replaced: others come first

WorkerState: TypeAlias = Literal["starting", "ready", "draining", "waiting", "ended"]


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """The state of one worker at one moment, for operators."""

    id: str  # its label, such as w1
    state: WorkerState  # waiting: its next start is put off after failures
    socket: str
    pid: int | None  # None: not started here, or not running
    name: str  # as it calls itself in its hello
    in_flight: int
    served: int  # calls since its start
    restarts: int
    since: float  # seconds since 1970, of its start
    problem: str | None = None  # why it is not ready, in a sentence


class Worker:
    """One start of a worker, or one connection to a worker that somebody else runs."""

    def __init__(self, home: WorkersHome, label: str, socket: str, *, external: bool) -> None:
        """`external`: somebody else runs it; others are started by the pool's command."""
        self.home = home
        self.label = label
        self.socket = socket
        self.since = time.time()
        self._ready_at: float | None = None
        self._loop = asyncio.get_running_loop()
        self.problem: str | None = None  # why it can't be used
        self._brief: str | None = None  # the same without what it printed
        self.usable = False  # may be given calls
        self.leaving = asyncio.Event()  # another should take its place
        self.sessions = 0  # sessions bound to it
        self._finishing = False
        self._cut_off = False  # it has closed its connection, and may be about to end
        self.link = WorkerLink(home, label, self.lost, self.leaves)
        self._process: SupervisedProcess | None = None
        plan, on_output = home.plan, home.on_output
        if not external and plan.command is not None:
            self._process = SupervisedProcess(
                command_with_socket(plan.command, socket),
                self._exited,
                environment={**plan.environment, **worker_environment(label, socket)},
                inherited=plan.inherited,
                killed_with_parent=True,
                on_output=None if on_output is None else lambda data: on_output(label, data),
            )

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def weight(self, for_session: bool) -> int:
        """Its present load: the worker with the least is given a call, or a session."""
        weight = self.link.in_flight
        if for_session:
            weight += self.sessions << 20
        return weight + _LEAVING if self.leaving.is_set() else weight

    @property
    def has_answered(self) -> bool:
        return self.link.served > 0

    @property
    def ready_seconds(self) -> float:
        return 0.0 if self._ready_at is None else self._loop.time() - self._ready_at

    def status(self, worker_id: str, restarts: int) -> WorkerStatus:
        hello = self.link.hello
        state: WorkerState = "ready" if self.usable else "starting"
        if self._finishing:
            state = "draining"
        elif self.leaving.is_set() and not self.usable:
            state = "ended"
        return WorkerStatus(
            worker_id,
            state,
            self.socket,
            self.pid,
            hello.name if hello is not None else "",
            self.link.in_flight,
            self.link.served,
            restarts,
            self.since,
            _SILENT if self.problem is None and self.link.life.doubted else self.problem,
        )

    # ---- its life ---------------------------------------------------------------------------

    async def connect(self) -> bool:
        """Start it and wait until it has said hello; False: `problem` says why it hasn't."""
        if self._process is not None:
            self._process.start()
        if await self._reached() and await self.link.greeted is not None:
            self._ready_at = self._loop.time()
            self.usable = not self.leaving.is_set()
        return self.usable

    def send(self, call: WorkerCall) -> None:
        self.link.send(call)
        most = self.home.plan.max_requests
        if most and self.link.served + self.link.in_flight >= most and not self.leaving.is_set():
            fields = {"event": "worker_max_requests", "worker": self.label}
            logger.info("worker %s has taken %d calls and is replaced", self.label, most, extra=fields)
            self.leaving.set()  # it goes on taking calls until the other is there

    def retire(self) -> None:
        """Take no more calls, and make room for another worker."""
        self.usable = False
        self.leaving.set()

    async def settled(self) -> None:
        """Wait a moment for the end of a process that has closed its connection: its status says more."""
        if self._cut_off and self._process is not None:
            await waited(self._process.gone, _LAST_WORDS)

    @property
    def logged_problem(self) -> str | None:
        """The problem for the log, without what is there already."""
        return self._brief or self.problem

    async def finish(self, seconds: float, why: str | None = None) -> None:
        """Let it finish what it runs, for so many seconds, and end it; `why` is for clients of lost calls."""
        self._finishing = True
        self.retire()
        if self.link.is_open:
            self.link.drain()
            await waited(self.link.idle, seconds)
        self.link.close(why)
        await self.end()

    async def end(self) -> None:
        """End its process: with SIGTERM, and if that doesn't help with SIGKILL."""
        self.usable = False
        self.link.close()
        if (process := self._process) is not None and not await process.end(END_SECONDS):
            logger.warning("worker %s did not end after SIGTERM and is killed", self.label)

    def drop(self) -> None:
        """Give it up, whatever it runs: another takes its place at once."""
        self._finishing = True  # so that its end counts as no failure
        self.retire()
        self.link.close("the program that ran this call was restarted: call again")
        self.kill()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    async def _reached(self) -> bool:
        """Connect, as soon as it listens."""
        if (process := self._process) is not None:
            found = await process.connected(lambda: self.link, self.socket, START_SECONDS)
            if found is None and not process.gone.is_set():
                self.problem = f"it did not listen at its socket within {START_SECONDS:g} s"
            return found is not None
        try:
            await self._loop.create_unix_connection(lambda: self.link, self.socket)
        except OSError as error:
            self.problem = f"no worker can be reached at '{self.socket}': {error.strerror or error}"
            return False
        return True

    # ---- what its process and its link tell -------------------------------------------------

    def _exited(self) -> None:
        process, on_output = self._process, self.home.on_output
        assert process is not None
        is_cut = process.code is not None and process.tail and not process.tail.endswith("\n")
        if on_output is not None and is_cut:
            on_output(self.label, b"\n")  # or its last words would stay half a line
        if not self._finishing and (self.problem is None or self._cut_off):
            said = shortened(one_line(" ".join(process.tail.split())), _SHOWN)
            ended = _ending(process.code)
            self.problem = f"{ended}, saying '{said}'" if said else ended
            self._brief = None if on_output is None else ended  # what it printed is in the log
        self._cut_off = False
        self.retire()
        self.link.close(detail=self.logged_problem)

    def leaves(self, reason: str) -> None:
        """Note that the worker takes no more calls."""
        said = shortened(one_line(reason), _SHOWN) or "it gives no reason"
        logger.info("worker %s leaves: %s", self.label, said)
        if self.ready_seconds < SOUND_SECONDS:
            self.problem = f"it left {self.ready_seconds:.1f} s after its start"  # and waits before the next
        self.retire()

    def lost(self, failure: WorkerFailure, is_end: bool) -> None:
        """Note that the connection has ended, and its calls fail; `is_end`: the worker has ended it."""
        if not self._finishing and self.problem is None:
            self.problem = failure.logged
            self._cut_off = is_end and self._process is not None
        self.retire()
        if self._process is not None and not self._finishing and not self._cut_off:
            self._process.terminate()


def _ending(code: int | None) -> str:
    """How a process ended, in a sentence about it."""
    if code is None:
        return "it could not be started"
    if code >= 0:
        return f"it ended with status {code}"
    name = next((known.name for known in signal.Signals if known == -code), "no name")
    return f"it was ended by signal {-code} ({name})"
