"""Reports of finished scores as the jobs keep them, and the ranges of frames that clients read of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acuity.errors import NoReport
from acuity.mcp.limits import may_see
from acuity.mcp.tasks.documents import REPORTS, has_report, result_document

if TYPE_CHECKING:
    from acuity.jobs.service import Jobs


async def stored_report(jobs: Jobs, job_id: str) -> dict[str, Any]:
    """The whole report of a finished score; NoReport says why there is none."""
    job = await jobs.get(job_id)
    if job is None or not may_see(job.client):
        raise NoReport(f"there is no report '{job_id}': list_jobs and {REPORTS} have those that are kept")
    if not job.over:
        raise NoReport(f"job '{job_id}' is {job.status}: its report is here once it has completed")
    if not has_report(job):
        why = "isn't a score" if job.status == "completed" else f"ended as {job.status}"
        raise NoReport(f"job '{job_id}' has no report: it ran {job.tool} and {why}")
    document = await jobs.result(job_id)
    if document is None:
        raise NoReport(f"the report of job '{job_id}' wasn't kept: score the pair again")
    return result_document(job, document)


def score_columns(report: dict[str, Any]) -> list[str]:
    """The names of the figures that are models' scores; all figures of a report that has none."""
    named = [model["name"] for model in report.get("models", [{"name": "vmaf"}])]
    return [name for name in named if name in report["pooled_metrics"]] or list(report["pooled_metrics"])
