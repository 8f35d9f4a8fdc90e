"""From a frame to figures in the collector: what every worker thread does.

A job brings its plan along, so a change of what is computed needs no word to the workers: each of them makes
the runners it lacks when it meets the first frame of a new plan.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from acuity.errors import InputError, PairingError
from acuity.features.extractor import Frame, Geometry, Runner
from acuity.measure.collector import Collector
from acuity.measure.plan import NOTHING, Group, Plan


class Job(NamedTuple):
    """One frame and what to compute for it."""

    frame: Frame
    plan: Plan
    counted: bool  # False: only what is computed for every frame


def worker_factory(
    geometry: Geometry, collector: Collector, instruction_set: str
) -> Callable[[], Callable[[Job], None]]:
    """What each worker thread calls to get its function."""

    def make_worker() -> Callable[[Job], None]:
        from acuity._native import Workspace

        workspace = Workspace()
        current = NOTHING
        # Of the current plan only: a worker meets plans in the order of frames, so old ones don't come back.
        runners: dict[Group, Runner] = {}

        def runner(group: Group) -> Runner:
            known = runners.get(group)
            if known is not None:
                return known
            return group.kind.runner(group.members, geometry, workspace, instruction_set)

        def work(job: Job) -> None:
            nonlocal current, runners
            frame, plan, counted = job
            if plan is not current:
                runners = {group: runner(group) for group in plan.groups}
                current = plan
            check_samples(frame, plan.planes)
            figures: dict[str, float] = {}
            for group, runs in runners.items():
                if counted or group.every_frame:
                    figures.update(runs.run(frame))
            collector.write(frame.index, figures)

        return work

    return make_worker


def check_samples(frame: Frame, planes: int | None) -> None:
    """Refuse samples that are deeper than the video says, and chroma planes that don't match."""
    from acuity._native import samples_fit

    ours, theirs = ([plane.shape for plane in p.planes[:planes]] for p in (frame.ref, frame.dis))
    if ours != theirs:
        raise PairingError(
            f"frame {frame.index} has planes of {ours} in the reference and {theirs} in the distorted video: "
            "both must have the same chroma layout"
        )
    for picture, name in ((frame.ref, "reference"), (frame.dis, "distorted video")):
        depth = picture.format.depth
        for plane in picture.planes[:planes]:
            if not samples_fit(plane, depth):
                raise InputError(
                    f"frame {frame.index} of the {name} has the sample {plane.max()}, and {depth} bits hold "
                    f"at most {(1 << depth) - 1}: pass the bit depth it really has"
                )
