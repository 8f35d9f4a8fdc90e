"""The jobs of all nodes of a cluster, in Redis: each process mirrors its own, and reads those of others.

    job:ID          a snapshot of a job and its process, for a day
    result:ID       its result, compressed, for a day
    jobs            ids by their time, the newest 500
    jobs:PROCESS    there while a process that has unfinished jobs lives

Changes that can't be told while Redis is gone are told when it is back. If it lost its memory, unfinished
jobs are told again; results of finished ones then are with their own node only.
"""

from __future__ import annotations

import asyncio
import builtins
import json
import logging
import secrets
import time
import zlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter

from acuity.errors import JobError
from acuity.foreign_json import parse_json
from longwire.cluster.redis_link import Argument, RedisLink
from longwire.errors import ClusterUnavailable
from longwire.work import Job, Status

logger: Final = logging.getLogger(__name__)

MAX_RESULT: Final = 16 << 20  # characters of a result that other nodes can read

_KEPT: Final = 86_400  # seconds
_LISTED: Final = 500  # jobs
_BEAT: Final = 2.0  # seconds between two signs of life
_ALIVE: Final = 6.0  # seconds that one lasts
_SOON: Final = 0.5  # seconds that a client waits until other nodes know its job
_END: Final = 1.0  # seconds for the last words
_WAITING: Final = 500  # jobs that wait to be told while Redis is gone
_WAITING_RESULTS: Final = 64 << 20  # characters of their results
_FOLLOWED: Final = 1000  # unfinished jobs of others
_LARGE: Final = 5.0  # seconds for writing a result
_CHANGES: Final = "jobs"  # channels
_CANCELS: Final = "job-cancels"

_T = TypeVar("_T")


