"""A node's process that is stopped for longer than its lease, in the midst of calls, and goes on."""

from __future__ import annotations

import os
import signal

import anyio
import pytest

pytest.importorskip("redis", reason="the extra 'cluster' is not installed")

from cluster_nodes import cluster_nodes
from longwire.cluster.redis_link import open_redis
from raw_http import RawSession, call, http_client, open_session
from redis_server import COMMAND_WAIT, needs_redis
from test_restart import LOST, counting, progress, rest, take

pytestmark = needs_redis

SOON = 30.0  # seconds, after which the test gives up
CALLS = 4


async def test_a_node_that_was_paused_sends_nothing_of_what_others_have() -> None:
    with cluster_nodes() as cluster, anyio.fail_after(SOON):
        first, second = cluster.start_all()
        async with http_client(patient=True) as http, anyio.create_task_group() as tasks:
            sessions = [await open_session(first.url, http) for _ in range(CALLS)]
            paused, goes_on = anyio.Event(), anyio.Event()
            waiting = anyio.Semaphore(0)

            async def talk(session: RawSession) -> None:
                async with session.stream(counting(2000, stay=False)) as stream:
                    begun, last = await take(stream, 9)
                    waiting.release()
                    await goes_on.wait()
                    there = RawSession(second.url, http, "", "2025-11-25")
                    there.headers = session.headers
                    async with there.resume(last) as again:
                        resumed = await rest(again)
                    waiting.release()
                    await paused.wait()
                    late = await rest(stream)  # ends: the client is to reconnect
                # All that was stored came to the new node, and an error as the call's only answer.
                assert resumed[-1] == {"jsonrpc": "2.0", "id": 1, "error": LOST}
                said = progress(begun + resumed)
                assert said == list(range(1, len(said) + 1))
                # What the old one still says is what it stored before it was stopped.
                assert all(message in begun + resumed for message in late)
                assert (await there.post(call(2, "recall"))).status_code == 200

            for session in sessions:
                tasks.start_soon(talk, session)
            for _ in sessions:
                await waiting.acquire()
            os.kill(first.pid, signal.SIGSTOP)
            async with open_redis(cluster.redis.url, "test", wait=COMMAND_WAIT) as link:
                while await link.call("EXISTS", link.key("node", "n1")):
                    await anyio.sleep(0.02)
            goes_on.set()
            for _ in sessions:
                await waiting.acquire()
            os.kill(first.pid, signal.SIGCONT)
            paused.set()
