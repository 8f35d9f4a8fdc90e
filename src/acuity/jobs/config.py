"""Configuration of the job service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from acuity.jobs.tasks import WARM
from acuity.machine_memory import machine_memory


def default_memory() -> int:
    """Bytes for all workers together: three quarters of what the machine or the container has."""
    return machine_memory() * 3 // 4


@dataclass(frozen=True, slots=True)
class JobsConfig:
    """Limits of the job service."""

    workers: int  # jobs at once, each in a process of its own, beside a short one
    queue: int  # jobs that may wait
    time_limit: float  # seconds that a job may run while a call waits for it
    kept: int  # finished jobs that are stored
    data: Path | None  # the folder they are stored in; None: in memory
    nice: int = 5  # how much less priority workers have than the server
    memory: int = field(default_factory=default_memory)  # bytes that all workers together may have
    roots: tuple[str, ...] = ()  # the only folders that workers may open files in; empty: any
    private: tuple[str, ...] = ()  # folders in the roots that they may not open files in
    writable: tuple[str, ...] = ()  # the roots that they may create files in
    output_bytes: int | None = None  # bytes that each writable root may hold; None: any number
    queue_each: int | None = None  # jobs of one client that may wait; None: all of the queue
    running_each: int | None = None  # jobs of one client that may run, short ones aside; None: all but one
    short_limit: float = 30.0  # seconds that a job may have the place for short work
    submitted_limit: float = 21_600.0  # seconds that a submitted job may run
    kept_bytes: int = 2 << 30  # bytes of results that are stored
    warm: tuple[str, ...] = WARM  # modules that workers import before their first job
    # The folder by which several processes of one server take turns: `workers` and `queue` count for all.
    turns: Path | None = None
    # Further tasks, 'name': 'module:function', for programs that embed the service; never from a client.
    extra_tasks: Mapping[str, str] = field(default_factory=dict)

    @property
    def memory_each(self) -> int:
        """Bytes of data that one worker may have."""
        return self.memory // (self.workers + 1)
