"""What operators can do: end a session, drain or restart a worker. Each is a line in a table, and audited."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, NamedTuple

from acuity.mcp.admin.answers import AdminRefusal, answer, refuse
from acuity.mcp.admin.audit import Audit, Outcome
from acuity.mcp.admin.sessions_view import beginning
from acuity.mcp.admin.sources import Sources
from acuity.mcp.runtime.workers.status import Workers
from acuity.mcp.wire.http.request import Handler, Request, Responder
from acuity.mcp.wire.strict_json import parse_strictly
from acuity.text import quoted, shown_id

logger: Final = logging.getLogger(__name__)

_LONGEST_BODY: Final = 4096  # bytes
_LONGEST_TARGET: Final = 128  # characters


class Done(NamedTuple):
    """What was done, and to what."""

    target: str
    said: str  # one sentence


class OperatorAction(NamedTuple):
    """One kind of action: how it is named, what it is done to, and how."""

    name: str
    field: str  # of the body, which names the target
    run: Callable[[Sources, str], Done]  # raises AdminRefusal


def _kick(sources: Sources, given: str) -> Done:
    begin = beginning(given)
    found = [] if sources.runtime is None else sources.runtime.sessions.starting_with(begin)
    if any(len(begin) < len(beginning(shown_id(session.id))) for session in found):
        raise AdminRefusal(400, f"session_id is {quoted(given)}: use as many characters as are shown")
    shown = quoted(_shown(given))  # it may be of another node, and alive
    if not found:
        raise AdminRefusal(404, f"no session of this server begins with {shown}: it may have ended")
    if len(found) > 1:
        raise AdminRefusal(409, f"{len(found)} sessions begin with {shown}: name the whole id")
    [session] = found
    calls, streams = session.calls, session.open_gets
    session.end("kicked")
    ended = f"{_many(calls, 'call')} in flight and {_many(streams, 'open GET')}"
    return Done(shown_id(session.id), f"ended the session with {ended}")


def _many(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _drain(sources: Sources, worker_id: str) -> Done:
    workers = _workers(sources)
    if not workers.drain(worker_id):
        raise _not_done(workers, worker_id)
    return Done(worker_id, "the worker finishes what it runs, and another takes its place")


def _restart(sources: Sources, worker_id: str) -> Done:
    workers = _workers(sources)
    restart: Callable[[str], bool] | None = getattr(workers, "restart", None)
    if restart is None:
        raise AdminRefusal(409, "workers of this server can't be restarted at once: drain them instead")
    if not restart(worker_id):
        raise _not_done(workers, worker_id)
    return Done(worker_id, "the worker was ended, and is started again")


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
        given, refusal = "", None
        outcome: Outcome = "done"
        try:
            given = _target(request, action.field)
            target, said = action.run(sources, given)
        except AdminRefusal as problem:
            outcome, target, said, refusal = "refused", _shown(given), str(problem), problem
        except Exception:
            logger.exception("the action %s failed", action.name, extra={"event": "admin_failed"})
            outcome, target, said = "failed", _shown(given), "the server failed at it: see its log"
            refusal = AdminRefusal(500, said)
        who = request.principal.key.removeprefix("token:")
        audit.record(who, request.address, action.name, target, outcome, said)
        if refusal is not None:
            refuse(responder, refusal)
        else:
            answer(responder, {"ok": True, "action": action.name, "target": target, "said": said})

    return handle


def _shown(given: str) -> str:
    """A target that nothing was done to: it may be most of a session's id."""
    return shown_id(beginning(given))


def _target(request: Request, field: str) -> str:
    """The target that the body names: {"session_id": "…"}. Raises AdminRefusal."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # what a form of a foreign page can't send without asking first
        raise AdminRefusal(415, f"the body is {quoted(kind)}: send application/json")
    if len(request.body) > _LONGEST_BODY:
        raise AdminRefusal(413, f"the body has {len(request.body)} bytes, {_LONGEST_BODY} are the most")
    try:
        body = parse_strictly(request.body)
    except (ValueError, RecursionError):
        sentence = f'the body is no JSON in UTF-8 with each field once: send {{"{field}": "…"}}'
        raise AdminRefusal(400, sentence) from None
    if not isinstance(body, dict) or set(body) != {field}:
        raise AdminRefusal(400, f'the body has other fields than {field}: send {{"{field}": "…"}}')
    target = body[field]
    if not isinstance(target, str) or not 0 < len(target) <= _LONGEST_TARGET or not target.isprintable():
        raise AdminRefusal(400, f"{field} is {quoted(target)}: use 1 to {_LONGEST_TARGET} characters")
    return target
