"""Announces every new report to the clients that subscribed to reports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated, SubscriptionBus

from acuity.agents.tasks.documents import REPORTS, has_report, report_uri
from acuity.jobs.service import Job, Jobs


def publish_changes(jobs: Jobs, bus: SubscriptionBus, *, everywhere: bool = True) -> Callable[[], None]:
    """Publish every new report on the bus, also those of other processes; returns a function that stops this.

    Without `everywhere`, those of this process only.
    """
    under_way: set[asyncio.Task[None]] = set()  # the event loop holds only weak references

    def heard(job: Job) -> None:
        if has_report(job):
            task = asyncio.get_running_loop().create_task(_publish(bus, job.id))
            under_way.add(task)
            task.add_done_callback(under_way.discard)

    undo = jobs.on_change(heard, everywhere=everywhere)

    def stop() -> None:
        undo()
        for task in under_way:
            task.cancel()

    return stop


async def _publish(bus: SubscriptionBus, job_id: str) -> None:
    await bus.publish(ResourcesListChanged())
    for uri in (REPORTS, report_uri(job_id)):
        await bus.publish(ResourceUpdated(uri=uri))
