"""Computes frames on the devices of a measurement, and stores their figures in the collector.

A work item carries its plan, so workers need no notice of a change: each creates the missing runners when it
gets the first frame of a new plan.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from acuity.devices.device import Device, device_for
from acuity.errors import CardMemoryError
from acuity.features.extractor import Frame, Geometry, Run
from acuity.measure.collector import Collector
from acuity.measure.plan import NOTHING, ExtractorGroup, Plan
from acuity.measure.scheduler import Scheduler
from acuity.records import NamedTuple

if TYPE_CHECKING:
    from acuity.devices.cpu import CpuLane


class WorkItem(NamedTuple):
    """One frame and its plan."""

    frame: Frame
    plan: Plan
    counted: bool  # False: only what is computed for every frame


_LINGER: Final = 0.001  # seconds for which the frames of a batch wait for others to fill it

Lanes: TypeAlias = "dict[Hashable, CpuLane]"  # of one thread, by device and geometry
# Creates the work function of a thread, which has these lanes already and adds others.
MakeWorker = Callable[[Lanes], Callable[[WorkItem], None]]


class Share(NamedTuple):
    """One of a measurement's devices, for pictures of this geometry."""

    device: Device
    devices: Sequence[Device]
    geometry: Geometry

    def groups(self, plan: Plan) -> list[ExtractorGroup]:
        """The extractors that this device computes."""
        chosen = (device_for(self.devices, group.kind, self.geometry) for group in plan.groups)
        return [group for group, device in zip(plan.groups, chosen, strict=True) if device is self.device]


def worker_factory(collector: Collector, share: Share) -> MakeWorker:
    """The function that each worker thread calls to create its work function."""
    geometry = share.geometry
    # All measurements of a comparison choose their devices alike, so one name means one device and setting.
    device = share.device.name, tuple(share.device.describe().items())
    place = device, geometry, geometry.chroma, geometry.colour, geometry.finer

    def make_worker(known_lanes: Lanes) -> Callable[[WorkItem], None]:
        current = NOTHING
        # Of the current plan only: frames come in order, so an old plan doesn't come back.
        runners: dict[ExtractorGroup, Run] = {}
        lane = known_lanes.get(place) or known_lanes.setdefault(place, share.device.lane(geometry))

        def work(job: WorkItem) -> None:
            nonlocal current, runners
            frame, plan, counted = job
            if plan is not current:
                groups = share.groups(plan)
                runners = {g: runners.get(g) or lane.runner(g.kind, g.members) for g in groups}
                current = plan
            figures: dict[str, float] = {}
            taken = lane.take(frame, plan.planes)
            for group, runner in runners.items():
                if counted or group.every_frame:
                    figures.update(runner(taken))
            collector.write(frame.index, figures)

        return work

    return make_worker


class ConveyorWorker:
    """Computes batches of frames on a device, and may have several under way."""

    def __init__(self, collector: Collector, share: Share, *, uploads: bool) -> None:
        """With `uploads` memory is prepared for pictures that don't lie on the device."""
        self._uploads = uploads
        self._collector = collector
        self._share = share
        self._conveyor = share.device.conveyor(share.geometry)
        self._plan = NOTHING
        self._runners: dict[ExtractorGroup, Any] = {}

    @property
    def most(self) -> int:
        """The number of frames that one batch has at most, which may become smaller."""
        return self._conveyor.most

    @property
    def pending(self) -> int:
        """The number of frames under way."""
        return self._conveyor.pending

    @property
    def full(self) -> bool:
        """Whether a batch has to be finished before another one starts."""
        return self._conveyor.full

    def work(self, jobs: Sequence[WorkItem]) -> int:
        """Start a batch; returns how many frames were finished meanwhile. Without jobs, wait for some."""
        finished = 0 if jobs else self._finish()
        for plan, members in groupby(jobs, lambda job: job.plan):
            waiting = list(members)
            finished += self.prepare(plan)
            while waiting:  # more than a batch, if batches have become smaller
                if self._conveyor.full:
                    finished += self._finish()
                self._start(plan, waiting[: self.most])
                del waiting[: self.most]
        return finished

    def prepare(self, plan: Plan) -> int:
        """Get the memory for a plan; returns how many frames had to be finished for that.

        Raises CardMemoryError.
        """
        if plan is self._plan:
            return 0
        groups = self._share.groups(plan)
        runners = {g: self._runners.get(g) or self._conveyor.runner(g.kind, g.members) for g in groups}
        finished = 0
        try:
            self._prepare(plan, runners)
        except CardMemoryError:
            if not self.pending:
                raise
            while self.pending:
                finished += self._finish()
            self._prepare(plan, runners)
        self._plan, self._runners = plan, runners
        return finished

    def _prepare(self, plan: Plan, runners: Mapping[ExtractorGroup, Any]) -> None:
        if runners:
            self._conveyor.prepare(plan.planes, list(runners.values()), uploads=self._uploads)

    def _start(self, plan: Plan, batch: Sequence[WorkItem]) -> None:
        everything = range(len(batch))
        counted = [number for number in everything if batch[number].counted]
        work = [
            (runner, everything if group.every_frame else counted) for group, runner in self._runners.items()
        ]
        self._conveyor.start([job.frame for job in batch], plan.planes, work)

    def _finish(self) -> int:
        before = self._conveyor.pending
        self._collector.write_batch(self._conveyor.finish())
        return before - self._conveyor.pending

    def close(self) -> None:
        self._conveyor.close()