class NodeJobs:
    """The jobs of a cluster, as one process of a node sees them.

    Methods that wait raise JobError if Redis doesn't answer.
    """

    def __init__(
        self, link: RedisLink, *, max_result: int = MAX_RESULT, beat: float = _BEAT, alive: float = _ALIVE
    ) -> None:
        """`alive` is how many seconds a sign of life lasts, `beat` is how often one is given."""
        self.node = link.node  # this node's label: ids of its jobs begin with it and a hyphen
        self._link, self._max_result, self._beat, self._alive = link, max_result, beat, alive
        self._process = secrets.token_hex(8)
        self._untold: dict[str, tuple[Job, str | None]] = {}  # the newest of each job
        self._unfinished: dict[str, Job] = {}  # as they were told
        self._others: dict[str, Status] = {}  # unfinished jobs of other nodes that somebody asked for
        self._warned = False  # of messages that can't be read
        self._more = asyncio.Event()
        self._some_told = asyncio.Event()
        self._telling: asyncio.Task[None] | None = None
        self._undo: builtins.list[Callable[[], None]] = []
        self._on_cancel: Callable[[str], None] = _nobody
        self._on_change: Callable[[Job], None] = _nobody

    def begin(self, on_cancel: Callable[[str], None], on_change: Callable[[Job], None]) -> None:
        """Follow the other nodes: calls back for jobs that they cancel, and for changes of their jobs."""
        self._on_cancel, self._on_change = on_cancel, on_change
        self._undo = [
            self._link.subscribe(_CANCELS, self._asked_to_cancel),
            self._link.subscribe(_CHANGES, self._changed),
            self._link.on_back(self._tell_again),
        ]
        self._telling = asyncio.get_running_loop().create_task(self._tell_all(), name="jobs of this node")

    async def end(self) -> None:
        """Tell other nodes the last changes, and stop following theirs. May be called again."""
        for undo in self._undo:
            undo()
        self._undo = []
        telling, self._telling = self._telling, None
        if telling is None:
            return
        telling.cancel()
        await asyncio.wait([telling])
        with suppress(ClusterUnavailable, TimeoutError):
            async with asyncio.timeout(_END):
                await self._tell_untold()
                await self._link.call("DEL", self._link.key("jobs", self._process))

    def tell(self, job: Job, document: str | None = None) -> None:
        """Let other nodes know a job of this process, and its result; nothing waits."""
        before = self._untold.pop(job.id, None)
        if document is None and before is not None:
            document = before[1]
        self._untold[job.id] = job, document
        if len(self._untold) > _WAITING:
            del self._untold[next(iter(self._untold))]
        room = _WAITING_RESULTS
        for id, (waiting, result) in reversed(self._untold.items()):
            if result is not None and (room := room - len(result)) < 0:
                self._untold[id] = waiting, None
        self._more.set()

    async def told(self, id: str) -> None:
        """Wait until other nodes know a job of this process, for a moment at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_SOON):
                while id in self._untold and self._link.healthy:
                    self._some_told.clear()
                    await self._some_told.wait()

    async def get(self, id: str) -> Job | None:
        """A job of another node; one whose process is dead is interrupted."""
        found = await self._asked(id, self._snapshots([id]))
        return found[0] if found else None

    async def document(self, id: str) -> str | None:
        """The result of a job of another node as JSON text."""
        packed = await self._asked(id, self._link.call("GET", self._link.key("result", id)))
        if packed is None:
            raise JobError(
                f"this node has no result of job '{id}': if it isn't older than a day, it is longer than "
                f"{self._max_result} characters, and only the node that ran it has it"
            )
        try:
            return (await asyncio.to_thread(zlib.decompress, packed)).decode()
        except (zlib.error, ValueError):
            raise JobError(f"the result of job '{id}' is damaged: ask the node that ran it") from None

    async def list(self) -> builtins.list[Job]:
        """The newest jobs of other nodes, newest first."""
        names = await self._asked("", self._link.call("ZREVRANGE", self._link.key("jobs"), 0, _LISTED - 1))
        ids = [name.decode("utf-8", "replace") for name in names]
        mine = f"{self.node}-"
        return await self._asked("", self._snapshots([id for id in ids if not id.startswith(mine)]))

    def cancel(self, id: str) -> None:
        self._link.publish(_CANCELS, id.encode())

    async def _asked(self, id: str, answer: Awaitable[_T]) -> _T:
        try:
            return await answer
        except ClusterUnavailable as error:
            whose = f"job '{id}' is another node's: " if id else ""
            raise JobError(f"{whose}{error}") from error

    # ---- reading ------------------------------------------------------------------------------------

    async def _snapshots(self, ids: Sequence[str]) -> builtins.list[Job]:
        """The jobs of these ids that are known; raises ClusterUnavailable."""
        if not ids:
            return []
        texts = await self._link.call("MGET", *(self._link.key("job", id) for id in ids))
        found = [pair for text in texts if text is not None and (pair := _parse(text)) is not None]
        owners = sorted({process for job, process in found if not job.over})
        alive: dict[str, bool] = {}
        if owners:
            signs = await self._link.call("MGET", *(self._link.key("jobs", owner) for owner in owners))
            # When Redis comes back, the signs of all have run out until each gives the next.
            fresh = time.monotonic() - self._link.back_since < self._alive
            alive = {owner: fresh or sign is not None for owner, sign in zip(owners, signs, strict=True)}
        jobs = [job if job.over or alive[process] else _interrupted(job) for job, process in found]
        for job in jobs:
            if not job.over and len(self._others) < _FOLLOWED and job.id not in self._others:
                self._others[job.id] = job.status
                self._more.set()
        return jobs

    def _changed(self, payload: bytes) -> None:
        found = _parse(payload)
        if found is None:
            if not self._warned:
                logger.warning("a job of another node can't be read", extra={"event": "cluster_job"})
            self._warned = True
        elif not found[0].id.startswith(f"{self.node}-"):
            self._announce(found[0])

    def _announce(self, job: Job) -> None:
        if job.over:
            self._others.pop(job.id, None)
        elif job.id in self._others or len(self._others) < _FOLLOWED:
            self._others[job.id] = job.status
            self._more.set()
        self._on_change(job)

    async def _look_at_others(self) -> None:
        """Announce what no message told: jobs of dead nodes, and changes while Redis was gone."""
        before = dict(self._others)
        found = {job.id: job for job in await self._snapshots([*before])}
        for id, status in before.items():
            if id not in found:
                self._others.pop(id, None)
            elif found[id].status != status and self._others.get(id) == status:
                self._announce(found[id])

    def _asked_to_cancel(self, payload: bytes) -> None:
        id = payload.decode("utf-8", "replace")
        if id.startswith(f"{self.node}-"):
            self._on_cancel(id)

    # ---- telling ------------------------------------------------------------------------------------

    def _tell_again(self) -> None:
        """Tell unfinished jobs again: Redis may have forgotten them."""
        for id, job in self._unfinished.items():
            self._untold.setdefault(id, (job, None))
        self._more.set()

    async def _tell_all(self) -> None:
        beat = time.monotonic()
        while True:
            with suppress(TimeoutError):
                waiting = self._unfinished or self._untold or self._others
                async with asyncio.timeout(max(beat - time.monotonic(), 0.0) if waiting else None):
                    await self._more.wait()
            self._more.clear()
            try:
                await self._tell_untold()
                if time.monotonic() >= beat:
                    beat = time.monotonic() + self._beat
                    if self._unfinished:
                        await self._link.calls([self._sign_of_life()])
                    if self._others:
                        await self._look_at_others()
            except ClusterUnavailable:  # the link has said so in the log
                await asyncio.sleep(self._beat / 4)

    def _sign_of_life(self) -> builtins.list[Argument]:
        return ["SET", self._link.key("jobs", self._process), self.node, "PX", int(self._alive * 1000)]

    async def _tell_untold(self) -> None:
        """Write what has changed; raises ClusterUnavailable, and then it is still untold."""
        while self._untold:
            id, (job, document) = next(iter(self._untold.items()))
            commands: builtins.list[builtins.list[Argument]] = []
            if document is not None and len(document) <= self._max_result:
                packed = await asyncio.to_thread(zlib.compress, document.encode(), 1)
                commands.append(["SET", self._link.key("result", id), packed, "EX", _KEPT])
            text = self._text(job)
            if not job.over:
                commands.append(self._sign_of_life())
            commands += [
                ["SET", self._link.key("job", id), text, "EX", _KEPT],
                ["ZADD", self._link.key("jobs"), job.created, id],
                ["ZREMRANGEBYRANK", self._link.key("jobs"), 0, -_LISTED - 1],
                ["EXPIRE", self._link.key("jobs"), _KEPT],
            ]
            await self._link.calls(commands, within=None if document is None else _LARGE)
            told = self._unfinished.pop(id, None)
            if not job.over:
                self._unfinished[id] = job
            if told is None or told.status != job.status:
                self._link.publish(_CHANGES, text)
            if self._untold.get(id, (None,))[0] is job:
                del self._untold[id]
            self._some_told.set()

    def _text(self, job: Job) -> bytes:
        return json.dumps({**asdict(job), "process": self._process}).encode()


_JOB: Final = TypeAdapter(Job)


def _parse(text: bytes) -> tuple[Job, str] | None:
    """A job and its process; None: it is none."""
    try:
        fields: dict[str, Any] = parse_json(text)
        return _JOB.validate_python(fields, strict=False), str(fields["process"])
    except (ValueError, TypeError, KeyError):
        return None


def _interrupted(job: Job) -> Job:
    node = job.id.partition("-")[0]
    error = f"the node '{node}' ended while this job was waiting or running: submit it again"
    return replace(job, status="interrupted", error=error, finished=job.changed, queue_position=None)


def _nobody(_: object) -> None:
    pass
