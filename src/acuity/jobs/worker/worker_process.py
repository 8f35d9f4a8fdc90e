"""The server's handle on one worker: sends it a job, receives the result, or ends it; and the pool of them.

A job whose worker failed has an error with one sentence for the caller.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from acuity.child_process import PYTHON
from acuity.devices import WORKER_VARIABLE
from acuity.errors import JobError, JobFailed, Remedy, WorkerLost
from acuity.jobs.config import JobsConfig
from acuity.jobs.worker.wire import Channel, Kind, Message, WireError, encode
from acuity.text import one_line
from longwire.supervised_process import SupervisedProcess
from longwire.work import Progress

_LONGEST_LINE: Final = 300
_FAULT: Final = "Fatal Python error"  # from here on a tail is a dump for developers, not a reason

# What a signal means to the caller, and the remedy. All other signals are crashes.
_MEANINGS: Final = {
    signal.SIGKILL: (
        "was killed (SIGKILL), as systems do when memory runs out",
        "make room, or let fewer jobs run at once with VMAF_MCP_MAX_CONCURRENT, and try again",
    ),
    signal.SIGXCPU: ("used more processor time than its limit (SIGXCPU)", "raise the limit or ask for less"),
}
_CRASH_REMEDY: Final = "others are not affected; check that the input is sound, then try again"


def lost(title: str, code: int | None, tail: str) -> WorkerLost:
    """The error for a worker that ended during a job. `code` is its exit status as in subprocess."""
    how, remedy = _meaning(code)
    said = _reason(tail)
    return WorkerLost(f"'{title}' is lost: its worker process {how}{said}; {remedy}")


def not_started(title: str, tail: str) -> WorkerLost:
    return WorkerLost(
        f"'{title}' could not begin: no worker process starts{_reason(tail)}; the server's log says more"
    )


def protocol_violation(title: str, what: str) -> WorkerLost:
    return WorkerLost(f"'{title}' is lost: its worker process sent {what} and was ended; {_CRASH_REMEDY}")


def out_of_memory(title: str, limit: int) -> WorkerLost:
    return WorkerLost(
        f"'{title}' needs more memory than the {limit >> 20} MB a worker may have: use smaller pictures or "
        "fewer threads, or let fewer jobs run at once (--workers) or all have more (--memory)"
    )


def _meaning(code: int | None) -> tuple[str, str]:
    if code is None:
        return "does not answer", _CRASH_REMEDY
    if code >= 0:
        return f"ended by itself (exit status {code})", _CRASH_REMEDY
    try:
        number = signal.Signals(-code)
    except ValueError:
        return f"was ended by signal {-code}", _CRASH_REMEDY
    return _MEANINGS.get(number, (f"crashed ({number.name})", _CRASH_REMEDY))


def _reason(tail: str) -> str:
    """The last line that the worker printed before a crash dump, if any."""
    lines = [line.strip() for line in tail.split(_FAULT, 1)[0].splitlines()]
    words = next((line for line in reversed(lines) if line), "")
    return f", saying '{one_line(words[:_LONGEST_LINE])[:_LONGEST_LINE]}'" if words else ""


logger: Final = logging.getLogger(__name__)

_ENVIRONMENT: Final = {"OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
_GRACE: Final = 0.5  # seconds to wait for the end of a killed process before its job is answered


class NotTaken(Exception):
    """The worker ended before it took the job, so another one can run it."""


@dataclass(slots=True)
class _CurrentJob:
    """The job that a worker runs."""

    answer: asyncio.Future[Message | None]  # None: there will be no answer
    on_progress: Callable[[Progress], None]
    taken: bool = False


class WorkerProcess:
    """One long-lived worker. It accepts a job at once, while its process still starts in the background."""

    def __init__(self, config: JobsConfig, on_gone: Callable[[WorkerProcess], None], number: int = 0) -> None:
        """`number` tells apart the workers of a pool, so that they take different graphics cards."""
        self._config = config
        self.number = number
        self._current: _CurrentJob | None = None
        self._violation: WireError | None = None
        ours, theirs = socket.socketpair()
        command = (*PYTHON, "acuity.jobs.worker.main", str(theirs.fileno()))
        environment = {**_ENVIRONMENT, WORKER_VARIABLE: str(number)}
        self._process = SupervisedProcess(command, lambda: on_gone(self), environment=environment)
        self.gone = self._process.gone
        self._channel = Channel(self._receive, self._closed)
        self.ready = False  # its imports are done
        self.worked = False  # has taken a job
        self.usable = True  # may be given a job
        self.asked_to_end = False
        self._process.start(theirs)
        loop = asyncio.get_running_loop()
        self._connecting = loop.create_task(self._connect(loop, ours))
        self._channel.send(encode(Kind.SETUP, _setup(config)))

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def memory(self) -> int:
        """Bytes of memory that the process has now; 0: not known."""
        try:
            with open(f"/proc/{self.pid}/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError, ValueError):
            return 0

    @property
    def tail(self) -> str:
        return self._process.tail

    async def do(self, message: bytes, title: str, on_progress: Callable[[Progress], None]) -> str:
        """Run a job; returns its result as JSON text. Raises NotTaken, or JobError if it fails or is lost."""
        if self.ready:  # until then the output may explain a failed start
            self._process.forget_tail()
        current = _CurrentJob(asyncio.get_running_loop().create_future(), on_progress)
        if not self.usable:
            raise NotTaken
        self._current = current
        self._channel.send(message)
        try:
            answer = await current.answer
        finally:
            self._current = None
        if answer is None:
            raise await self._why_lost(title, current.taken)
        if answer.kind is Kind.FAILURE:
            raise self._failure(answer, title)
        try:
            return await asyncio.to_thread(_document, answer)
        except WireError as error:
            self._end()
            raise protocol_violation(title, str(error)) from error

    def kill(self) -> None:
        """End the process and its children. The signal is sent before this returns."""
        self.asked_to_end = True
        self._end()

    def _end(self) -> None:
        self.usable = False
        self._process.kill()
        self._channel.close()

    async def _connect(self, loop: asyncio.AbstractEventLoop, ours: socket.socket) -> None:
        ours.setblocking(False)
        await loop.create_unix_connection(lambda: self._channel, sock=ours)

    def _receive(self, message: Message) -> None:
        if message.kind is Kind.READY:
            self.ready = True
            return
        current = self._current
        if (
            current is None
            or message.kind not in _FROM_WORKER
            or (message.kind is Kind.STARTED) is current.taken
        ):
            raise WireError(f"a {message.kind.name} message out of turn")
        if message.kind is Kind.STARTED:
            current.taken = self.worked = True
        elif message.kind is Kind.PROGRESS:
            current.on_progress(_progress(message))
        elif not current.answer.done():
            current.answer.set_result(message)

    def _closed(self, reason: WireError | None) -> None:
        self._violation = reason
        self._end()
        if self._current is not None and not self._current.answer.done():
            self._current.answer.set_result(None)

    async def _why_lost(self, title: str, taken: bool) -> Exception:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.gone.wait(), _GRACE)
        if not self.asked_to_end:
            logger.warning(
                "worker %s is gone (status %s) at '%s': %s",
                self.pid, self._process.code, title, self._violation or self.tail,
            )  # fmt: skip
        if self._violation is not None:
            return protocol_violation(title, str(self._violation))
        return lost(title, self._process.code, self.tail) if taken else NotTaken()

    def _failure(self, message: Message, title: str) -> JobError:
        try:
            told = message.value()
            kind, trace = str(told["kind"]), str(told["trace"])
            failed = JobFailed(
                *(part if isinstance(part, str) else Remedy.from_document(part) for part in told["sentence"])
            )
        except (WireError, KeyError, TypeError, ValueError) as error:
            self._end()
            return protocol_violation(title, f"a FAILURE message that says nothing ({error})")
        if kind == "failed":
            return failed
        if kind == "memory":
            self._end()  # a process that ran out of memory may never give it back
            return out_of_memory(title, self._config.memory_each)
        logger.error("'%s' failed in a worker: %s\n%s", title, failed, trace)
        return JobFailed(f"'{title}' failed in a way it should not ({failed}); the server's log says more")


_FROM_WORKER: Final = {Kind.STARTED, Kind.PROGRESS, Kind.RESULT, Kind.FAILURE}


def _setup(config: JobsConfig) -> dict[str, object]:
    named = {name: getattr(config, name) for name in ("nice", "roots", "private", "writable", "warm")}
    others = {"memory": config.memory_each, "quota": config.output_bytes, "tasks": {**config.extra_tasks}}
    return named | others


def _document(message: Message) -> str:
    text = message.text()
    if not (text.startswith("{") and text.endswith("}")):  # parsing all of it is left to the caller
        raise WireError("a RESULT message that holds no object")
    return text


def _progress(message: Message) -> Progress:
    value = message.value()
    try:
        total = value["total"]
        return Progress(
            float(value["done"]),
            None if total is None else float(total),
            str(value["message"]),
            dict(value["details"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise WireError(f"a PROGRESS message that says nothing ({error})") from error


_IDLE_MEMORY: Final = 512 << 20  # bytes that an idle worker may keep; less if that is most of its share
_END_GRACE: Final = 5.0  # seconds to wait for the end of killed processes


class Pool:
    """Lends each worker to one job at a time. The caller takes at most config.workers and one at once."""

    def __init__(self, config: JobsConfig) -> None:
        self._config = config
        self._idle: list[WorkerProcess] = []
        self._all: set[WorkerProcess] = set()
        self._closed = False
        self.started = 0
        self.lost = 0

    def __len__(self) -> int:
        return len(self._all)

    def warm_up(self) -> None:
        """Start an idle worker for the next job, if there is none."""
        if not self._closed and not self._idle and len(self._all) < self._config.workers:
            self._idle.append(self._start())

    def take(self) -> WorkerProcess:
        """The idle worker that was used last, whose caches are warm, or a new one."""
        return self._idle.pop() if self._idle else self._start()

    def give_back(self, worker: WorkerProcess) -> None:
        if self._closed:
            worker.kill()
        elif worker.usable and worker.memory() > min(_IDLE_MEMORY, self._config.memory_each // 2):
            worker.kill()  # the next job, or other workers, would lack the memory that it keeps
        elif worker.usable:
            self._idle.append(worker)

    def kill(self) -> None:
        """End all workers; no more are started."""
        self._closed = True
        self._idle.clear()
        for worker in self._all:
            worker.kill()

    async def stop(self) -> None:
        """End all workers and wait for their end."""
        self.kill()
        if self._all:
            ends = [asyncio.ensure_future(worker.gone.wait()) for worker in self._all]
            _, stuck = await asyncio.wait(ends, timeout=_END_GRACE)
            for waiting in stuck:
                waiting.cancel()
            if stuck:
                logger.warning("%d worker processes were killed but have not ended yet", len(stuck))

    def _start(self) -> WorkerProcess:
        taken = {worker.number for worker in self._all}
        number = next(number for number in itertools.count() if number not in taken)
        worker = WorkerProcess(self._config, self._gone, number)
        self._all.add(worker)
        self.started += 1
        return worker

    def _gone(self, worker: WorkerProcess) -> None:
        self._all.discard(worker)
        if worker in self._idle:
            self._idle.remove(worker)
        if not worker.asked_to_end:
            self.lost += 1
        if worker.worked:  # otherwise workers that fail to start would be replaced without end
            self.warm_up()
