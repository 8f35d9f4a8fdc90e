"""What changes is told at the rate that whoever watches it chose.

An address that is watched is looked at so many times a second, and if what it shows is no longer the same
the bus is told, once. Those who watch the same address at the same rate share the looking; with nobody
watching nothing happens. The measuring thread has no part in it. The end is told at once, and also to those
who begin to watch after it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, TypeAlias

import mcp_types as types
from mcp.server.subscriptions import ResourceUpdated, SubscriptionBus
from mcp.shared.exceptions import MCPError

from acuity.mcp.embedded.addresses import Address, parse

# What an address shows, in short: equal as long as it shows the same.
Version: TypeAlias = Callable[[Address], Hashable]

_MOST: Final = 64  # different addresses at a time


@dataclass(slots=True)
class _Beat:
    task: asyncio.Task[None]
    watchers: int = 0


class Pulse:
    """Publishes changes of the addresses that are watched. For the server's event loop."""

    def __init__(
        self,
        bus: SubscriptionBus,
        version: Version,
        over: asyncio.Event | None = None,
        *,
        most: int = _MOST,
    ) -> None:
        """`over` is set when nothing changes any more."""
        self._bus = bus
        self._version = version
        self._over = over or asyncio.Event()
        self._most = most
        self._beats: dict[str, _Beat] = {}

    @property
    def watched(self) -> list[str]:
        return list(self._beats)

    @contextmanager
    def watching(self, uris: Iterable[str]) -> Iterator[None]:
        """Publish changes of these addresses for as long as the block lasts; raises MCPError.

        Addresses of other families are let be: nothing of theirs is published here.
        """
        found = {uri: address for uri in uris if (address := parse(uri)) is not None}
        if len(self._beats.keys() | found.keys()) > self._most:
            raise MCPError(
                types.INTERNAL_ERROR,
                f"too many addresses are watched, {self._most} are the most: use the rates of others or poll",
            )
        for uri, address in found.items():
            self._begin(uri, address)
        try:
            yield
        finally:
            for uri in found:
                self._end(uri)

    def _begin(self, uri: str, address: Address) -> None:
        beat = self._beats.get(uri)
        if beat is None or beat.task.done():  # after the end everybody who begins is told of it
            task = asyncio.get_running_loop().create_task(self._beat(uri, address, self._version(address)))
            beat = self._beats[uri] = _Beat(task, beat.watchers if beat else 0)
        beat.watchers += 1

    def _end(self, uri: str) -> None:
        beat = self._beats[uri]
        beat.watchers -= 1
        if not beat.watchers:
            beat.task.cancel()
            del self._beats[uri]

    async def _beat(self, uri: str, address: Address, seen: Hashable) -> None:
        told: Hashable = None
        while not self._over.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(1.0 / address.rate):
                    await self._over.wait()
            now = self._version(address)
            if now != seen:
                seen = told = now
                await self._bus.publish(ResourceUpdated(uri=uri))
        # The measurement may have been over before anybody said so, when it was looked at first.
        if told != self._version(address):
            await self._bus.publish(ResourceUpdated(uri=uri))
