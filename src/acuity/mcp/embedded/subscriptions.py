"""Subscriptions to a measurement's resources, in both eras of the protocol.

After a handshake a client names one address at a time, with resources/subscribe, and is told over its
connection; who sends an envelope names several at once, with subscriptions/listen, and is told in the answer
to that. Either way what waits to be sent is at most one word for each address, however slowly it is read.
Each word carries where the measurement stands and the scores that are new, so that these can be followed
without a question for each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Final, TypeAlias

import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.subscriptions import ResourceUpdated, ServerEvent, SubscriptionBus
from mcp.shared.exceptions import MCPError

from acuity.mcp.catalog import Context, Method
from acuity.mcp.embedded.addresses import RATES, parse
from acuity.mcp.embedded.notification_meta import NotificationMeta
from acuity.mcp.embedded.pulse import Pulse
from acuity.mcp.tasks.listen import Listen
from acuity.text import one_line

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
