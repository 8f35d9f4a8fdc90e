"""The work of each worker thread: computes a frame and stores its figures in the collector.

A work item carries its plan, so workers need no notice of a change: each creates the missing runners when it
gets the first frame of a new plan.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from acuity.devices.device import Device, DeviceRunner, Lane, device_for
from acuity.features.extractor import Frame, Geometry
from acuity.measure.collector import Collector
from acuity.measure.plan import NOTHING, Group, Plan


class WorkItem(NamedTuple):
    """One frame and its plan."""

    frame: Frame
    plan: Plan
    counted: bool  # False: only what is computed for every frame


Lanes = dict[Hashable, Lane]  # of one thread, by device and geometry
# Creates the work function of a thread, which has these lanes already and adds others.
MakeWorker = Callable[[Lanes], Callable[[WorkItem], None]]


def worker_factory(geometry: Geometry, collector: Collector, devices: Sequence[Device]) -> MakeWorker:
    """The function that each worker thread calls to create its work function."""

    def make_worker(known_lanes: Lanes) -> Callable[[WorkItem], None]:
        current = NOTHING
        # Of the current plan only: frames come in order, so an old plan doesn't come back.
        runners: dict[Group, DeviceRunner] = {}
        by_lane: list[tuple[Lane, list[tuple[Group, DeviceRunner]]]] = []

        def change_plan(plan: Plan) -> None:
            nonlocal current, runners, by_lane
            groups: dict[Lane, list[tuple[Group, DeviceRunner]]] = {}
            known, runners = runners, {}
            for group in plan.groups:
                device = device_for(devices, group.kind)
                # The measurements of a comparison choose alike: one name is one device with one setting.
                place = device.name, tuple(device.describe().items()), geometry, geometry.chroma
                lane = known_lanes.get(place) or known_lanes.setdefault(place, device.lane(geometry))
                runners[group] = known.get(group) or lane.runner(group.kind, group.members)
                groups.setdefault(lane, []).append((group, runners[group]))
            by_lane = list(groups.items())
            current = plan

        def work(job: WorkItem) -> None:
            frame, plan, counted = job
            if plan is not current:
                change_plan(plan)
            figures: dict[str, float] = {}
            for lane, members in by_lane:
                taken = lane.take(frame, plan.planes)
                for group, runner in members:
                    if counted or group.every_frame:
                        figures.update(runner.run(taken))
            collector.write(frame.index, figures)

        return work

    return make_worker
