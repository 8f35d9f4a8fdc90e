"""Requests that are wrong in some way or too large, in both eras."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core_bench import CoreClient, Running, call, modern, reply_of, running
from longwire.settings import WireLimits
from raw_http import HELLO

ONCE = (
    "mcp-session-id mcp-protocol-version mcp-name mcp-param-a origin host authorization content-type "
    "last-event-id"
)


@pytest.mark.parametrize("name", ONCE.split())
async def test_headers_that_may_come_once_only(client: CoreClient, name: str) -> None:
    for method in ("POST", "GET", "DELETE"):
        answer = client.send(method, json.dumps(call(1)).encode(), repeated=(name,))
        assert answer.status == 400
        assert reply_of(answer)["error"]["message"] == f"{name} header appears more than once"
    assert client.send("POST", json.dumps(call(1, "plain")).encode(), repeated=("accept",)).status == 200


async def test_a_doubled_routing_header_is_refused_with_the_id_of_the_request(served: Running) -> None:
    body, headers = modern(call(5))
    answer = served.client.post(body, headers, repeated=("mcp-name",))
    assert (answer.status, reply_of(answer)["id"]) == (400, 5)
    assert reply_of(answer)["error"]["code"] == -32020
    broken = served.client.post(b"{", headers, repeated=("mcp-name",))
    assert reply_of(broken)["error"]["code"] == -32700


@pytest.mark.parametrize("body", [b"<call/>", json.dumps(call(1)).encode()])
async def test_a_body_of_another_type_is_415_whatever_is_in_it(served: Running, body: bytes) -> None:
    for headers in ({}, {"Mcp-Session-Id": "unknown"}, modern(call(1))[1]):
        answer = served.client.post(body, {**headers, "Content-Type": "text/xml"})
        assert (answer.status, reply_of(answer)["id"]) == (415, None)


@pytest.mark.parametrize(("body", "code"), [(b"{", -32700), (b"[" * 5000 + b"]" * 5000, -32600)])
async def test_bad_bodies_are_answered_in_both_eras(served: Running, body: bytes, code: int) -> None:
    for answer in (served.client.begin().post(body), served.client.post(body, modern(call(1))[1])):
        assert (answer.status, reply_of(answer)["error"]["code"]) == (400, code)


async def test_an_unknown_version_is_refused_with_those_that_are_known(served: Running) -> None:
    for message in (call(1), {"jsonrpc": "2.0", "method": "notifications/x"}):
        answer = served.client.post(message, {"MCP-Protocol-Version": "2027-01-01"})
        assert answer.status == 400
        error = reply_of(answer)["error"]
        assert (error["code"], error["data"]["requested"]) == (-32022, "2027-01-01")
        assert error["data"]["supported"] == ["2026-07-28"]  # as server/discover lists them


def _listed(params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": params}


EXCESSES: dict[str, tuple[dict[str, Any], int | None]] = {
    "256 are the most": ({**call(3), "method": "m" * 257}, 3),
    "1024 characters": (call("i" * 1025), None),
    "64 bits": (call(1 << 63), None),
    "'name' has 1025": (call(3, "n" * 1025), 3),
    "'cursor' has 2000": (_listed({"cursor": "c" * 2000}), 3),
    "'uri' has 9000": ({**_listed({"uri": "u" * 9000}), "method": "resources/read"}, 3),
    "1001 arguments": (call(3, "plain", **{f"a{n}": 1 for n in range(1001)}), 3),
    "10000 values": (call(3, "plain", text=[0] * 10_001), 3),
}


@pytest.mark.parametrize(("words", "message", "number"), [(name, *case) for name, case in EXCESSES.items()])
async def test_messages_with_too_much_are_refused(
    served: Running, words: str, message: dict[str, Any], number: int | None
) -> None:
    answer = served.client.begin().post(message)
    assert (answer.status, reply_of(answer)["id"]) == (400, number)
    assert words in reply_of(answer)["error"]["message"]
    assert len(answer.body) < 300


async def test_a_handshake_that_a_session_would_keep_is_bounded(served: Running) -> None:
    hello = {**HELLO, "params": {**HELLO["params"], "more": "x" * 17_000}}
    answer = served.client.post(hello)
    assert (answer.status, reply_of(answer)["error"]["code"]) == (400, -32602)
    assert len(served.sessions) == 0


async def test_a_session_has_sixteen_event_streams_at_most(client: CoreClient) -> None:
    streams = [client.get() for _ in range(18)]
    assert [stream.gone for stream in streams] == [True, True] + [False] * 16


async def test_a_principal_has_a_number_of_event_streams() -> None:
    async with running(limits=WireLimits(max_connections_each=2)) as served:
        clients = [served.client.begin() for _ in range(3)]
        first = [client.get() for client in clients]
        assert [stream.status for stream in first] == [200, 200, 429]
        assert first[2].headers[b"retry-after"] == b"5"
        assert clients[0].get().status == 200  # in the place of its own
        assert first[0].gone
        first[1].drop()
        assert clients[2].get().status == 200


@pytest.mark.parametrize(
    "method", ["tools/list", "prompts/list", "resources/list", "resources/templates/list"]
)
async def test_a_cursor_that_was_never_handed_out_is_refused(client: CoreClient, method: str) -> None:
    answer = await client.post({**_listed({"cursor": "x"}), "method": method}).over()
    assert reply_of(answer)["error"]["code"] == -32602
    assert "unknown cursor 'x'" in reply_of(answer)["error"]["message"]


async def test_an_unknown_resource_has_the_code_of_its_version(served: Running) -> None:
    message = {**_listed({"uri": "test://nothing"}), "method": "resources/read"}
    body, headers = modern(message)
    for answer, code in (
        (served.client.begin().post(message), -32002),
        (served.client.post(body, {**headers, "Mcp-Name": "test://nothing"}), -32602),
    ):
        await answer.over()
        assert reply_of(answer)["error"]["code"] == code


async def test_a_request_of_the_other_era_without_its_header_is_told_of_it(served: Running) -> None:
    body, _ = modern(call(4))
    answer = served.client.post(body)
    assert (answer.status, reply_of(answer)["id"]) == (400, 4)
    assert "no mcp-protocol-version header" in reply_of(answer)["error"]["message"]
