"""Two nodes: a session of one is the same at the other; what is forged, doubled or out of time is refused."""

from __future__ import annotations

import pytest

pytest.importorskip("redis", reason="the extra 'cluster' is not installed")


from cluster_nodes import ClusterNodes, at
from raw_http import call, events, http_client, modern, open_session
from redis_server import needs_redis
from test_restart import counting, progress, rest, take

pytestmark = [
    needs_redis,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]


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


async def test_another_nodes_stream_comes_as_it_is_made_and_can_be_left(cluster: ClusterNodes) -> None:
    one, two = cluster.start_all()
    async with http_client(patient=True) as http:
        session = await open_session(one.url, http)
        there = await at(session, two)
        async with http.stream("GET", two.url, headers=session.headers) as response:
            assert response.status_code == 200
            stream = events(response)
            first = await anext(stream)
            await session.post(call(1, "say", text="hello"))
            said = await anext(stream)
            assert said.message["params"]["data"] == "hello"
        await there.post(call(2, "say", text="again"))  # the owner knows that the client has gone
        async with session.resume(first.id) as resumed:
            found = (await take(resumed, 2))[0]
        assert [message["params"]["data"] for message in found] == ["hello", "again"]


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


async def test_a_session_is_its_principals_at_every_node(cluster: ClusterNodes) -> None:
    one, two = cluster.start_all()
    async with http_client(patient=True) as http, http_client("127.0.0.2", patient=True) as strangers:
        session = await open_session(one.url, http)
        for killed in (False, True):
            if killed:
                cluster["n1"].kill()
            stolen = await strangers.post(two.url, json=call(1, "recall"), headers=session.headers)
            assert stolen.status_code == 404
            assert (await strangers.delete(two.url, headers=session.headers)).status_code == 404
            own = await http.post(two.url, json=call(2, "recall"), headers=session.headers)
            assert own.status_code == 200


# ---- the era without sessions ---------------------------------------------------------------------------


async def test_a_request_state_is_opened_by_any_node(cluster: ClusterNodes) -> None:
    one, two = cluster.start_all()
    async with http_client(patient=True) as http:
        body, headers = modern(call(1, "greet"))
        capable = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
        body["params"]["_meta"] = {**body["params"]["_meta"], **capable}
        first = (await http.post(one.url, json=body, headers=headers)).json()["result"]
        assert first["resultType"] == "input_required"
        answer = {"action": "accept", "content": {"name": "Ada"}}
        body["params"] |= {
            "inputResponses": dict.fromkeys(first["inputRequests"], answer),
            "requestState": first["requestState"],
        }
        found = (await http.post(two.url, json=body, headers=headers)).json()["result"]
        assert found["structuredContent"] == {"greeted": "Ada", "node": "n2"}
        body["params"]["requestState"] = first["requestState"][:-4] + "AAAA"
        assert "error" in (await http.post(two.url, json=body, headers=headers)).json()


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
