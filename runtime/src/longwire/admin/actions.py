"""The actions of operators: end a session, drain or restart a worker. Each is a line in a table, audited."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from longwire.admin.queries import FAILED, NODES, AdminRefusal, Document, answer, parameters, refuse, whole
from longwire.admin.sessions_view import beginning
from longwire.admin.sources import Sources
from longwire.errors import ClusterUnavailable
from longwire.foreign_json import parse_strictly
from longwire.text import quoted, shown_id
from longwire.wire.http.request import Handler, Request, Responder
from longwire.wire.tasks import RunningTasks
from longwire.workers.pool import WorkerPool

logger: Final = logging.getLogger(__name__)

KEPT: Final = 200  # actions
_LONGEST_BODY: Final = 4096  # bytes
_LOOK: Final = 2.0  # seconds to ask Redis which node has a session
_LONGEST_TARGET: Final = 128  # characters

Outcome: TypeAlias = Literal["done", "refused", "failed"]


@dataclass(frozen=True, slots=True)
class Action:
    number: int  # from 1, since the server started
    at_unix: float
    who: str  # the name of the token
    address: str
    action: str  # kick, drain or restart
    target: str  # a session by its beginning, or a worker
    outcome: Outcome
    said: str  # the sentence that the operator was told


class Audit:
    """The last actions, the newest first."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._kept: deque[Action] = deque(maxlen=KEPT)
        self.total = 0
        self.on_action: Callable[[Action], None] = lambda _: None  # called with each action

    def record(self, who: str, address: str, action: str, target: str, outcome: Outcome, said: str) -> Action:
        self.total += 1
        kept = Action(self.total, round(self._clock(), 3), who, address, action, target, outcome, said)
        self._kept.appendleft(kept)
        level = logging.INFO if outcome == "done" else logging.WARNING
        fields = {name: getattr(kept, name) for name in ("who", "address", "action", "target", "outcome")}
        fields["event"] = "admin_action"
        logger.log(level, "operator %s: %s %s: %s", who, action, target, said, extra=fields)
        self.on_action(kept)
        return kept

    def document(self, query: str) -> Document:
        limit = parameters(query, {**NODES, "limit": whole(1, KEPT)}).get("limit", KEPT)
        return {"total": self.total, "actions": [asdict(action) for action in list(self._kept)[:limit]]}


def audits_together(query: str, documents: Mapping[str, Document]) -> Document:
    """Merge the audits of several nodes, given by label; each action names its node."""
    told = {label: one for label, one in documents.items() if "problem" not in one}
    actions = [{**action, "node": label} for label, one in told.items() for action in one["actions"]]
    actions.sort(key=lambda action: action["at_unix"], reverse=True)
    problems = [one["problem"] for one in documents.values() if "problem" in one]
    total = sum(one["total"] for one in told.values())
    return {"total": total, "actions": actions[:KEPT], "problems": problems}


class OperatorAction(NamedTuple):
    """A kind of action: its name, the field that names its target, and its function."""

    name: str
    field: str  # of the body, which names the target
    # What was done to which target, in one sentence; raises AdminRefusal.
    run: Callable[[Sources, str], Awaitable[tuple[str, str]]]


async def _kick(sources: Sources, given: str) -> tuple[str, str]:
    begin = beginning(given)
    found = [] if sources.runtime is None else sources.runtime.sessions.starting_with(begin)
    if any(len(begin) < len(beginning(shown_id(session.id))) for session in found):
        raise AdminRefusal(400, f"session_id is {quoted(given)}: use as many characters as are shown")
    shown = quoted(_shown(given))  # it may be of another node, and alive
    if not found:
        elsewhere = await _elsewhere(sources, begin)
        raise elsewhere or AdminRefusal(
            404, f"no session of this server begins with {shown}: it may have ended"
        )
    if len(found) > 1:
        raise AdminRefusal(409, f"{len(found)} sessions begin with {shown}: name the whole id")
    [session] = found
    ended = f"{_many(session.calls, 'call')} in flight and {_many(session.open_gets, 'open GET')}"
    session.end("kicked")
    return shown_id(session.id), f"ended the session with {ended}"


