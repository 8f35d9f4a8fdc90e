"""The address of a Redis or Valkey server, and how connections to it are made: every wait is bounded."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from longwire.errors import MissingExtra, SettingsError
from longwire.names import own_names

if TYPE_CHECKING:
    import redis
    import redis.asyncio

WAIT: Final = 0.5  # seconds for a command, and for a connection
MOST_CONNECTIONS: Final = 32  # of a node, the one for messages included

# redis-py's own limits in an event loop, in units of WAIT: longer than those of commands (redis_link.py).
_LATER: Final = 4

_FORMS: Final = "write redis://HOST:PORT/NUMBER, rediss:// for TLS, or unix:///PATH"
_SCHEMES: Final = ("redis", "rediss", "unix")


class RedisAddress:
    """Where Redis is. Its text shows no password."""

    def __init__(self, url: str, *, wait: float = WAIT) -> None:
        """Check a URL; raises SettingsError, or MissingExtra. `wait`: seconds for each command."""
        if find_spec("redis") is None:
            raise MissingExtra(
                "the package 'redis' is missing, which several nodes need: "
                f"pip install '{own_names().package}[cluster]'"
            )
        self._url = url
        self._wait = wait
        self._text = _shown(url)
        try:
            self.client()
        except (ValueError, TypeError) as error:
            raise SettingsError(f"the Redis address '{self}' can't be used ({error}): {_FORMS}") from None

    def __str__(self) -> str:
        return self._text

    def client(self) -> redis.asyncio.Redis:
        """Connections for an event loop, made when they are needed. Nothing is tried twice.

        The caller limits the time of a command. redis-py's own, longer limits bound connecting and messages.
        """
        from redis.asyncio import BlockingConnectionPool, Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff

        pool = BlockingConnectionPool.from_url(
            self._url,
            max_connections=MOST_CONNECTIONS,
            timeout=_LATER * self._wait,
            retry=Retry(NoBackoff(), 0),
            **_limits(_LATER * self._wait),
        )
        return Redis(connection_pool=pool)

    def blocking_client(self) -> redis.Redis:
        """A connection for a thread. Nothing is tried twice."""
        from redis import Redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        return Redis.from_url(self._url, retry=Retry(NoBackoff(), 0), **_limits(self._wait))


def _limits(seconds: float) -> dict[str, Any]:
    return {"socket_timeout": seconds, "socket_connect_timeout": seconds, "protocol": 2}


def _shown(url: str) -> str:
    """The address without what proves who we are; raises SettingsError where it is none."""
    try:
        parts = urlsplit(url)
        where = parts.netloc.rpartition("@")[2]
        known = parts.scheme in _SCHEMES and (parts.path if parts.scheme == "unix" else parts.hostname)
        parts.port  # noqa: B018  (raises ValueError)
    except ValueError:
        known, where = None, ""
    if not known:
        raise SettingsError(f"the Redis address '{url.rpartition('@')[2]}' is none: {_FORMS}")
    return f"{parts.scheme}://{where}{parts.path}"
