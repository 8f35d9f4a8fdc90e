"""A cluster and a Redis server that the tests of this folder share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager

import pytest

from cluster_ground import Ground, ground
from cluster_nodes import ClusterNodes, cluster_nodes
from longwire.cluster.redis_link import RedisLink, open_redis
from redis_server import COMMAND_WAIT, RedisServer, redis_server


@pytest.fixture(scope="package")
def cluster() -> Iterator[ClusterNodes]:
    """The same two nodes for all tests, which start those that they need: each has sessions of its own."""
    with cluster_nodes(append_only=True) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with redis_server() as running:
        yield running


@pytest.fixture
def server(redis: RedisServer) -> RedisServer:
    """An empty Redis."""

    async def clear() -> None:
        async with open_redis(redis.url, "clear", wait=COMMAND_WAIT) as link:
            await link.call("FLUSHALL")

    asyncio.run(clear())
    return redis


@pytest.fixture
def nodes(server: RedisServer) -> AbstractAsyncContextManager[Ground]:
    """Nodes at this Redis."""
    return ground(server.socket)


@pytest.fixture
def link(server: RedisServer) -> AbstractAsyncContextManager[RedisLink]:
    """A way of its own to this Redis."""
    return open_redis(server.url, "other", wait=COMMAND_WAIT)
