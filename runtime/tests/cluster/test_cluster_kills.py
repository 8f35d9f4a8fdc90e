"""Two nodes behind nginx: clients go on at the other when theirs is killed or hangs; Redis goes away."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import anyio
import httpx2
import pytest

pytest.importorskip("redis", reason="the extra 'cluster' is not installed")

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from cluster_nodes import ClusterNodes, at, needs_nginx
from raw_http import call, http_client, open_session
from redis_server import needs_redis
from test_restart import LOST, Listener, counting, numbers, progress, rest, take

pytestmark = [
    needs_redis,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]
RESUMED = 10.0  # seconds to the first event after kill -9, on a busy machine


@needs_nginx
async def test_a_killed_nodes_stream_goes_on_at_the_other(
    cluster: ClusterNodes, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.start_all()
    front = cluster.front or cluster.start_nginx()
    async with http_client(patient=True) as http:
        session = await open_session(front, http)
        owner = session.headers["Mcp-Session-Id"][:2]
        async with session.stream(counting(60, stay=True)) as stream:
            found, last = await take(stream, 7)
            cluster[owner].kill()
        began = time.monotonic()
        async with session.resume(last) as stream:
            found += (await take(stream, 1))[0]
            took = time.monotonic() - began
            found += await rest(stream)
        with capsys.disabled():
            print(f"\nfirst event after kill -9 of {owner}: {took:.2f} s")
        assert took <= RESUMED
        said = progress(found)
        assert said == list(range(1, len(said) + 1))
        said = numbers(found, "notifications/message", "call")
        assert said == list(range(1, len(said) + 1))
        assert found[-1] == {"jsonrpc": "2.0", "id": 1, "error": LOST}
        # It is the other node's now, and the first one's when that is back and asked.
        cluster[owner].start()
        for place in (front, cluster["n1"], cluster["n2"]):
            there = await at(session, place)
            assert (await there.post(call(2, "recall"))).status_code == 200


@needs_nginx
async def test_the_official_client_goes_on_by_itself(cluster: ClusterNodes) -> None:
    """The owner is killed in the midst of a call: the caller gets the error, and the session goes on."""
    heard, ids = Listener(), list[str]()

    async def note(response: httpx2.Response) -> None:
        ids.extend(response.headers.get_list("mcp-session-id"))

    async def kill_when_enough() -> None:
        await heard.enough.wait()
        await anyio.to_thread.run_sync(cluster[ids[0][:2]].kill)

    async def talk(session: ClientSession) -> None:
        await session.initialize()
        await session.set_logging_level("warning")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kill_when_enough)
            with pytest.raises(MCPError, match="the server restarted before this call ended"):
                await session.call_tool("count", {"upto": 30, "stay": True}, progress_callback=heard.told)
        found = await session.call_tool("recall", {})
        assert found.structured_content == {"version": "2025-11-25", "client": "mcp", "level": "warning"}

    cluster.start_all()
    front = cluster.front or cluster.start_nginx()
    async with http_client(patient=True) as http:
        http.event_hooks["response"].append(note)
        async with (
            streamable_http_client(front, http_client=http) as (read, write),
            ClientSession(read, write, logging_callback=heard.logged) as session,
        ):
            await talk(session)
    assert len(heard.progress) >= 8
    assert heard.progress == list(range(1, len(heard.progress) + 1))


async def test_calls_that_another_node_passed_on_are_answered(cluster: ClusterNodes) -> None:
    one, two = cluster.start_all()
    async with http_client(patient=True) as http:
        session = await open_session(one.url, http)
        there = await at(session, two)
        async with there.stream(counting(10, stay=True)) as stream:
            found, last = await take(stream, 5)
            cluster["n1"].kill()
            found += [event.message async for event in stream if event.message]  # it ends
        async with there.resume(last) as stream:
            again = await rest(stream)
        assert again[-1]["error"] == LOST
        # All at once, after another kill, cause one take-over.
        cluster["n1"].start()
        cluster["n2"].kill()
        back = await at(session, one)
        answers: list[Any] = []

        async def ask(number: int) -> None:
            answers.append((await back.post(call(number, "recall"))).json())

        async with anyio.create_task_group() as tasks:
            for number in range(10, 20):
                tasks.start_soon(ask, number)
        assert sorted(answer["id"] for answer in answers) == list(range(10, 20))
        assert all("result" in answer for answer in answers)


async def test_a_node_that_hangs_is_not_waited_for(cluster: ClusterNodes) -> None:
    """It is stopped in its tracks, connections and all; when it goes on, its sessions are another's."""
    one, two = cluster.start_all()
    async with http_client(patient=True) as http:
        session = await open_session(one.url, http)
        there = await at(session, two)
        assert (await there.post(call(1, "recall"))).status_code == 200
        os.kill(one.pid, signal.SIGSTOP)
        try:
            began = time.monotonic()
            answer = (await there.post(call(2, "recall"))).json()
            assert answer["error"] == LOST
            assert (await there.post(call(3, "recall"))).status_code == 200
            assert time.monotonic() - began < 20.0
        finally:
            os.kill(one.pid, signal.SIGCONT)
        assert (await session.post(call(4, "recall"))).status_code == 200
