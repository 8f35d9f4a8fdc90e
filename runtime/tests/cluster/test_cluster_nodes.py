"""Two nodes as processes: a session of one is the same at the other, which goes on with it."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("redis", reason="the extra 'cluster' is not installed")


from cluster_nodes import ClusterNodes, at, needs_nginx
from raw_http import call, events, http_client, modern, open_session
from redis_server import needs_redis
from test_restart import LOST, counting, numbers, progress, rest, take

pytestmark = [needs_redis, pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")]


# ---- passing on -----------------------------------------------------------------------------------------


async def test_a_session_is_the_same_at_every_node(cluster: ClusterNodes) -> None:
    one, two = cluster.start_all()
    async with http_client(patient=True) as http:
        session = await open_session(one.url, http)
        assert session.headers["Mcp-Session-Id"].startswith("n1-")
        there = await at(session, two)
        level = {"jsonrpc": "2.0", "id": 5, "method": "logging/setLevel", "params": {"level": "warning"}}
        assert (await there.post(level)).json()["result"] == {}
        known = (await session.post(call(6, "recall"))).json()["result"]["structuredContent"]
        assert known == {"version": "2025-11-25", "client": "t", "level": "warning"}
        async with there.stream(counting(20, stay=False)) as stream:
            found = await rest(stream)
        assert progress(found) == list(range(1, 21))
        assert found[-1]["result"]["structuredContent"] == {"counted": 20}
        assert (await http.delete(two.url, headers=session.headers)).status_code == 200
        assert (await session.post(call(7, "recall"))).status_code == 404
        assert (await there.post(call(8, "recall"))).status_code == 404


async def test_what_a_call_asks_can_be_answered_at_another_node(cluster: ClusterNodes) -> None:
    one, two = cluster.start_all()
    async with http_client(patient=True) as http:
        session = await open_session(one.url, http, capabilities={"elicitation": {}})
        there = await at(session, two)
        async with there.stream(call(1, "greet")) as stream:
            asked = (await take(stream, 1))[0][0]
            answer = {"action": "accept", "content": {"name": "Ada"}}
            for place in (there, session):
                reply = {"jsonrpc": "2.0", "id": asked["id"], "result": answer}
                assert (await place.post(reply)).status_code == 202
            found = await rest(stream)
        assert found[-1]["result"]["structuredContent"] == {"greeted": "Ada", "node": "n1"}


# ---- the era without sessions ---------------------------------------------------------------------------


async def test_changes_at_one_node_are_told_at_all(cluster: ClusterNodes) -> None:
    one, two = cluster.start_all()
    async with http_client(patient=True) as http:
        listen = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "subscriptions/listen",
            "params": {"notifications": {"resourceSubscriptions": ["r://a"]}},
        }
        body, headers = modern(listen)
        async with http.stream("POST", one.url, json=body, headers=headers) as response:
            stream = events(response)
            assert (await anext(stream)).message["method"] == "notifications/subscriptions/acknowledged"
            for node in (two, one):
                change, named = modern(call(2, "touch", name="r://a"))
                await http.post(node.url, json=change, headers=named)
                told = (await anext(stream)).message
                assert told["method"] == "notifications/resources/updated"
                assert told["params"]["uri"] == "r://a"


# ---- a node that is killed ------------------------------------------------------------------------------


@needs_nginx
async def test_a_killed_nodes_stream_goes_on_at_the_other(cluster: ClusterNodes) -> None:
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
            assert time.monotonic() - began < 10.0  # on a busy machine
            found += await rest(stream)
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
