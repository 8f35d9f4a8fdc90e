"""Subscriptions to a measurement's resources, in both eras of the protocol.

After a handshake a client subscribes to one URI at a time with resources/subscribe, and is notified over its
connection. With an envelope it names several URIs in subscriptions/listen, and is notified in the answer to
that. Either way at most one notification for each URI waits to be sent, however slowly it is read.

Each URI that is subscribed to is looked at as many times a second as its subscribers chose, and the bus gets
an event when what it shows has changed. Subscribers of the same URI share the looking, and the measuring
thread has no part in it. The end of the measurement is published at once, also to later subscribers.

The `_meta` of a notification has the progress, and the scores since the notification before:

    "_meta": {"acuity/measurement": {"frame": 297, "score": 93.1, …, "scores": {"frames": […], "omitted": 0}}}

It is made when the notification is sent, so a slow reader gets the newest state. Each frame is sent once;
where too many are new, the newest are sent, with the number of those left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.subscriptions import ResourceUpdated, ServerEvent, SubscriptionBus
from mcp.shared.exceptions import MCPError

from acuity.agents.embedded.live.scores import Scores
from acuity.agents.embedded.live.state import LiveState
from acuity.agents.embedded.resources import RATES, SCORES, STATUS, WATCH, ResourceUri, parse
from acuity.agents.embedded.steering.commands import pause_documents
from acuity.errors import FeatureError
from acuity.text import one_line
from longwire.product.catalog import Context, Method
from longwire.tasks.listen import Listen
from longwire.wire.sdk_private import connection_of

META_KEY: Final = "acuity/measurement"
_WITH_SCORES: Final = (SCORES, WATCH)
_MAX_URIS: Final = 64  # of all subscribers together
_MAX_EACH: Final = 16  # URIs of one connection
_MAX_STREAMS: Final = 64
_STATE: Final = "acuity.subscriptions"  # where a connection's state has its subscriptions


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


@dataclass(slots=True)
class _Watched:
    task: asyncio.Task[None]
    watchers: int = 0


class UpdatePublisher:
    """Publishes changes of the URIs that are watched. For the server's event loop."""

    def __init__(
        self,
        bus: SubscriptionBus,
        revision_of: Callable[[ResourceUri], Hashable],
        over: asyncio.Event | None = None,
        *,
        max_uris: int = _MAX_URIS,
    ) -> None:
        """`revision_of` is equal as long as a URI shows the same; `over` is set when nothing changes."""
        self._bus = bus
        self._revision_of = revision_of
        self._over = over or asyncio.Event()
        self._max_uris = max_uris
        self._watched: dict[str, _Watched] = {}

    @property
    def watched(self) -> list[str]:
        return list(self._watched)

    @contextmanager
    def watching(self, uris: Iterable[str]) -> Iterator[None]:
        """Publish changes of these URIs for as long as the block lasts; raises MCPError if they are too many.

        URIs of other resources are ignored.
        """
        found = {uri: parsed for uri in uris if (parsed := parse(uri)) is not None}
        if len(self._watched.keys() | found.keys()) > self._max_uris:
            raise MCPError(
                types.INTERNAL_ERROR,
                f"too many addresses are watched, {self._max_uris} are the most: "
                "use the rates of others or poll",
            )
        for uri, parsed in found.items():
            self._begin(uri, parsed)
        try:
            yield
        finally:
            for uri in found:
                self._end(uri)

    def _begin(self, uri: str, parsed: ResourceUri) -> None:
        watched = self._watched.get(uri)
        if watched is None or watched.task.done():  # later subscribers are told of the end too
            task = asyncio.get_running_loop().create_task(self._look(uri, parsed, self._revision_of(parsed)))
            watched = self._watched[uri] = _Watched(task, watched.watchers if watched else 0)
        watched.watchers += 1

    def _end(self, uri: str) -> None:
        watched = self._watched[uri]
        watched.watchers -= 1
        if not watched.watchers:
            watched.task.cancel()
            del self._watched[uri]

    async def _look(self, uri: str, parsed: ResourceUri, seen: Hashable) -> None:
        published: Hashable = None
        while not self._over.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(1.0 / parsed.rate):
                    await self._over.wait()
            now = self._revision_of(parsed)
            if now != seen:
                seen = published = now
                await self._bus.publish(ResourceUpdated(uri=uri))
        # The first look may have been after the end already, so that nothing has changed since.
        if published != self._revision_of(parsed):
            await self._bus.publish(ResourceUpdated(uri=uri))


