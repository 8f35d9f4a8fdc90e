"""What changes is told at the rate that whoever watches it chose.

An address that is watched is looked at so many times a second, and if what it shows is no longer the same
the bus is told, once. Those who watch the same address at the same rate share the looking; with nobody
watching nothing happens. The measuring thread has no part in it. The end is told at once, and also to those
who begin to watch after it.

Subscriptions to a measurement's resources, in both eras of the protocol.

After a handshake a client names one address at a time, with resources/subscribe, and is told over its
connection; who sends an envelope names several at once, with subscriptions/listen, and is told in the answer
to that. Either way what waits to be sent is at most one word for each address, however slowly it is read.
Each word carries where the measurement stands and the scores that are new, so that these can be followed
without a question for each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.subscriptions import ResourceUpdated, ServerEvent, SubscriptionBus
from mcp.shared.exceptions import MCPError

from acuity.mcp.catalog import Context, Method
from acuity.mcp.embedded.resources.notifications import NotificationMeta
from acuity.mcp.embedded.uris import RATES, Address, parse
from acuity.mcp.tasks.listen import Listen
from acuity.text import one_line

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


# Makes what one subscriber is told along with a change.
NewMeta: TypeAlias = Callable[[], NotificationMeta]

_STATE: Final = "acuity.subscriptions"
_MOST_EACH: Final = 16  # addresses of one connection
_MOST_STREAMS: Final = 64


class Subscriptions:
    """The handlers of all methods that have to do with subscriptions."""

    def __init__(self, bus: SubscriptionBus, pulse: Pulse, new_meta: NewMeta) -> None:
        self._bus = bus
        self._pulse = pulse
        self._new_meta = new_meta
        self._listen = Listen(bus, most_streams=_MOST_STREAMS, most_names=_MOST_EACH)

    def methods(self) -> list[Method]:
        return [
            Method("resources/subscribe", types.SubscribeRequestParams, self._subscribe),
            Method("resources/unsubscribe", types.UnsubscribeRequestParams, self._unsubscribe),
        ]

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """One stream, until the client leaves."""
        uris = params.notifications.resource_subscriptions or ()
        meta = self._new_meta()
        for uri in uris:
            meta.begin(uri)

        async def along(event: ServerEvent) -> dict[str, Any]:
            return await meta.make(event.uri) if isinstance(event, ResourceUpdated) else {}

        with self._pulse.watching(uris):
            return await self._listen(context, params, along)

    def close(self) -> None:
        """The server closes: streams end once what they have waiting is sent."""
        self._listen.close()

    async def _subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        uri = str(params.uri)
        if parse(uri) is None:
            known = ", ".join(RATES)
            raise MCPError(
                types.INVALID_PARAMS,
                one_line(f"'{uri}' can't be subscribed to: there are {known}"),
                {"uri": uri},
            )
        connection = _connection(context)
        if not connection.has_standalone_channel:
            raise MCPError(
                types.INVALID_REQUEST,
                "nothing can be told over this connection once it was answered: "
                "use subscriptions/listen, or connect over a socket or SSE",
            )
        followed = connection.state.get(_STATE)
        if followed is None:
            followed = connection.state[_STATE] = _Followed(
                connection, self._bus, self._pulse, self._new_meta()
            )
            connection.exit_stack.callback(followed.close)
        followed.add(uri)
        return types.EmptyResult()

    async def _unsubscribe(
        self, context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        followed = _connection(context).state.get(_STATE)
        if followed is not None:
            followed.remove(str(params.uri))
        return types.EmptyResult()


class _Followed:
    """What one connection is told of, and the task that tells it."""

    def __init__(
        self, connection: Connection, bus: SubscriptionBus, pulse: Pulse, meta: NotificationMeta
    ) -> None:
        self._connection = connection
        self._pulse = pulse
        self._meta = meta
        self._undo: dict[str, ExitStack] = {}  # by address
        self._waiting: dict[str, None] = {}
        self._woken = asyncio.Event()
        self._forget = bus.subscribe(self._changed)
        self._task = asyncio.get_running_loop().create_task(self._tell())

    def add(self, uri: str) -> None:
        if uri in self._undo:
            return
        if len(self._undo) >= _MOST_EACH:
            raise MCPError(
                types.INVALID_PARAMS, f"{_MOST_EACH} subscriptions are the most for one client: end one first"
            )
        self._meta.begin(uri)
        undo = ExitStack()
        undo.enter_context(self._pulse.watching([uri]))
        self._undo[uri] = undo

    def remove(self, uri: str) -> None:
        undo = self._undo.pop(uri, None)
        self._waiting.pop(uri, None)
        self._meta.end(uri)
        if undo is not None:
            undo.close()

    def close(self) -> None:
        """The client has left."""
        self._forget()
        self._task.cancel()
        for uri in list(self._undo):
            self.remove(uri)

    def _changed(self, event: ServerEvent) -> None:
        if isinstance(event, ResourceUpdated) and event.uri in self._undo:
            self._waiting[event.uri] = None
            self._woken.set()

    async def _tell(self) -> None:
        while True:
            self._woken.clear()
            while self._waiting:
                uri = next(iter(self._waiting))
                del self._waiting[uri]
                meta = await self._meta.make(uri)
                if uri in self._undo:
                    await self._connection.send_resource_updated(uri, meta=meta)
            await self._woken.wait()


def _connection(context: Context) -> Connection:
    # The SDK hands its connection to middleware and handlers only through the session it makes of it.
    return context.session._connection