async def _elsewhere(sources: Sources, begin: str) -> AdminRefusal | None:
    """A refusal that names the node which has a session; None: this server is alone, or no node is known."""
    nodes = sources.nodes
    if nodes is None or sources.runtime is None:
        return None
    try:
        async with asyncio.timeout(_LOOK):
            ownership = sources.runtime.ownership
            place = None if ownership is None else await ownership.find(begin)
            if place is not None and place.alive and place.label != nodes.label:
                return _at(begin, place.label, place.address)
            label = begin.partition("-")[0]  # where it began, and mostly still is
            for node in await nodes.statuses():
                if node.label == label != nodes.label and node.alive:
                    return _at(begin, node.label, node.address)
    except (ClusterUnavailable, TimeoutError):
        return AdminRefusal(
            503, f"{nodes.problem or 'Redis does not answer'}: which node has it can't be asked"
        )
    return None


def _at(begin: str, node: str, address: str) -> AdminRefusal:
    shown = quoted(shown_id(begin))
    return AdminRefusal(404, f"{shown} is a session of the node '{node}' at {address}: end it there")


def _many(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _to_worker(name: str, do: Callable[[WorkerPool, str], bool], said: str) -> OperatorAction:
    """An action on a worker: `do` returns whether it was done."""

    async def run(sources: Sources, worker_id: str) -> tuple[str, str]:
        workers = sources.workers
        if workers is None:
            raise AdminRefusal(409, "this server has no method workers: start it with --method-workers")
        if do(workers, worker_id):
            return worker_id, said
        for status in workers.statuses():
            if status.id == worker_id:
                raise AdminRefusal(409, f"the worker {worker_id} is {status.state}: wait until it is ready")
        raise AdminRefusal(404, f"there is no worker {quoted(worker_id)}: see /admin/workers")

    return OperatorAction(name, "worker", run)


_DRAINED: Final = "the worker finishes what it runs, and another takes its place"
_RESTARTED: Final = "the worker was ended, and is started again"
ACTIONS: Final[dict[str, OperatorAction]] = {
    "/admin/sessions/kick": OperatorAction("kick", "session_id", _kick),
    "/admin/workers/drain": _to_worker("drain", lambda pool, worker: pool.drain(worker), _DRAINED),
    "/admin/workers/restart": _to_worker("restart", lambda pool, worker: pool.restart(worker), _RESTARTED),
}


def action_handler(action: OperatorAction, sources: Sources, audit: Audit, tasks: RunningTasks) -> Handler:
    """The handler of an action's path. Every outcome is audited."""

    async def act(request: Request, responder: Responder) -> None:
        given, refusal = "", None
        outcome: Outcome = "done"
        try:
            given = _target(request, action.field)
            target, said = await action.run(sources, given)
        except AdminRefusal as problem:
            outcome, refusal = "refused", problem
        except Exception:
            logger.exception("the action %s failed", action.name, extra={"event": "admin_failed"})
            outcome, refusal = "failed", FAILED
        if refusal is not None:
            target, said = _shown(given), str(refusal)
        who = request.principal.key.removeprefix("token:")
        audit.record(who, request.address, action.name, target, outcome, said)
        if refusal is not None:
            refuse(responder, refusal)
        else:
            answer(responder, {"ok": True, "action": action.name, "target": target, "said": said})

    def handle(request: Request, responder: Responder) -> None:
        tasks.spawn(act(request, responder))

    return handle


def _shown(given: str) -> str:
    """A target that nothing was done to, shortened: it may be most of a session's id."""
    return shown_id(beginning(given))


def _target(request: Request, field: str) -> str:
    """The target that the body names: {"session_id": "…"}. Raises AdminRefusal."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # a form on a foreign page can't send JSON without asking first
        raise AdminRefusal(415, f"the body is {quoted(kind)}: send application/json")
    if len(request.body) > _LONGEST_BODY:
        raise AdminRefusal(413, f"the body has {len(request.body)} bytes, {_LONGEST_BODY} are the most")
    try:
        body = parse_strictly(request.body)
    except ValueError:
        sentence = f'the body is no JSON in UTF-8 with each field once: send {{"{field}": "…"}}'
        raise AdminRefusal(400, sentence) from None
    if not isinstance(body, dict) or set(body) != {field}:
        raise AdminRefusal(400, f'the body has other fields than {field}: send {{"{field}": "…"}}')
    target = body[field]
    if not isinstance(target, str) or not 0 < len(target) <= _LONGEST_TARGET or not target.isprintable():
        raise AdminRefusal(400, f"{field} is {quoted(target)}: use 1 to {_LONGEST_TARGET} characters")
    return target
