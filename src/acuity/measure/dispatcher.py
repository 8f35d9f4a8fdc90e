"""Dispatcher: the work of a measurement on several devices, each with a scheduler of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from acuity.measure.collector import Collector
from acuity.measure.plan import NOTHING, Plan
from acuity.measure.scheduler import BatchScheduler, Scheduler
from acuity.measure.worker import ConveyorWorker, Share, WorkItem, worker_factory

if TYPE_CHECKING:
    from acuity.devices import Device
    from acuity.features.extractor import Geometry
    from acuity.measure.crew import Crew, CrewScheduler

AnyScheduler: TypeAlias = "Scheduler[WorkItem] | CrewScheduler"


class First(NamedTuple):
    """What is known of a measurement's first frame."""

    plan: Plan
    uploads: bool  # whether its pictures lie in the machine's memory


class Dispatcher:
    """Gives each frame to the devices that compute its extractors, with the interface of a Scheduler."""

    def __init__(self, parts: Sequence[tuple[Share, AnyScheduler]]) -> None:
        self._parts = parts
        self._plan = NOTHING
        # Of this plan: the devices that compute counted frames, and those that compute every frame.
        self._counted: list[AnyScheduler] = []
        self._every: list[AnyScheduler] = []
        self._submitted = 0

    @property
    def pending(self) -> int:
        """The number of frames under way: devices take them in one order, so the slowest one has them all."""
        return max(scheduler.pending for _, scheduler in self._parts)

    @property
    def done(self) -> int:
        """The number of frames that every device has finished."""
        return self._submitted - self.pending

    def submit(self, job: WorkItem) -> None:
        """Queue a frame; waits while too many are under way."""
        if job.plan is not self._plan:
            groups = [(scheduler, share.groups(job.plan)) for share, scheduler in self._parts]
            self._counted = [scheduler for scheduler, its in groups if its]
            self._every = [scheduler for scheduler, its in groups if any(group.every_frame for group in its)]
            self._plan = job.plan
        for scheduler in self._counted if job.counted else self._every:
            scheduler.submit(job)
        self._submitted += 1

    def drain(self) -> None:
        """Wait until every frame is finished."""
        for _, scheduler in self._parts:
            scheduler.drain()

    def close(self) -> None:
        """Drop waiting frames, let running ones end, and join the threads; may be called again."""
        for _, scheduler in self._parts:
            scheduler.close()


def dispatch(
    geometry: Geometry,
    first: First,
    collector: Collector,
    devices: Sequence[Device],
    threads: int,
    crew: Crew | None,
) -> AnyScheduler | Dispatcher:
    """The scheduler for frames of this geometry; raises CardMemoryError."""
    parts: list[tuple[Share, AnyScheduler]] = []
    try:
        for device in devices:
            share = Share(device, devices, geometry)
            parts.append((share, _scheduler(geometry, first, collector, share, threads, crew)))
    except BaseException:
        Dispatcher(parts).close()
        raise
    return parts[0][1] if len(parts) == 1 else Dispatcher(parts)


def _scheduler(
    geometry: Geometry, first: First, collector: Collector, share: Share, threads: int, crew: Crew | None
) -> AnyScheduler:
    window = share.device.window(geometry)
    if window is not None:
        worker = ConveyorWorker(geometry, collector, share, uploads=first.uploads)
        worker.prepare(first.plan)  # here, so that the first frame finds out whether there is memory for it
        return BatchScheduler(lambda: worker, window)
    make_worker = worker_factory(geometry, collector, share)
    return crew.join(make_worker) if crew is not None else Scheduler(threads, lambda: make_worker({}))
