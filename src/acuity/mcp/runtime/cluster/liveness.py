"""Which nodes live, asked of Redis at most once a second for all who want to know."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextvars import Context
from typing import Final, TypeAlias

from acuity.mcp.runtime.cluster.nodes import Nodes
from acuity.mcp.runtime.cluster.places import ClusterUnavailable, Place

_FRESH: Final = 1.0  # seconds that an answer counts
_Alive: TypeAlias = frozenset[tuple[str, str]]  # labels and incarnations


class Liveness:
    """Says whether a node lives, as far as is known: where Redis doesn't answer, it does."""

    def __init__(self, nodes: Nodes, clock: Callable[[], float] = time.monotonic) -> None:
        self._nodes = nodes
        self._clock = clock
        self._asked = -_FRESH
        self._asking: asyncio.Task[_Alive | None] | None = None

    async def __call__(self, place: Place) -> bool:
        now = self._clock()
        if self._asking is None or now - self._asked >= _FRESH:
            self._asked = now
            self._asking = asyncio.create_task(self._ask(), context=Context())
        alive = await asyncio.shield(self._asking)
        return alive is None or (place.node, place.incarnation) in alive

    async def _ask(self) -> _Alive | None:
        try:
            found = await self._nodes.statuses()
        except ClusterUnavailable:
            return None
        return frozenset((one.label, one.incarnation) for one in found if one.alive)
