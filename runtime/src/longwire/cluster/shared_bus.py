"""The subscription bus of a cluster: what changes at one node is told to subscribers at all of them.

An event says only that something changed, so one that is lost while Redis is gone costs a client no more than
a later look. Subscribers of the same node are told without Redis.
"""

from __future__ import annotations

import json
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
from longwire.wire.tasks import RunningTasks

_CHANNEL: Final = "events"
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
        self._tasks = RunningTasks()
        self._undo = link.subscribe(_CHANNEL, self._heard), link.on_back(self._returned)

    async def publish(self, event: ServerEvent) -> None:
        """Deliver an event to the listeners of this node now, and to those of others soon."""
        what = {"updated": event.uri} if isinstance(event, ResourceUpdated) else {"list": _NAMES[event]}
        self._link.publish(_CHANNEL, json.dumps({"from": self._origin, **what}).encode())
        await self._local.publish(event)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Have a function called for each event; returns the undo."""
        return self._local.subscribe(listener)

    async def close(self) -> None:
        """End the subscription to other nodes' events."""
        for undo in self._undo:
            undo()
        await self._tasks.end()

    def _returned(self) -> None:
        """Tell of changes that may have been missed while Redis was gone."""
        self._tasks.spawn(self._local.publish(ResourcesListChanged()))

    def _heard(self, payload: bytes) -> None:
        found = json.loads(payload)
        if found["from"] != self._origin:
            uri = found.get("updated")
            event = _LISTS.get(found.get("list")) if uri is None else ResourceUpdated(uri=uri)
            if event is not None:  # or one of a later version
                self._tasks.spawn(self._local.publish(event))
