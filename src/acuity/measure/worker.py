"""From a frame to figures in the collector: what every worker thread does.

A job brings its plan along, so a change of what is computed needs no word to the workers: each of them makes
the runners it lacks when it meets the first frame of a new plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from acuity.devices.device import Device, DeviceRunner, Lane, device_for
from acuity.features.extractor import Frame, Geometry
from acuity.measure.collector import Collector
from acuity.measure.plan import NOTHING, Group, Plan


class WorkItem(NamedTuple):
    """One frame and what to compute for it."""

    frame: Frame
    plan: Plan
    counted: bool  # False: only what is computed for every frame


def worker_factory(
    geometry: Geometry, collector: Collector, devices: Sequence[Device]
) -> Callable[[], Callable[[WorkItem], None]]:
    """What each worker thread calls to get its function."""

    def make_worker() -> Callable[[WorkItem], None]:
        current = NOTHING
        lanes: dict[str, Lane] = {}
        # Of the current plan only: a worker meets plans in the order of frames, so old ones don't come back.
        runners: dict[Group, DeviceRunner] = {}
        by_lane: list[tuple[Lane, list[tuple[Group, DeviceRunner]]]] = []

        def change_plan(plan: Plan) -> None:
            nonlocal current, runners, by_lane
            groups: dict[str, list[tuple[Group, DeviceRunner]]] = {}
            known, runners = runners, {}
            for group in plan.groups:
                device = device_for(devices, group.kind)
                lane = lanes.get(device.name) or lanes.setdefault(device.name, device.lane(geometry))
                runners[group] = known.get(group) or lane.runner(group.kind, group.members)
                groups.setdefault(device.name, []).append((group, runners[group]))
            by_lane = [(lanes[name], members) for name, members in groups.items()]
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
