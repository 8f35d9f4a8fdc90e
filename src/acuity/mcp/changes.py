"""Tells clients that listen when there is a report more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated, SubscriptionBus

from acuity.mcp.job_documents import REPORTS, has_report, report_uri

if TYPE_CHECKING:
    from acuity.jobs.service import Job, Jobs


def publish_changes(jobs: Jobs, bus: SubscriptionBus) -> Callable[[], None]:
    """Publish every new report on the bus, until what is returned is called."""
    under_way: set[asyncio.Task[None]] = set()  # the loop itself holds tasks weakly

    def heard(job: Job) -> None:
        if has_report(job):
            task = asyncio.get_running_loop().create_task(_publish(bus, job.id))
            under_way.add(task)
            task.add_done_callback(under_way.discard)

    undo = jobs.on_change(heard)

    def stop() -> None:
        undo()
        for task in under_way:
            task.cancel()

    return stop


async def _publish(bus: SubscriptionBus, job_id: str) -> None:
    await bus.publish(ResourcesListChanged())
    for uri in (REPORTS, report_uri(job_id)):
        await bus.publish(ResourceUpdated(uri=uri))
