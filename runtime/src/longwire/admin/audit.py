"""What operators did: a log line for each action, and the last ones to read again."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias

from longwire.admin.answers import Document

logger: Final = logging.getLogger(__name__)

KEPT: Final = 200  # actions

Outcome: TypeAlias = Literal["done", "refused", "failed"]


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that an operator asked for."""

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
        self.on_action: Callable[[Action], None] = lambda _: None  # is told of each

    def record(self, who: str, address: str, action: str, target: str, outcome: Outcome, said: str) -> Action:
        """Keep an action and log it."""
        self.total += 1
        kept = Action(self.total, round(self._clock(), 3), who, address, action, target, outcome, said)
        self._kept.appendleft(kept)
        level = logging.INFO if outcome == "done" else logging.WARNING
        logger.log(
            level,
            "operator %s: %s %s: %s",
            who,
            action,
            target,
            said,
            extra={
                "event": "admin_action",
                "who": who,
                "address": address,
                "action": action,
                "target": target,
                "outcome": outcome,
            },
        )
        self.on_action(kept)
        return kept

    def actions(self, limit: int = KEPT) -> list[dict[str, Any]]:
        """The last actions as documents, the newest first."""
        return [asdict(action) for action in list(self._kept)[:limit]]

    def document(self, limit: int = KEPT) -> Document:
        """The document of GET /admin/audit."""
        return {"total": self.total, "actions": self.actions(limit)}


def audits_together(documents: Mapping[str, Document], limit: int = KEPT) -> Document:
    """One document of those of several nodes, by label; each action says at which node it was."""
    told = {label: one for label, one in documents.items() if "problem" not in one}
    actions = [{**action, "node": label} for label, one in told.items() for action in one["actions"]]
    actions.sort(key=lambda action: action["at_unix"], reverse=True)
    problems = [one["problem"] for one in documents.values() if "problem" in one]
    total = sum(one["total"] for one in told.values())
    return {"total": total, "actions": actions[:limit], "problems": problems}
