"""The subscription bus of a cluster: what changes at one node is told to subscribers at all of them.

An event says only that something changed, so one that is lost while Redis is gone costs a client no more than
a later look. Subscribers of the same node are told without Redis.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Final

from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)

from longwire.cluster.redis_link import RedisLink
from longwire.foreign_json import parse_json
from longwire.wire.tasks import Tasks

logger: Final = logging.getLogger(__name__)

CHANNEL: Final = "events"
_LONGEST: Final = 64 << 10  # bytes of an event
_LISTS: Final[dict[str, ServerEvent]] = {
    "tools": ToolsListChanged(),
    "prompts": PromptsListChanged(),
    "resources": ResourcesListChanged(),
}
_NAMES: Final = {event: name for name, event in _LISTS.items()}


class SharedSubscriptionBus:
    """A SubscriptionBus over the nodes of a cluster."""

    def __init__(self, link: RedisLink, origin: str) -> None:
        """`origin` is this process: its own events don't come back to it."""
        self._link = link
        self._origin = origin
        self._local = InMemorySubscriptionBus()
        self._tasks = Tasks()
        self._warned = False  # of events that can't be read
        self._undo = link.subscribe(CHANNEL, self._heard), link.on_back(self._returned)

    async def publish(self, event: ServerEvent) -> None:
        """Deliver an event to the listeners of this node now, and to those of others soon."""
        self._link.publish(CHANNEL, encode_event(event, self._origin))
        await self._local.publish(event)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Have a function called for each event; returns the undo."""
        return self._local.subscribe(listener)

    async def close(self) -> None:
        """Hear of no more events of others."""
        for undo in self._undo:
            undo()
        await self._tasks.end()

    def _returned(self) -> None:
        """Tell of changes that may have been missed while Redis was gone."""
        self._tasks.spawn(self._local.publish(ResourcesListChanged()))

    def _heard(self, payload: bytes) -> None:
        found = decode_event(payload)
        if found is None:
            if not self._warned:
                logger.warning("an event of another node can't be read", extra={"event": "cluster_event"})
            self._warned = True
            return
        event, origin = found
        if origin != self._origin:
            self._tasks.spawn(self._local.publish(event))


def encode_event(event: ServerEvent, origin: str) -> bytes:
    if isinstance(event, ResourceUpdated):
        return json.dumps({"from": origin, "updated": event.uri}).encode()
    return json.dumps({"from": origin, "list": _NAMES[event]}).encode()


def decode_event(payload: bytes) -> tuple[ServerEvent, str] | None:
    """An event and the process that it comes from; None: it is none."""
    try:
        found = parse_json(payload) if len(payload) <= _LONGEST else None
    except ValueError:
        return None
    if not isinstance(found, dict) or not isinstance(found.get("from"), str):
        return None
    if isinstance(uri := found.get("updated"), str):
        return ResourceUpdated(uri=uri), found["from"]
    name = found.get("list")
    event = _LISTS.get(name) if isinstance(name, str) else None
    return None if event is None else (event, found["from"])
