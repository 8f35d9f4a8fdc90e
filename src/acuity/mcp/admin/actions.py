"""What operators can do: end a session, drain or restart a worker. Each is a line in a table, and audited."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from acuity.mcp.admin.answers import AdminRefusal, answer, refuse
from acuity.mcp.admin.audit import Audit, Outcome
from acuity.mcp.admin.sessions_view import beginning
from acuity.mcp.admin.sources import Sources
from acuity.mcp.operations.observe import shown_id
from acuity.mcp.runtime.workers.status import Workers
from acuity.mcp.wire.http.request import Handler, Request, Responder
from acuity.text import note, quoted

logger: Final = logging.getLogger(__name__)

_LONGEST_BODY: Final = 4096  # bytes
_LONGEST_TARGET: Final = 128  # characters


class OperatorAction(NamedTuple):
    """One kind of action: how it is named, what it is done to, and how."""

    name: str
    field: str  # of the body, which names the target
    run: Callable[[Sources, str], str]  # returns what was done, in a sentence; raises AdminRefusal


def _kick(sources: Sources, given: str) -> str:
    begin = beginning(given)
    found = [] if sources.runtime is None else sources.runtime.sessions.starting_with(begin)
    if any(len(begin) < len(beginning(shown_id(session.id))) for session in found):
        raise AdminRefusal(400, f"session_id is {quoted(given)}: use as many characters as are shown")
    if not found:
        raise AdminRefusal(404, f"no session of this server begins with {quoted(begin)}: it may have ended")
    if len(found) > 1:
        raise AdminRefusal(409, f"{len(found)} sessions begin with {quoted(begin)}: name the whole id")
    [session] = found
    calls, streams = session.calls, session.open_gets
    session.end("kicked")
    return f"ended the session with {_many(calls, 'call')} in flight and {_many(streams, 'open GET')}"


def _many(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _drain(sources: Sources, worker_id: str) -> str:
    workers = _workers(sources)
    if not workers.drain(worker_id):
        raise _not_done(workers, worker_id)
    return "the worker finishes what it runs, and another takes its place"


def _restart(sources: Sources, worker_id: str) -> str:
    workers = _workers(sources)
    restart: Callable[[str], bool] | None = getattr(workers, "restart", None)
    if restart is None:
        raise AdminRefusal(409, "workers of this server can't be restarted at once: drain them instead")
    if not restart(worker_id):
        raise _not_done(workers, worker_id)
    return "the worker was ended, and is started again"


def _not_done(workers: Workers, worker_id: str) -> AdminRefusal:
    """Why nothing was done to a worker."""
    for status in workers.statuses():
        if status.id == worker_id:
            return AdminRefusal(409, f"the worker {worker_id} is {status.state}: wait until it is ready")
    return AdminRefusal(404, f"there is no worker {quoted(worker_id)}: see /admin/workers")


def _workers(sources: Sources) -> Workers:
    if sources.workers is None:
        raise AdminRefusal(409, "this server has no method workers: start it with --method-workers")
    return sources.workers


ACTIONS: Final[dict[str, OperatorAction]] = {
    "/admin/sessions/kick": OperatorAction("kick", "session_id", _kick),
    "/admin/workers/drain": OperatorAction("drain", "worker", _drain),
    "/admin/workers/restart": OperatorAction("restart", "worker", _restart),
}


def action_handler(action: OperatorAction, sources: Sources, audit: Audit) -> Handler:
    """The handler of an action's path. Whatever becomes of it is audited."""

    def handle(request: Request, responder: Responder) -> None:
        target, refusal = "", None
        outcome: Outcome = "done"
        try:
            target = _target(request, action.field)
            said = action.run(sources, target)
        except AdminRefusal as problem:
            outcome, said, refusal = "refused", str(problem), problem
        except Exception:
            logger.exception("the action %s failed", action.name, extra={"event": "admin_failed"})
            outcome, said = "failed", "the server failed at it: see its log"
            refusal = AdminRefusal(500, said)
        who = request.principal.key.removeprefix("token:")
        shown = _shown_target(action, target)
        entry = audit.record(who, request.address, action.name, shown, outcome, said)
        if refusal is not None:
            refuse(responder, refusal)
        else:
            answer(responder, {"ok": True, "action": action.name, "target": entry.target, "said": said})

    return handle


def _shown_target(action: OperatorAction, target: str) -> str:
    if action.name != "kick" or not target:
        return note(target, _LONGEST_TARGET)
    return f"{shown_id(beginning(target)).removesuffix('…')}…"


def _target(request: Request, field: str) -> str:
    """The target that the body names: {"session_id": "…"}. Raises AdminRefusal."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # what a form of a foreign page can't send without asking first
        raise AdminRefusal(415, f"the body is {quoted(kind)}: send application/json")
    if len(request.body) > _LONGEST_BODY:
        raise AdminRefusal(413, f"the body has {len(request.body)} bytes, {_LONGEST_BODY} are the most")
    try:
        body: Any = json.loads(request.body)
    except (ValueError, RecursionError):
        raise AdminRefusal(400, f'the body is no JSON: send {{"{field}": "…"}}') from None
    if not isinstance(body, dict) or set(body) != {field}:
        raise AdminRefusal(400, f'the body has other fields than {field}: send {{"{field}": "…"}}')
    target = body[field]
    if not isinstance(target, str) or not 0 < len(target) <= _LONGEST_TARGET or not target.isprintable():
        raise AdminRefusal(400, f"{field} is {quoted(target)}: use 1 to {_LONGEST_TARGET} characters")
    return target
