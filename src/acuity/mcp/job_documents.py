"""Jobs as documents: what a client is shown of a job, and where the report of a finished score lies."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, get_args

from acuity.jobs.spec import Progress, Status
from acuity.mcp.schemas import number, or_null, record, text, whole

if TYPE_CHECKING:
    from acuity.jobs.job import Job

STATUSES: Final[tuple[str, ...]] = get_args(Status)

REPORTS: Final = "acuity://reports"
# The tools whose results are reports of a pair of videos.
_SCORES: Final = frozenset({"vmaf_score", "vmaf_score_encoded"})

_TIME: Final = {**text(), "format": "date-time"}

_PROGRESS: Final = {
    **record(
        {
            "done": number("Frames, or steps of a benchmark."),
            "total": or_null(number("null where nobody knows.")),
            "message": text(),
            "fps": or_null(number("Frames scored in a second.")),
            "eta_seconds": or_null(number("Seconds that are left, estimated.")),
            "mean": or_null(number("Mean score of the frames so far.")),
        },
        optional=("fps", "eta_seconds", "mean"),
        description="How far it is; null before it starts.",
    ),
    "additionalProperties": True,  # each kind of work has figures of its own
}

JOB_PROPERTIES: Final[dict[str, dict[str, Any]]] = {
    "job_id": text(),
    "tool": text("The tool it runs."),
    "title": text("What it does, in one line."),
    "status": {
        **text("interrupted: the server stopped while it ran; submit it again."),
        "enum": list(STATUSES),
    },
    "created": _TIME,
    "started": or_null(_TIME),
    "finished": or_null(_TIME),
    "progress": or_null(_PROGRESS),
    "queue_position": or_null(whole("1 is next; null unless it is waiting.")),
    "error": or_null(text("Why it failed.")),
    "report": or_null(text("The resource with the report of a completed score; add .csv for a table.")),
}


def job_document(job: Job) -> dict[str, Any]:
    """A job for clients; times are ISO 8601 in UTC."""
    return {
        "job_id": job.id,
        "tool": job.tool,
        "title": job.title,
        "status": job.status,
        "created": timestamp(job.created),
        "started": timestamp(job.started),
        "finished": timestamp(job.finished),
        "progress": _progress(job.progress) if job.progress is not None else None,
        "queue_position": job.queue_position,
        "error": job.error,
        "report": report_uri(job.id) if has_report(job) else None,
    }


def result_document(job: Job, document: dict[str, Any]) -> dict[str, Any]:
    """What the job's tool answers: the work's own document, and where it can be read again."""
    return {**document, **links(job.tool, job.id)}


def links(tool: str, job_id: str) -> dict[str, str]:
    """What a score's answer has beside the document of its work."""
    return {"job_id": job_id, "report": report_uri(job_id)} if tool in _SCORES else {}


def has_report(job: Job) -> bool:
    return job.status == "completed" and job.tool in _SCORES


def report_uri(job_id: str) -> str:
    return f"{REPORTS}/{job_id}"


def timestamp(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _progress(progress: Progress) -> dict[str, Any]:
    return {
        **progress.details,
        "done": progress.done,
        "total": progress.total,
        "message": progress.message,
    }
