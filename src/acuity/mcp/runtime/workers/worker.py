"""One worker: its process, if it was started here, and the connection to it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from acuity.mcp.contract.envelopes import Notify
from acuity.mcp.contract.launch import command_with_socket, worker_environment
from acuity.mcp.runtime.workers.call import WorkerCall
from acuity.mcp.runtime.workers.failures import WorkerFailure
from acuity.mcp.runtime.workers.link import Link
from acuity.mcp.runtime.workers.status import WorkerState, WorkerStatus
from acuity.supervised_process import SupervisedProcess
from acuity.text import one_line, shortened

logger: Final = logging.getLogger(__name__)

START_SECONDS: Final = 60.0  # until a started worker listens
SOUND_SECONDS: Final = 5.0  # of use after which earlier failures are forgotten
END_SECONDS: Final = 3.0  # after SIGTERM, before SIGKILL
_FIRST_WAIT: Final = 0.01  # seconds between two attempts to connect, at first
_LONGEST_WAIT: Final = 0.1
_SHOWN: Final = 300  # characters of a worker's last output in a sentence


class WorkerHome(Protocol):
    """The pool that a worker is of."""

    counters: Counter[str]
    call_seconds: float
    max_requests: int

    def freed(self) -> None: ...

    def notified(self, notify: Notify) -> None: ...


class Worker:
    """One start of a worker, or one connection to a worker that somebody else runs."""

    def __init__(
        self,
        home: WorkerHome,
        label: str,
        socket: str,
        command: Sequence[str] | None = None,
        environment: Mapping[str, str] | None = None,
        inherited: Mapping[str, str] | None = None,
        on_output: Callable[[str, bytes], None] | None = None,
    ) -> None:
        """`command` starts it; None: somebody else does. Its variables are as SupervisedProcess has them."""
        self._home = home
        self.label = label
        self.socket = socket
        self.since = time.time()
        self._ready_at: float | None = None
        self._loop = asyncio.get_running_loop()
        self.problem: str | None = None  # why it can't be used
        self.usable = False  # may be given calls
        self.leaving = asyncio.Event()  # another should take its place
        self._finishing = False
        self.link = Link(label, self, home.counters, call_seconds=home.call_seconds)
        self._process: SupervisedProcess | None = None
        if command is not None:
            self._process = SupervisedProcess(
                command_with_socket(command, socket),
                self._exited,
                environment={**(environment or {}), **worker_environment(label, socket)},
                inherited=inherited,
                killed_with_parent=True,
                on_output=None if on_output is None else lambda data: on_output(label, data),
            )

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def has_room(self) -> bool:
        return self.usable and self.link.has_room

    @property
    def affinity(self) -> str:
        hello = self.link.hello
        return "none" if hello is None else hello.affinity

    @property
    def ready_seconds(self) -> float:
        """How long it has been of use."""
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
            self.problem,
        )

    # ---- its life ---------------------------------------------------------------------------

    async def connect(self) -> bool:
        """Start it and wait until it has said hello; False: `problem` says why it hasn't."""
        if self._process is not None:
            self._process.start()
        if await self._reached():
            hello = await self.link.greeted
            if hello is not None:
                self._ready_at = self._loop.time()
                self.usable = not self.leaving.is_set()
                return self.usable
        return False

    def send(self, call: WorkerCall) -> None:
        self.link.send(call)
        most = self._home.max_requests
        if most and self.link.served + self.link.in_flight >= most and not self.leaving.is_set():
            logger.info(
                "worker %s has taken %d calls and is replaced",
                self.label,
                most,
                extra={"event": "worker_max_requests", "worker": self.label},
            )
            self.leaving.set()  # it goes on taking calls until the other is there

    def retire(self) -> None:
        """Take no more calls, and make room for another worker."""
        self.usable = False
        self.leaving.set()

    async def finish(self, seconds: float) -> None:
        """Let it finish what it runs, for so many seconds, and end it."""
        self._finishing = True
        self.retire()
        if self.link.is_open:
            self.link.drain()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.link.idle.wait()
        self.link.close()
        await self.end()

    async def end(self) -> None:
        """End its process: with SIGTERM, and if that doesn't help with SIGKILL."""
        self.usable = False
        self.link.close()
        process = self._process
        if process is None or process.gone.is_set():
            return
        try:
            process.terminate()
            async with asyncio.timeout(END_SECONDS):
                await process.gone.wait()
        except TimeoutError:
            logger.warning("worker %s did not end after SIGTERM and is killed", self.label)
        finally:
            process.kill()  # and its children
        await process.gone.wait()

    def drop(self) -> None:
        """Give it up, whatever it runs: another takes its place at once."""
        self._finishing = True  # so that its end counts as no failure
        self.retire()
        self.link.close()
        self.kill()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    async def _reached(self) -> bool:
        """Connect, as soon as it listens."""
        process, wait = self._process, _FIRST_WAIT
        deadline = self._loop.time() + START_SECONDS
        while not self.leaving.is_set():
            try:
                await self._loop.create_unix_connection(lambda: self.link, self.socket)
                return True
            except OSError as error:
                problem = error.strerror or str(error)
            if process is None:
                self.problem = f"no worker can be reached at '{self.socket}': {problem}"
                return False
            if self._loop.time() > deadline:
                self.problem = f"it did not listen at its socket within {START_SECONDS:g} s"
                return False
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await process.gone.wait()
            if process.gone.is_set():
                return False
            wait = min(wait * 2, _LONGEST_WAIT)
        return False

    # ---- what its process and its link tell -------------------------------------------------

    def _exited(self) -> None:
        process = self._process
        assert process is not None
        if not self._finishing and self.problem is None:
            said = shortened(one_line(process.tail), _SHOWN)
            ended = "could not be started" if process.code is None else f"ended with status {process.code}"
            self.problem = f"it {ended}" + (f", saying '{said}'" if said else "")
        self.retire()
        self.link.close()

    def freed(self) -> None:
        self._home.freed()

    def notified(self, notify: Notify) -> None:
        self._home.notified(notify)

    def leaves(self, reason: str) -> None:
        logger.info(
            "worker %s leaves: %s", self.label, shortened(one_line(reason), _SHOWN) or "it gives no reason"
        )
        if self.ready_seconds < SOUND_SECONDS:
            self.problem = f"it left {self.ready_seconds:.1f} s after its start"  # and waits before the next
        self.retire()

    def lost(self, failure: WorkerFailure) -> None:
        if not self._finishing and self.problem is None:
            self.problem = failure.sentence
        self.retire()
        if self._process is not None and not self._finishing:
            self._process.terminate()