class BatchScheduler(Scheduler[WorkItem]):
    """Runs jobs in batches on one thread that keeps a device busy.

    A batch costs the host about as much as a job, so batches are full where jobs come fast. While one is
    under way there is time to wait for more jobs; where none is, they wait for a moment only.
    """

    def __init__(self, worker: ConveyorWorker, limit: int) -> None:
        self._worker = worker
        self._draining = False
        super().__init__(1, _none, limit=limit)

    def drain(self) -> None:
        with self._room:
            self._draining = True
            self._ready.notify_all()
        try:
            super().drain()
        finally:
            self._draining = False

    def _run_jobs(self) -> None:
        try:
            while (jobs := self._take_batch()) is not None:
                finished = self._worker.work(jobs)
                del jobs
                if finished:
                    self._finish(finished)
        finally:
            self._worker.close()

    def _take_batch(self) -> list[WorkItem] | None:
        """The jobs of the next batch; empty if one under way must be finished first; None: no more come."""
        worker = self._worker
        with self._ready:
            if not worker.pending:
                self._wait_for(1, None)
            if not worker.full:
                self._wait_for(worker.most, _LINGER)
            if self._stopped:
                return None
            count = min(worker.most, len(self._jobs))
            if worker.pending and count < worker.most and not self._draining:
                return []
            return [self._jobs.popleft() for _ in range(count)]

    def _wait_for(self, count: int, timeout: float | None) -> None:
        """Wait until that many jobs are there, or until no more come."""
        if len(self._jobs) >= count:
            return
        self._awaited = count
        self._ready.wait_for(
            lambda: len(self._jobs) >= count or self._stopped or (timeout and self._draining), timeout
        )


def _none() -> Callable[[object], None]:
    raise AssertionError("batches have a worker of their own")


class FrameScheduler(Protocol):
    """What computes frames in their order: threads of one measurement or of many, or a card, or both."""

    @property
    def pending(self) -> int: ...
    @property
    def done(self) -> int: ...
    def submit(self, job: WorkItem, /) -> None: ...
    def drain(self) -> None: ...
    def close(self) -> None: ...


class DeviceDispatcher:
    """Gives each frame to the devices that compute its extractors, with the interface of a Scheduler."""

    def __init__(self, parts: Sequence[tuple[Share, FrameScheduler]]) -> None:
        self._parts = parts
        self._plan = NOTHING
        # Of this plan: the devices that compute counted frames, and those that compute every frame.
        self._counted: list[FrameScheduler] = []
        self._every: list[FrameScheduler] = []
        self._submitted = 0

    @property
    def pending(self) -> int:
        """The number of frames under way: devices take frames in one order, so the slowest has them all."""
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
    plan: Plan,
    collector: Collector,
    devices: Sequence[Device],
    join: Callable[[MakeWorker], FrameScheduler],
    *,
    uploads: bool,
) -> FrameScheduler:
    """The scheduler for frames of this geometry; raises CardMemoryError.

    `plan` is that of the first frame, `join` gives the threads that compute on the CPU, and `uploads` says
    whether the pictures lie in the machine's memory.
    """
    parts: list[tuple[Share, FrameScheduler]] = []
    try:
        for device in devices:
            share = Share(device, devices, geometry)
            if (window := device.window(geometry)) is not None:
                worker = ConveyorWorker(collector, share, uploads=uploads)
                worker.prepare(plan)  # here, so that the first frame finds out whether there is memory for it
                parts.append((share, BatchScheduler(worker, window)))
                continue
            make_worker = worker_factory(collector, share)
            parts.append((share, join(make_worker)))
    except BaseException:
        DeviceDispatcher(parts).close()
        raise
    return parts[0][1] if len(parts) == 1 else DeviceDispatcher(parts)


def own_threads(threads: int, make_worker: MakeWorker) -> FrameScheduler:
    """Threads that compute the frames of one measurement alone."""
    return Scheduler(threads, lambda: make_worker({}))
