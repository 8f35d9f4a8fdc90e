"""A worker as the service sees it: give it a job, get its answer, or end it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from acuity.errors import JobError, JobFailed, Remedy
from acuity.jobs.config import JobsConfig
from acuity.jobs.job import Progress
from acuity.jobs.worker import failures as deaths
from acuity.jobs.worker.process import Process
from acuity.jobs.worker.wire import Channel, Kind, Message, WireError, encode

logger: Final = logging.getLogger(__name__)

_PATIENCE: Final = 0.5  # seconds that a killed process gets to vanish before its job is answered anyway


class NotTaken(Exception):
    """The worker ended before it took the job: another one can do it."""


@dataclass(slots=True)
class _Duty:
    """The job a worker is at."""

    answer: asyncio.Future[Message | None]  # None: there will be no answer
    on_progress: Callable[[Progress], None]
    taken: bool = False


class WorkerProcess:
    """One long-lived worker. It may be given a job at once; the process comes up in the background."""

    def __init__(self, config: JobsConfig, on_gone: Callable[[WorkerProcess], None]) -> None:
        self._config = config
        self._duty: _Duty | None = None
        self._misspoke: WireError | None = None
        self._process = Process(lambda: on_gone(self))
        self._channel = Channel(self._receive, self._closed)
        self.ready = False  # its imports are done
        self.worked = False  # has taken a job
        self.usable = True  # may be given a job
        self.asked = False  # to end
        ours, theirs = socket.socketpair()
        self._process.start(theirs)
        loop = asyncio.get_running_loop()
        self._connecting = loop.create_task(self._connect(loop, ours))
        self._channel.send(encode(Kind.SETUP, _setup(config)))

    @property
    def pid(self) -> int | None:
        return self._process.pid

    @property
    def tail(self) -> str:
        """The last of what it has printed."""
        return self._process.tail

    async def do(self, order: bytes, title: str, on_progress: Callable[[Progress], None]) -> str:
        """Have a job done; its result as JSON text. Raises NotTaken, or JobError if it fails or is lost."""
        if self.ready:  # what it said while it came up may be why it didn't
            self._process.forget_tail()
        duty = _Duty(asyncio.get_running_loop().create_future(), on_progress)
        if not self.usable:
            raise NotTaken
        self._duty = duty
        self._channel.send(order)
        try:
            answer = await duty.answer
        finally:
            self._duty = None
        if answer is None:
            raise await self._why_lost(title, duty.taken)
        if answer.kind is Kind.FAILURE:
            raise self._failure(answer, title)
        try:
            return await asyncio.to_thread(_document, answer)
        except WireError as error:
            self._end()
            raise deaths.misspoke(title, str(error)) from error

    def kill(self) -> None:
        """End the process and all that it has started. The kill is sent before this returns."""
        self.asked = True
        self._end()

    async def gone(self) -> None:
        """Until the process is no more."""
        await self._process.gone.wait()

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
        duty = self._duty
        if duty is None or message.kind not in _FROM_WORKER or (message.kind is Kind.STARTED) is duty.taken:
            raise WireError(f"a {message.kind.name} message out of turn")
        if message.kind is Kind.STARTED:
            duty.taken = self.worked = True
        elif message.kind is Kind.PROGRESS:
            duty.on_progress(_progress(message))
        elif not duty.answer.done():
            duty.answer.set_result(message)

    def _closed(self, reason: WireError | None) -> None:
        self._misspoke = reason
        self._end()
        if self._duty is not None and not self._duty.answer.done():
            self._duty.answer.set_result(None)

    async def _why_lost(self, title: str, taken: bool) -> Exception:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.gone.wait(), _PATIENCE)
        if not self.asked:
            logger.warning(
                "worker %s is gone (status %s) at '%s': %s",
                self.pid, self._process.code, title, self._misspoke or self.tail,
            )  # fmt: skip
        if self._misspoke is not None:
            return deaths.misspoke(title, str(self._misspoke))
        return deaths.lost(title, self._process.code, self.tail) if taken else NotTaken()

    def _failure(self, message: Message, title: str) -> JobError:
        try:
            told = message.value()
            kind, trace = str(told["kind"]), str(told["trace"])
            failed = JobFailed(
                *(part if isinstance(part, str) else Remedy.from_document(part) for part in told["sentence"])
            )
        except (WireError, KeyError, TypeError, ValueError) as error:
            self._end()
            return deaths.misspoke(title, f"a FAILURE message that says nothing ({error})")
        if kind == "failed":
            return failed
        if kind == "memory":
            self._end()  # whoever has run into the wall once may hold memory that nobody gets back
            return deaths.out_of_memory(title, self._config.memory)
        logger.error("'%s' failed in a worker: %s\n%s", title, failed, trace)
        return JobFailed(f"'{title}' failed in a way it should not ({failed}); the server's log says more")


_FROM_WORKER: Final = {Kind.STARTED, Kind.PROGRESS, Kind.RESULT, Kind.FAILURE}


def _setup(config: JobsConfig) -> dict[str, object]:
    return {
        "nice": config.nice,
        "memory": config.memory,
        "roots": list(config.roots),
        "warm": list(config.warm),
        "tasks": dict(config.extra_tasks),
    }


def _document(message: Message) -> str:
    text = message.text()
    if not (text.startswith("{") and text.endswith("}")):  # to read it all is the business of who wants it
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
