"""Jobs as operators see them: the newest, whoever they belong to."""

from __future__ import annotations

from longwire.admin.answers import AdminRefusal, Document, answer, refuse
from longwire.admin.queries import DEFAULT_LIMIT, PAGING, parameters
from longwire.admin.sources import Sources
from longwire.declared import expected_errors
from longwire.operations.observe import shown
from longwire.text import note, shown_id
from longwire.wire.http.request import Handler, Request, Responder
from longwire.wire.tasks import Tasks
from longwire.work import Job


def jobs_handler(sources: Sources, tasks: Tasks) -> Handler:
    """The handler of GET /admin/jobs. The store is read in a thread, so the answer comes later."""

    async def read(limit: int, responder: Responder) -> None:
        try:
            jobs, more = await sources.jobs.list(limit=limit)
        except expected_errors() as error:
            refuse(responder, AdminRefusal(503, str(error)))
            return
        if not responder.gone:
            answer(responder, {"returned_jobs": len(jobs), "more": more, "jobs": [_row(job) for job in jobs]})

    def handle(request: Request, responder: Responder) -> None:
        try:
            asked = parameters(request.query, {"limit": PAGING["limit"]})
        except AdminRefusal as refusal:
            refuse(responder, refusal)
        else:
            tasks.spawn(read(asked.get("limit", DEFAULT_LIMIT), responder))

    return handle


def _row(job: Job) -> Document:
    progress = job.progress
    return {
        "id": shown_id(job.id),
        "tool": job.tool,
        "title": note(job.title),
        "client": shown(job.client),
        "status": job.status,
        "created_at_unix": job.created,
        "started_at_unix": job.started,
        "finished_at_unix": job.finished,
        "queue_position": job.queue_position,
        "done": None if progress is None else progress.done,
        "total": None if progress is None else progress.total,
        "message": None if progress is None else note(progress.message),
        "error": None if job.error is None else note(job.error),
    }
