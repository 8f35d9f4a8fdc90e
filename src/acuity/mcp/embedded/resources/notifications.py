"""What a notification carries: where the measurement stands, and the scores that its reader doesn't know yet.

    "_meta": {"acuity/measurement": {"frame": 297, "score": 93.1, …, "scores": {"frames": […], "omitted": 0}}}

It is made when it is sent, so a slow reader gets the newest state; what is new since the notification before
comes along, frame by frame, each once. A reader so slow that too much is new gets the newest of it, and how
many frames were left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError

from acuity.errors import FeatureError
from acuity.mcp.embedded.steering.clients import pause_documents
from acuity.mcp.embedded.uris import SCORES, WATCH, Address, parse
from acuity.text import one_line

if TYPE_CHECKING:
    from acuity.mcp.embedded.live.scores import Scores
    from acuity.mcp.embedded.live.state import Live

META_KEY: Final = "acuity/measurement"
_WITH_SCORES: Final = (SCORES, WATCH)


@dataclass(slots=True)
class _Known:
    """Up to where one address was told."""

    address: Address
    name: str
    next_first: int
    repredictions: int


class NotificationMeta:
    """The `_meta` of all notifications of one subscriber."""

    def __init__(self, live: Live, scores: Scores) -> None:
        self._live = live
        self._scores = scores
        self._known: dict[str, _Known] = {}  # by URI

    def begin(self, uri: str) -> None:
        """Tell the scores of this address from now on; raises MCPError for what can't be told."""
        address = parse(uri)
        if address is None or address.resource not in _WITH_SCORES:
            return
        try:
            name = self._scores.check(address.name)
        except FeatureError as error:
            if address.resource == SCORES:
                return  # there is no model, and so nothing but the headline
            raise MCPError(types.INVALID_PARAMS, one_line(str(error)), {"uri": uri}) from error
        _, following = self._scores.since(name, 0)
        self._known[uri] = _Known(address, name, following, self._live.measurement.repredictions)

    def end(self, uri: str) -> None:
        """This address is not told any more."""
        self._known.pop(uri, None)

    async def make(self, uri: str) -> dict[str, Any]:
        """What goes along with a change of this address, as soon as it is the client's turn."""
        await self._live.budget.turn()
        measurement = self._live.measurement
        at, over, pauses = measurement.snapshot(), measurement.over, measurement.gate.pauses
        newest = self._scores.headline()
        found: dict[str, Any] = {
            "frames_read": at.frames_fed,
            "frames_scored": at.frames_done,
            "frame": newest[0] if newest else None,
            "score": newest[1] if newest else None,
            "paused": bool(pauses),
            "paused_by": pause_documents(pauses),
            "over": over,
        }
        if uri in self._known:
            found["scores"] = self._new_scores(self._known[uri])
        return {META_KEY: found}

    def _new_scores(self, known: _Known) -> dict[str, Any]:
        repredictions = self._live.measurement.repredictions
        if known.repredictions != repredictions:  # earlier frames have other scores now
            known.repredictions, known.next_first = repredictions, 0
        document, known.next_first = self._scores.newest_rows(
            known.name, known.next_first, known.address.below
        )
        return document
