"""Change notifications of the stateless protocol: one request opens one stream until the client disconnects.

Besides changes of lists and resources, a stream carries changes of the tasks that it names. An event only
says "this changed", so equal events that wait to be sent are merged. The number of waiting events is
therefore bounded by what the client subscribed to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import mcp_types as types
from mcp.server.subscriptions import SubscriptionBus
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import (
    SUBSCRIPTION_ID_META_KEY,
    ServerEvent,
    event_matches,
    event_to_notification,
)

from longwire.product.catalog import Context
from longwire.tasks.extension import TaskBackend, not_understood, understands


@dataclass(frozen=True, slots=True)
class TaskChanged:
    task_id: str


Event: TypeAlias = ServerEvent | TaskChanged
# Returns the `_meta` of a change when it is sent.
Along: TypeAlias = Callable[[ServerEvent], Awaitable[dict[str, Any]]]


class TaskNotification(types.Notification[dict[str, Any], Literal["notifications/tasks"]]):
    method: Literal["notifications/tasks"] = "notifications/tasks"
    params: dict[str, Any]


class Listen:
    """Serves `subscriptions/listen`."""

    def __init__(
        self,
        bus: SubscriptionBus,
        tasks: TaskBackend | None = None,
        *,
        most_streams: int = 256,
        most_names: int = 256,  # tasks and resources that one stream may name
    ) -> None:
        self._bus = bus
        self._tasks = tasks
        self._most_streams = most_streams
        self._most_names = most_names
        self._streams: set[_Stream] = set()

    async def __call__(
        self, context: Context, params: types.SubscriptionsListenRequestParams, along: Along | None = None
    ) -> types.SubscriptionsListenResult:
        request_id = context.request_id
        if request_id is None:
            raise MCPError(types.INVALID_REQUEST, "'subscriptions/listen' needs a request id")
        if len(self._streams) >= self._most_streams:
            raise MCPError(types.INTERNAL_ERROR, "too many subscriptions are open: close one or poll instead")
        honored, watched = await self._honored(context, params.notifications)
        stream = _Stream(honored, watched)
        meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: request_id}
        with ExitStack() as undo:
            self._streams.add(stream)
            undo.callback(self._streams.discard, stream)
            # Before the acknowledgement, so that changes while it is written are not lost.
            undo.callback(self._bus.subscribe(stream.changed))
            if self._tasks is not None:
                undo.callback(self._tasks.on_change(stream.task_changed))
            acknowledged = types.SubscriptionsAcknowledgedNotificationParams(
                notifications=honored, _meta=meta
            )
            await context.session.send_notification(
                types.SubscriptionsAcknowledgedNotification(params=acknowledged), request_id
            )
            while (event := await stream.next()) is not None:
                notification = await self._notification(event, meta, along)
                if notification is not None:
                    await context.session.send_notification(notification, request_id)
        return types.SubscriptionsListenResult(_meta=meta)

    def close(self) -> None:
        """End every stream after its waiting events are sent."""
        for stream in self._streams:
            stream.end()

    async def _honored(
        self, context: Context, asked: types.SubscriptionFilter
    ) -> tuple[types.SubscriptionFilter, tuple[str, ...]]:
        """The part of the filter that will be served, and the tasks in it."""
        resources = list(dict.fromkeys(asked.resource_subscriptions or ()))
        named = _task_ids(asked)
        if (names := len(resources) + len(named)) > self._most_names:
            raise MCPError(
                types.INVALID_PARAMS, f"{names} resources and tasks are too many: at most {self._most_names}"
            )
        watched: tuple[str, ...] = ()
        if named and self._tasks is not None:
            if not understands(context):
                raise not_understood()
            watched = tuple([name for name in named if await self._tasks.get(name) is not None])
        honored = types.SubscriptionFilter(
            tools_list_changed=asked.tools_list_changed or None,
            prompts_list_changed=asked.prompts_list_changed or None,
            resources_list_changed=asked.resources_list_changed or None,
            resource_subscriptions=resources or None,
        )
        if watched:
            honored = honored.model_copy(update={"taskIds": list(watched)})
        return honored, watched

    async def _notification(
        self, event: Event, meta: dict[str, Any], along: Along | None
    ) -> types.ServerNotification | None:
        if not isinstance(event, TaskChanged):
            more = await along(event) if along is not None else {}
            return event_to_notification(event, {**more, **meta})
        assert self._tasks is not None
        task = await self._tasks.get(event.task_id)
        if task is None:
            return None  # deleted in the meantime
        # The SDK's type lists only its own notifications, but it sends others too.
        return cast(types.ServerNotification, TaskNotification(params={**task.details(), "_meta": meta}))


class _Stream:
    """The events that wait to be sent to one client."""

    def __init__(self, honored: types.SubscriptionFilter, watched: Sequence[str]) -> None:
        self._honored = honored
        self._resources = frozenset(honored.resource_subscriptions or ())
        # A task may have changed before the client subscribed, so each is reported once at the start.
        self._waiting: dict[Event, None] = {TaskChanged(task_id): None for task_id in watched}
        self._watched = frozenset(watched)
        self._woken = asyncio.Event()
        self._ended = False

    def changed(self, event: ServerEvent) -> None:
        if event_matches(self._honored, self._resources, event):
            self._add(event)

    def task_changed(self, task_id: str) -> None:
        if task_id in self._watched:
            self._add(TaskChanged(task_id))

    def end(self) -> None:
        self._ended = True
        self._woken.set()

    async def next(self) -> Event | None:
        """Wait for the next event; None at the end of the stream."""
        while not self._waiting:
            if self._ended:
                return None
            self._woken.clear()
            await self._woken.wait()
        event = next(iter(self._waiting))
        del self._waiting[event]
        return event

    def _add(self, event: Event) -> None:
        self._waiting[event] = None
        self._woken.set()


def _task_ids(asked: types.SubscriptionFilter) -> list[str]:
    """The task ids in a filter, which the SDK keeps among the extra fields."""
    named = (asked.model_extra or {}).get("taskIds")
    if named is None:
        return []
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        raise MCPError(types.INVALID_PARAMS, "'taskIds' should be a list of task ids")
    return list(dict.fromkeys(named))