class Subscriptions:
    """The handlers of resources/subscribe, resources/unsubscribe and subscriptions/listen."""

    def __init__(self, live: LiveState, scores: Scores, bus: SubscriptionBus, over: asyncio.Event) -> None:
        self._bus = bus
        self._publisher = UpdatePublisher(bus, partial(_revision, live, scores), over)
        self._new_meta = partial(NotificationMeta, live, scores)  # for one subscriber
        self._listen = Listen(bus, most_streams=_MAX_STREAMS, most_names=_MAX_EACH)

    def methods(self) -> list[Method]:
        return [
            Method("resources/subscribe", types.SubscribeRequestParams, self._subscribe),
            Method("resources/unsubscribe", types.UnsubscribeRequestParams, self._unsubscribe),
        ]

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Answer subscriptions/listen: one stream, until the client leaves."""
        uris = params.notifications.resource_subscriptions or ()
        meta = self._new_meta()
        for uri in uris:
            meta.begin(uri)

        async def along(event: ServerEvent) -> dict[str, Any]:
            return await meta.make(event.uri) if isinstance(event, ResourceUpdated) else {}

        with self._publisher.watching(uris):
            return await self._listen(context, params, along)

    def close(self) -> None:
        """End all streams, once what they have waiting is sent."""
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
        connection = connection_of(context.session)
        if not connection.has_standalone_channel:
            raise MCPError(
                types.INVALID_REQUEST,
                "nothing can be told over this connection once it was answered: "
                "use subscriptions/listen, or connect over a socket or SSE",
            )
        subscriber = connection.state.get(_STATE)
        if subscriber is None:
            subscriber = connection.state[_STATE] = Subscriber(
                connection, self._bus, self._publisher, self._new_meta()
            )
            connection.exit_stack.callback(subscriber.close)
        subscriber.add(uri)
        return types.EmptyResult()

    async def _unsubscribe(
        self, context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        subscriber = connection_of(context.session).state.get(_STATE)
        if subscriber is not None:
            subscriber.remove(str(params.uri))
        return types.EmptyResult()


def _revision(live: LiveState, scores: Scores, uri: ResourceUri) -> Hashable:
    measurement = live.measurement
    if uri.below is not None:
        return scores.count_below(uri.name, uri.below), measurement.repredictions, live.over
    at = measurement.snapshot()
    figures = at.frames_done, measurement.repredictions, live.over
    if uri.resource != STATUS:
        return figures
    models = tuple(model.label for model in measurement.models)
    steered = measurement.subsample, measurement.last_frame, measurement.finished
    return *figures, at.frames_fed, models, *steered, measurement.gate.pauses, live.state


class Subscriber:
    """The subscriptions of one connection, and the task that sends its notifications."""

    def __init__(
        self, connection: Connection, bus: SubscriptionBus, publisher: UpdatePublisher, meta: NotificationMeta
    ) -> None:
        self._connection, self._publisher, self._meta = connection, publisher, meta
        self._undo: dict[str, ExitStack] = {}  # by URI
        self._waiting: dict[str, None] = {}
        self._woken = asyncio.Event()
        self._forget = bus.subscribe(self._changed)
        self._task = asyncio.get_running_loop().create_task(self._tell())

    def add(self, uri: str) -> None:
        if uri in self._undo:
            return
        if len(self._undo) >= _MAX_EACH:
            raise MCPError(
                types.INVALID_PARAMS, f"{_MAX_EACH} subscriptions are the most for one client: end one first"
            )
        self._meta.begin(uri)
        undo = ExitStack()
        undo.enter_context(self._publisher.watching([uri]))
        self._undo[uri] = undo

    def remove(self, uri: str) -> None:
        undo = self._undo.pop(uri, None)
        self._waiting.pop(uri, None)
        self._meta.end(uri)
        if undo is not None:
            undo.close()

    def close(self) -> None:
        """End all subscriptions, as the client has left."""
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
