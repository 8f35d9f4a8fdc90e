"""A job service that runs nothing and only announces jobs."""

from __future__ import annotations

from collections.abc import Callable

from longwire.work import Job, JobsStats


class PretendJobs:
    def __init__(self) -> None:
        self.figures = JobsStats(0, 0, 0)
        self.listeners: list[Callable[[Job], None]] = []

    def stats(self) -> JobsStats:
        return self.figures

    def on_change(self, listener: Callable[[Job], None]) -> Callable[[], None]:
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def tell(self, job: Job) -> None:
        for listener in self.listeners[:]:
            listener(job)
