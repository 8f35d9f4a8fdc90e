"""Messages between nodes through Redis: subscriptions that outlive its connections."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from longwire.wire.tasks import RunningTasks

if TYPE_CHECKING:
    import redis.asyncio
    from redis.asyncio.client import PubSub

logger: Final = logging.getLogger(__name__)

_TURN: Final = 1.0  # seconds that one read waits
_PING: Final = 5.0  # seconds of silence, after which Redis is asked whether it is there
_GIVE_UP: Final = 10.0  # seconds of silence, after which another connection is made
_REST: Final = 0.25  # seconds between tries to connect
_MOST_WAITING: Final = 1000  # messages that are on their way to Redis, the reader included
_OWN: Final = b"__alive"  # a channel of its own: a connection without a subscription can't be read


class RedisMessages:
    """Subscribing and publishing for one event loop. A message that nobody can get now is lost."""

    def __init__(self, client: redis.asyncio.Redis) -> None:
        self._client = client
        self._callbacks: dict[bytes, list[Callable[[bytes], None]]] = {}
        self._tasks = RunningTasks()  # the reader, and what is on its way
        self._pubsub: PubSub | None = None  # while there is a connection

    def start(self) -> None:
        """Begin to listen. Called on the running loop."""
        self._tasks.spawn(self._read())

    async def close(self) -> None:
        await self._tasks.end(_TURN / 10)  # redis-py swallows a cancellation that comes while it connects

    def subscribe(self, channel: str, callback: Callable[[bytes], None]) -> Callable[[], None]:
        name = channel.encode()
        waiting = self._callbacks.setdefault(name, [])
        waiting.append(callback)
        if len(waiting) == 1 and self._pubsub is not None:
            self._tasks.spawn(self._quietly(self._pubsub.subscribe(name)))

        def undo() -> None:
            if callback in waiting:
                waiting.remove(callback)
            if not waiting and self._callbacks.get(name) is waiting:
                del self._callbacks[name]
                if self._pubsub is not None:
                    self._tasks.spawn(self._quietly(self._pubsub.unsubscribe(name)))

        return undo

    def publish(self, channel: str, payload: bytes, call: Callable[..., Awaitable[Any]]) -> None:
        if len(self._tasks) < _MOST_WAITING:
            self._tasks.spawn(self._quietly(call("PUBLISH", channel, payload)))

    async def _quietly(self, work: Awaitable[Any]) -> None:
        try:
            await work
        except Exception:  # the reader connects again, with all subscriptions
            logger.debug("Redis did not take a message or a subscription", exc_info=True)

    async def _read(self) -> None:
        """Listen, and connect again when the connection is lost."""
        while True:
            pubsub = self._client.pubsub()
            try:
                await self._listen(pubsub)
            except asyncio.CancelledError:
                raise
            except Exception:
                logger.debug("the connection for messages of Redis is lost", exc_info=True)
            finally:
                self._pubsub = None
                with suppress(Exception):
                    await pubsub.aclose()  # type: ignore[no-untyped-call]
            await asyncio.sleep(_REST)

    async def _listen(self, pubsub: PubSub) -> None:
        known = tuple(self._callbacks)
        await pubsub.subscribe(_OWN, *known)
        self._pubsub = pubsub
        if late := self._callbacks.keys() - known:  # that came while the connection was made
            await pubsub.subscribe(*late)
        heard = asked = time.monotonic()
        while True:
            message = await pubsub.get_message(timeout=_TURN)
            now = time.monotonic()
            if message is not None:
                heard = now
                self._deliver(message)
            elif now - heard > _GIVE_UP:
                raise ConnectionError("Redis is silent")
            elif now - max(heard, asked) > _PING:
                asked = now
                await pubsub.ping()

    def _deliver(self, message: dict[str, Any]) -> None:
        if message["type"] != "message":
            return
        for callback in list(self._callbacks.get(message["channel"], ())):
            try:
                callback(message["data"])
            except Exception:
                logger.exception("a subscriber to the messages of other nodes failed")
