"""The example workers frame by frame: what the contract asks of them, and what their tools do with it."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from example_workers import COMMANDS, PATIENCE, listening, started
from longwire.contract import writing
from longwire.contract.check.probe import Probe
from longwire.contract.check.run import CASES, check_worker

_HANDSHAKE, _STATELESS = "2025-11-25", "2026-07-28"
_CLIENT = {"info": {"name": "test", "version": "1"}, "capabilities": {"elicitation": {"form": {}}}}


@pytest.fixture(params=COMMANDS)
def command(request: pytest.FixtureRequest) -> list[str]:
    return COMMANDS[request.param]()


@asynccontextmanager
async def greeted(path: Path) -> AsyncIterator[Probe]:
    await listening(path)
    probe = await Probe.connect(path, PATIENCE)
    await probe.greet()
    try:
        yield probe
        assert probe.problems == []
    finally:
        probe.close()


@asynccontextmanager
async def probed(command: list[str]) -> AsyncIterator[Probe]:
    with started(command) as (_, path):
        async with greeted(path) as probe:
            yield probe


def send_request(
    probe: Probe,
    call: str,
    method: str,
    params: dict[str, Any],
    *,
    state: dict[str, Any] | None = None,
    version: str = _HANDSHAKE,
    client: dict[str, Any] = _CLIENT,
) -> None:
    session = None if version == _STATELESS else {"state": state or {}, "initialized": True}
    members = writing.circumstances(
        session_id=None if session is None else "s1",
        protocol_version=version,
        headers={"accept": "application/json"},
        principal={"key": "local", "scopes": [], "tools": None},
        client=client,
        session=session,
    )
    request = {"jsonrpc": "2.0", "id": f"r{call}", "method": method, "params": params}
    probe.send(writing.message(call, members, json.dumps(request).encode()))


def tool_call(name: str, token: str | None = None, **arguments: Any) -> dict[str, Any]:
    meta = {} if token is None else {"_meta": {"progressToken": token}}
    return {"name": name, "arguments": arguments, **meta}


def _text(result: dict[str, Any]) -> str:
    (content,) = result["content"]
    return str(content["text"])


async def test_hello_discovery_and_lists(command: list[str]) -> None:
    async with probed(command) as probe:
        assert probe.hello is not None
        assert (probe.hello["contract"], probe.hello["max_in_flight"]) == (1, 64)
        send_request(probe, "1", "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}})
        assert (await probe.answer("1")).result["protocolVersion"] == "2025-06-18"
        send_request(probe, "2", "server/discover", {}, version=_STATELESS)
        told = (await probe.answer("2")).result
        assert (told["supportedVersions"], told["resultType"]) == ([_STATELESS], "complete")
        send_request(probe, "3", "tools/list", {})
        names = [tool["name"] for tool in (await probe.answer("3")).result["tools"]]
        assert names == ["echo", "count", "ask", "visits", "announce"]
        send_request(probe, "4", "resources/read", {"uri": "example://language"})
        (content,) = (await probe.answer("4")).result["contents"]
        assert content["text"].startswith(("PHP 8", "TypeScript on Node v"))
        send_request(probe, "5", "prompts/get", {"name": "greet", "arguments": {"name": "Ada"}})
        (message,) = (await probe.answer("5")).result["messages"]
        assert message["content"]["text"] == "Greet Ada in one sentence."
        probe.send_document({"mode": "mcp", "event": "ping", "id": "p1"})
        assert (await probe.wait_for("pong"))["id"] == "p1"


async def test_what_there_is_not(command: list[str]) -> None:
    async with probed(command) as probe:
        for call, method, params, code in (
            ("1", "no/such", {}, -32601),
            ("2", "tools/call", tool_call("none"), -32602),
            ("3", "resources/read", {"uri": "example://none"}, -32002),
            ("4", "prompts/get", {"name": "none"}, -32602),
        ):
            send_request(probe, call, method, params)
            assert (await probe.answer(call)).reply["error"]["code"] == code
        send_request(probe, "5", "tools/call", tool_call("echo"))
        result = (await probe.answer("5")).result
        assert result["isError"]
        assert _text(result) == "tool 'echo' needs the argument 'text'"
        probe.send_document({"mode": "mcp", "event": "from the future", "more": 1})
        send_request(probe, "6", "tools/call", tool_call("echo", text="ünïcode 🎬"))
        assert _text((await probe.answer("6")).result) == "ünïcode 🎬"


async def test_progress_beside_other_calls_and_cancel(command: list[str]) -> None:
    async with probed(command) as probe:
        send_request(probe, "1", "tools/call", tool_call("count", "t", to=1000, pause=0.05))
        first = await probe.wait_for("messages", call="1")
        progress = first["messages"][0]["data"]
        assert (progress["method"], progress["params"]["progress"]) == ("notifications/progress", 1)
        send_request(probe, "2", "tools/call", tool_call("count", "u", to=3, pause=0.001))
        answer = await probe.answer("2")
        assert [message["params"]["progress"] for message in answer.messages] == [1, 2, 3]
        assert _text(answer.result) == "counted to 3"
        probe.send_document({"mode": "mcp", "event": "cancel", "id": "1", "reason": "the client left"})
        send_request(probe, "3", "tools/call", tool_call("echo", text="still here"))
        assert _text((await probe.answer("3")).result) == "still here"
        assert [frame for frame in probe.left("1") if frame["event"] in ("result", "error")] == []


async def test_questions_in_a_session(command: list[str]) -> None:
    async with probed(command) as probe:
        send_request(probe, "1", "tools/call", tool_call("ask"))
        for field, value in (("name", "Ada"), ("colour", "green")):
            asked = (await probe.wait_for("messages", call="1"))["messages"][0]["data"]
            assert asked["method"] == "elicitation/create"
            assert list(asked["params"]["requestedSchema"]["properties"]) == [field]
            reply = {"jsonrpc": "2.0", "result": {"action": "accept", "content": {field: value}}}
            for id in ("nobody asked", asked["id"]):
                answer = {"mode": "mcp", "event": "response", "id": "1", "jsonrpc": {**reply, "id": id}}
                probe.send_document(answer)
        assert _text((await probe.answer("1")).result) == "Ada likes green."
        send_request(probe, "2", "tools/call", tool_call("ask"), client={"info": None, "capabilities": {}})
        refused = (await probe.answer("2")).result
        assert (refused["isError"], _text(refused)) == (True, "this client has nobody to ask")


async def test_questions_without_a_session(command: list[str]) -> None:
    async with probed(command) as probe:
        more: dict[str, Any] = {}
        for call, field, value in (("1", "name", "Ada"), ("2", "colour", "green")):
            send_request(probe, call, "tools/call", {**tool_call("ask"), **more}, version=_STATELESS)
            asked = (await probe.answer(call)).result
            assert (asked["resultType"], list(asked["inputRequests"])) == ("input_required", [field])
            answers = {field: {"action": "accept", "content": {field: value}}}
            more = {"inputResponses": answers, "requestState": asked["requestState"]}
        send_request(probe, "3", "tools/call", {**tool_call("ask"), **more}, version=_STATELESS)
        assert _text((await probe.answer("3")).result) == "Ada likes green."


async def test_state_and_announcements(command: list[str]) -> None:
    async with probed(command) as probe:
        send_request(probe, "1", "tools/call", tool_call("visits"), state={"visits": 2, "kept": {}})
        answer = await probe.answer("1")
        assert _text(answer.result) == "visit 3"
        assert answer.last["session"]["state"] == {"visits": 3, "kept": {}}
        send_request(probe, "2", "tools/call", tool_call("visits"), version=_STATELESS)
        assert _text((await probe.answer("2")).result) == "There is no session to count in."
        send_request(probe, "3", "tools/call", tool_call("announce", text="hear"))
        notify = await probe.wait_for("notify")
        assert (notify["session_id"], notify["messages"][0]["data"]["params"]["data"]) == (None, "hear")
        await probe.answer("3")


async def test_every_case_of_the_contract(command: list[str]) -> None:
    with started(command) as (_, path):
        await listening(path)
        reports = await check_worker(path)
    assert {report.name: report.reason for report in reports if report.outcome != "passed"} == {}
    assert len(reports) == len(CASES)


def test_the_worker_ends_with_its_parent(command: list[str]) -> None:
    parent = subprocess.Popen(["sleep", "60"])
    try:
        with started(command, LONGWIRE_PARENT_PID=str(parent.pid)) as (worker, path):
            asyncio.run(listening(path))
            parent.kill()
            parent.wait()
            assert worker.wait(PATIENCE) == 0
    finally:
        parent.kill()
