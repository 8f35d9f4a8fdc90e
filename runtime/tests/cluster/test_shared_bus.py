"""The subscription bus over several nodes, with messages that a test carries."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from mcp.server.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)

from longwire.cluster.redis_link import RedisLink
from longwire.cluster.shared_bus import SharedSubscriptionBus


class Carrier:
    """The messages of all links, delivered at once while it works."""

    def __init__(self) -> None:
        self.works = True
        self.heard: list[Callable[[bytes], None]] = []
        self.back: list[Callable[[], None]] = []

    def publish(self, _: str, payload: bytes) -> None:
        if self.works:
            for callback in list(self.heard):
                callback(payload)

    def subscribe(self, _: str, callback: Callable[[bytes], None]) -> Callable[[], None]:
        self.heard.append(callback)
        return lambda: self.heard.remove(callback)

    def on_back(self, callback: Callable[[], None]) -> Callable[[], None]:
        self.back.append(callback)
        return lambda: self.back.remove(callback)

    def bus(self, origin: str) -> tuple[SharedSubscriptionBus, list[ServerEvent]]:
        bus, found = SharedSubscriptionBus(cast(RedisLink, self), origin), list[ServerEvent]()
        bus.subscribe(found.append)
        return bus, found


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_an_event_is_told_once_at_every_node() -> None:
    carrier = Carrier()
    (one, first), (two, second) = carrier.bus("a"), carrier.bus("b")
    await one.publish(ResourceUpdated(uri="r://ä"))
    await two.publish(ToolsListChanged())
    await settle()
    assert first == second == [ResourceUpdated(uri="r://ä"), ToolsListChanged()]
    await two.close()
    await one.publish(PromptsListChanged())
    await settle()
    assert (len(first), len(second)) == (3, 2)
    await one.close()
    assert not carrier.heard
    assert not carrier.back


async def test_without_redis_a_node_tells_its_own_and_looks_again_later() -> None:
    carrier = Carrier()
    (one, first), (_, second) = carrier.bus("a"), carrier.bus("b")
    carrier.works = False
    await one.publish(ResourceUpdated(uri="r://x"))
    assert (first, second) == ([ResourceUpdated(uri="r://x")], [])
    carrier.works = True
    for back in carrier.back:
        back()
    await settle()
    assert second == [ResourcesListChanged()]


async def test_an_event_of_a_later_version_is_left_out() -> None:
    carrier = Carrier()
    _, found = carrier.bus("a")
    carrier.publish("events", b'{"from": "b", "list": "later"}')
    await settle()
    assert found == []
