"""The `_meta` of notifications: the measurement's progress, and the scores since the notification before.

    "_meta": {"acuity/measurement": {"frame": 297, "score": 93.1, …, "scores": {"frames": […], "omitted": 0}}}

It is made when the notification is sent, so a slow reader gets the newest state. Each frame is sent once;
where too many are new, the newest are sent, with the number of those left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError

from acuity.errors import FeatureError
from acuity.mcp.embedded.steering.clients import pause_documents
from acuity.mcp.embedded.uris import SCORES, WATCH, ResourceUri, parse
from acuity.text import one_line

if TYPE_CHECKING:
    from acuity.mcp.embedded.live.scores import Scores
    from acuity.mcp.embedded.live.state import LiveState

META_KEY: Final = "acuity/measurement"
_WITH_SCORES: Final = (SCORES, WATCH)


@dataclass(slots=True)
class _Known:
    """The frames of one URI that its subscriber has been sent."""

    uri: ResourceUri
    name: str
    next_first: int
    repredictions: int


class NotificationMeta:
    """Makes the `_meta` of all notifications to one subscriber."""

    def __init__(self, live: LiveState, scores: Scores) -> None:
        self._live = live
        self._scores = scores
        self._known: dict[str, _Known] = {}  # by URI

    def begin(self, uri: str) -> None:
        """Send the scores of this URI from now on; raises MCPError for one that isn't measured."""
        parsed = parse(uri)
        if parsed is None or parsed.resource not in _WITH_SCORES:
            return
        try:
            name = self._scores.check(parsed.name)
        except FeatureError as error:
            if parsed.resource == SCORES:
                return  # there is no model, and so nothing but the headline
            raise MCPError(types.INVALID_PARAMS, one_line(str(error)), {"uri": uri}) from error
        _, following = self._scores.since(name, 0)
        self._known[uri] = _Known(parsed, name, following, self._live.measurement.repredictions)

    def end(self, uri: str) -> None:
        """Send nothing more of this URI."""
        self._known.pop(uri, None)

    async def make(self, uri: str) -> dict[str, Any]:
        """The `_meta` for a change of this URI, as soon as the budget admits the client."""
        await self._live.budget.turn()
        measurement = self._live.measurement
        at, over, pauses = measurement.snapshot(), self._live.over, measurement.gate.pauses
        newest = self._scores.headline()
        found: dict[str, Any] = {
            "frames_read": at.frames_fed,
            "frames_scored": at.frames_done,
            "frame": newest[0] if newest else None,
            "score": newest[1] if newest else None,
            "paused": bool(pauses),
            "paused_by": pause_documents(pauses),
            "over": over,
            "state": self._live.state,
            "reason": self._live.reason,
        }
        if uri in self._known:
            found["scores"] = self._new_scores(self._known[uri])
        return {META_KEY: found}

    def _new_scores(self, known: _Known) -> dict[str, Any]:
        repredictions = self._live.measurement.repredictions
        if known.repredictions != repredictions:  # earlier frames have other scores now
            known.repredictions, known.next_first = repredictions, 0
        document, known.next_first = self._scores.newest_rows(known.name, known.next_first, known.uri.below)
        return document
