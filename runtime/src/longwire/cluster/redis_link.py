"""The connection to Redis or Valkey that all parts of a node share. Every call is bounded in time.

Nothing has to be done when Redis goes away: calls fail at once or after half a second, `healthy` says so,
and a heartbeat finds out when it is back. Other nodes' clocks don't matter: `now()` is Redis's.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from longwire.cluster.redis_address import MOST_CONNECTIONS, WAIT, RedisAddress
from longwire.cluster.redis_messages import RedisMessages
from longwire.errors import ClusterUnavailable, DamagedKey, SettingsError
from longwire.wire.tasks import RunningTasks

if TYPE_CHECKING:
    from redis.commands.core import AsyncScript

logger: Final = logging.getLogger(__name__)

Argument: TypeAlias = str | bytes | int | float

PREFIX: Final = "longwire"
LABEL: Final = re.compile(r"[a-z0-9]{1,16}")

_BEAT: Final = 0.5  # seconds between two looks at Redis
_PARTS: Final = 5  # in which the time of a call is counted
_MOST_LATE: Final = 20  # parts that ended late, after which each counts
_QUEUE: Final = 10  # times the wait for an answer: the wait for a connection while Redis answers others
_SILENCE: Final = 60.0  # seconds between warnings of commands that Redis refuses, or that got no connection
_REACH: Final = "start it, or correct its address"
_SILENT: Final = "the nodes' shared store doesn't answer: try again in a few seconds"
# Errors of Redis and Lua about a key of another type, or a value that is no number; not about Redis's state.
_DAMAGE: Final = re.compile(r"WRONGTYPE|not an integer|would overflow|attempt to |bad argument")
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")  # no colon: keys of one cluster could be another's


class RedisLink:
    """Commands, messages and the clock of one Redis server. For one event loop."""

    def __init__(self, url: str, node: str, *, prefix: str = PREFIX, wait: float = WAIT) -> None:
        """Check the settings; raises SettingsError, or MissingExtra. `opened()` connects."""
        self.node = check_label(node)  # this node's label
        self._prefix = check_prefix(prefix)
        self.address = RedisAddress(url, wait=wait)
        self.failures = 0  # calls that Redis did not answer, since the start
        self.returns = 0  # how often it came back
        self.back_since = 0.0  # the loop's time since which Redis answers
        self.run_id = ""  # of Redis's process: another one may have forgotten the last moments
        self.is_sharded = False  # it is one of several servers that share keys
        self.problem = ""  # why the last call failed that did
        self._wait = wait
        self._client = self.address.client()
        self._messages = RedisMessages(self._client)
        self._healthy: bool | None = None  # None: nothing is known yet
        self._offset = time.time() - time.monotonic()  # until Redis has told its time
        self._scripts: dict[str, AsyncScript] = {}
        self._tasks = RunningTasks()
        self._turns = asyncio.Semaphore(MOST_CONNECTIONS - 1)  # one is that of messages
        self._refused = self._crowded = -_SILENCE  # when each was last logged
        self._denied = False  # for lack of the right password
        self._on_back: list[Callable[[], None]] = []

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[RedisLink]:
        """Connected, and watched over, while the block lasts. Redis may be gone: see `healthy`."""
        await self._look()
        self._tasks.spawn(self._watch())
        self._messages.start()
        try:
            yield self
        finally:
            await self._tasks.end(_BEAT / 5)  # redis-py swallows a cancellation that comes while it connects
            await self._messages.close()
            try:
                async with asyncio.timeout(self._wait):
                    await self._client.aclose()
                    await self._client.connection_pool.disconnect()
            except Exception:
                logger.debug("a connection to Redis did not end properly", exc_info=True)

    @property
    def healthy(self) -> bool:
        return bool(self._healthy)

    @property
    def remedy(self) -> str:
        """What to do about the problem of a server that could not be used at the start."""
        return "correct the user or the password in its address" if self._denied else _REACH

    def key(self, *parts: str) -> str:
        """A key in this cluster's own name space."""
        return ":".join((self._prefix, *parts))

    def now(self) -> float:
        """Redis's clock, in seconds since 1970: the one that all nodes share."""
        return time.monotonic() + self._offset

    def on_back(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have a function called when Redis is back or was restarted; returns the undo."""
        self._on_back.append(callback)
        return lambda: self._on_back.remove(callback)

    # ---- commands -----------------------------------------------------------------------------------

    async def call(self, *command: Argument, within: float | None = None) -> Any:
        """The answer to a command, as redis-py gives it; raises ClusterUnavailable."""
        run = partial(self._client.execute_command, *command)
        return await self._bounded(run, within, is_proof=command[0] != "PUBLISH")

    async def calls(
        self, commands: Sequence[Sequence[Argument]], *, within: float | None = None
    ) -> list[Any]:
        """The answers to several commands sent in one go, no transaction; raises ClusterUnavailable."""

        async def run() -> Any:
            pipeline = self._client.pipeline(transaction=False)
            for command in commands:
                pipeline.execute_command(*command)
            return await pipeline.execute()

        return list(await self._bounded(run, within))

    async def script(self, source: str, keys: Sequence[str], arguments: Sequence[Argument]) -> Any:
        """The answer of a Lua script; raises ClusterUnavailable."""
        script = self._scripts.get(source)
        if script is None:
            script = self._scripts[source] = self._client.register_script(source)
        return await self._bounded(lambda: script(keys, arguments), None)

    async def _bounded(self, run: Callable[[], Any], within: float | None, *, is_proof: bool = True) -> Any:
        """The result of `run`. `is_proof`: it shows that Redis is back; publishing works while it loads."""
        from redis import exceptions

        has_turn, returns, healthy = False, self.returns, self.healthy
        try:
            async with asyncio.timeout(None) as limit:
                clock = _Clock(limit, self._wait * (_QUEUE if healthy else 1))
                try:
                    async with self._turns:
                        if healthy and (not self.healthy or self.returns > returns):
                            raise ClusterUnavailable(_SILENT)  # it went away meanwhile
                        has_turn = True
                        clock.stop()
                        clock = _Clock(limit, within or self._wait)
                        answer = await run()
                finally:
                    clock.stop()
        except (exceptions.ConnectionError, exceptions.TimeoutError, OSError) as error:
            if not has_turn:
                raise self._crowd() from error
            self._gone(error)
            # Other idle connections of the pool may be dead too, and each would cost a call.
            await self._client.connection_pool.disconnect(inuse_connections=False)
            raise ClusterUnavailable(_SILENT) from error
        except exceptions.RedisError as error:  # it answers, but not to this
            self._refuse(error)
            if isinstance(error, exceptions.ReadOnlyError):  # a replica now: the address may lead elsewhere
                await self._client.connection_pool.disconnect()
            kind = DamagedKey if is_damage(error) else ClusterUnavailable
            raise kind("the nodes' shared store refuses to work: try again in a few seconds") from error
        if is_proof:
            self._back()
        return answer

    # ---- messages -----------------------------------------------------------------------------------

    def publish(self, channel: str, payload: bytes) -> None:
        """Send a message to the subscribers on all nodes, if Redis answers; nothing waits."""
        self._messages.publish(self.key("channel", channel), payload, self.call)

    def subscribe(self, channel: str, callback: Callable[[bytes], None]) -> Callable[[], None]:
        """Have a function called for each message from then on, also after reconnecting; returns the undo.

        What is published while there is no connection doesn't arrive.
        """
        return self._messages.subscribe(self.key("channel", channel), callback)

    # ---- health -------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_BEAT)
            try:
                await self._look()
            except Exception:  # or nobody would notice when Redis is back
                logger.exception("the look at Redis failed")

    async def _look(self) -> None:
        """See whether Redis answers, which process of it, and what time it has."""
        began = time.monotonic()
        try:
            # While it loads its data Redis answers TIME and INFO, and refuses PING like all useful commands.
            _, (seconds, micros), info = await self.calls([("PING",), ("TIME",), ("INFO", "server")])
        except ClusterUnavailable:
            return
        took = time.monotonic() - began
        self._offset = seconds + micros / 1e6 - (began + took / 2)
        self.is_sharded = info.get("redis_mode") == "cluster"
        was, self.run_id = self.run_id, str(info.get("run_id", ""))
        if was and was != self.run_id:
            self._tell()

    def _gone(self, error: Exception) -> None:
        self._note(error)
        before, self._healthy = self._healthy, False
        if before:  # at the start, the caller of open() says what is wrong
            logger.warning(
                "Redis at %s doesn't answer (%s): sessions of this node go on from memory, others wait",
                self.address,
                self.problem,
                extra={"event": "redis_gone"},
            )

    def _back(self) -> None:
        if self._healthy:
            return
        first, self._healthy = self._healthy is None, True
        self.back_since = time.monotonic()
        if not first:
            self.returns += 1
            logger.info("Redis at %s answers again", self.address, extra={"event": "redis_back"})
            self._tell()

    def _note(self, error: Exception) -> None:
        self.failures += 1
        self.problem = str(error) or type(error).__name__
        self._denied = _is_denied(error)

    def _refuse(self, error: Exception) -> None:
        self._note(error)
        if self._healthy is not None and time.monotonic() - self._refused >= _SILENCE:
            self._refused = time.monotonic()
            logger.warning(
                "Redis at %s refuses a command: %s", self.address, error, extra={"event": "redis_refused"}
            )

    def _crowd(self) -> ClusterUnavailable:
        """Count a command that got no connection, which says nothing about Redis."""
        self.failures += 1
        if not self.healthy:
            return ClusterUnavailable(_SILENT)
        if time.monotonic() - self._crowded >= _SILENCE:
            self._crowded = time.monotonic()
            logger.warning(
                "more commands for Redis at %s wait than this node's %d connections send: start another node",
                self.address,
                MOST_CONNECTIONS,
                extra={"event": "redis_crowded"},
            )
        return ClusterUnavailable(
            "this node has too much to ask of the nodes' shared store: try again in a few seconds"
        )

    def _tell(self) -> None:
        for callback in list(self._on_back):
            try:
                callback()
            except Exception:
                logger.exception("a callback of the connection to Redis failed")


class _Clock:
    """Ends a wait after some seconds in which this process ran.

    A process that stood still, on a machine that is busy or was suspended, finds its timer due before it sees
    the answer that has come meanwhile: Redis is not to blame. So time is counted in parts, and one that ended
    late counts as none.
    """

    def __init__(self, limit: asyncio.Timeout, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._limit = limit
        self._part = seconds / _PARTS
        self._left = _PARTS
        self._late = 0
        self._start()

    def _start(self) -> None:
        self._due = self._loop.time() + self._part
        self._timer = self._loop.call_at(self._due, self._count)

    def _count(self) -> None:
        if self._loop.time() - self._due > self._part and self._late < _MOST_LATE:
            self._late += 1
        else:
            self._left -= 1
        if self._left:
            self._start()
        else:
            self._limit.reschedule(self._loop.time())

    def stop(self) -> None:
        self._timer.cancel()


def is_damage(error: Exception) -> bool:
    """Whether a command was refused for what its key holds, which something else has written."""
    return _DAMAGE.search(str(error)) is not None


def _is_denied(error: Exception) -> bool:
    """Whether Redis wants another user or password."""
    from redis import exceptions

    return isinstance(error, exceptions.AuthenticationError) or str(error).startswith(("NOAUTH", "WRONGPASS"))


def open_redis(
    url: str, node: str, *, prefix: str = PREFIX, wait: float = WAIT
) -> AbstractAsyncContextManager[RedisLink]:
    """A connection while the block lasts; raises SettingsError, or MissingExtra."""
    return RedisLink(url, node, prefix=prefix, wait=wait).opened()


def check_label(node: str) -> str:
    """The label of a node, checked; raises SettingsError."""
    if not LABEL.fullmatch(node):
        raise SettingsError(f"the node's label '{node[:32]}' can't begin ids: write 1 to 16 of a-z and 0-9")
    return node


def check_prefix(prefix: str) -> str:
    """The prefix of keys, checked; raises SettingsError."""
    if not _NAME.fullmatch(prefix):
        raise SettingsError(
            f"the cluster's prefix '{prefix[:64]}' can't begin keys: write 1 to 64 of A-Z a-z 0-9 _ . -"
        )
    return prefix
