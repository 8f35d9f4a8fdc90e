"""The pool as its places, workers and links see it: what the operator wants, and what they tell the pool."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from longwire.contract.envelopes import Notify, NotifyOutcome
from longwire.settings import WorkerAffinity
from longwire.wire.tasks import RunningTasks
from longwire.workers.call import WorkerFailure
from longwire.workers.signs_of_life import PING_SECONDS, SILENT_SECONDS

# Takes messages outside of calls and reports the outcome; a future that it returns ends when it has room.
OnNotify: TypeAlias = Callable[[Notify, Callable[[NotifyOutcome], None]], asyncio.Future[None] | None]
# Is given what a started worker prints, with its label.
OnOutput: TypeAlias = Callable[[str, bytes], None]
# Is told why a link is lost, and whether the worker has ended it.
OnLost: TypeAlias = Callable[[WorkerFailure, bool], None]


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """The workers that a server has, and the limits they are held to."""

    command: tuple[str, ...] | None = None  # starts one
    count: int = 0  # of started ones
    sockets: tuple[str, ...] = ()  # of workers that somebody else runs
    queue: int = 256  # calls that may wait
    queue_seconds: float = 10.0
    call_seconds: float = 900.0
    silent_seconds: float = SILENT_SECONDS
    ping_seconds: float = PING_SECONDS
    max_requests: int = 0  # after which a worker is replaced; 0: never
    affinity: WorkerAffinity = "auto"
    environment: Mapping[str, str] = field(default_factory=dict)  # variables of started ones
    inherited: Mapping[str, str] | None = None  # what else they have; None: all variables of this process


class WorkersHome(Protocol):
    """The pool, as its places, workers and links see it."""

    plan: WorkerPlan
    counters: Counter[str]
    on_output: OnOutput | None
    on_notify: OnNotify
    cluster: str | None
    closing: bool
    tasks: RunningTasks

    def socket(self, name: str) -> str: ...
    def freed(self) -> None: ...
    def note_ready(self) -> None: ...
    def note_absence(self) -> None: ...
    def note_failure(self) -> None: ...
