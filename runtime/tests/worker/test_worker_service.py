"""A worker in Python: calls of both eras, progress, questions, session state, cancellation, its limits."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer

from longwire.contract import writing
from longwire.contract.frames import LONGEST
from longwire.errors import SettingsError
from longwire.worker.run import run_worker
from longwire.worker.service import Introduction
from worker_ground import HANDSHAKE, MODERN, ground


def document(answer: Any) -> dict[str, Any]:
    found: dict[str, Any] = answer.result["structuredContent"]
    return found


async def test_a_handshake_is_answered_by_the_worker() -> None:
    async with ground() as (runtime, _):
        params = {
            "protocolVersion": HANDSHAKE,
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        }
        hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        answer = await runtime.answer(runtime.begin(hello))
        assert answer.reply["id"] == 0
        assert answer.result["protocolVersion"] == HANDSHAKE
        assert answer.result["serverInfo"]["name"] == "ground"
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        session = {"state": {}, "initialized": False}
        silent = await runtime.answer(runtime.begin(note, session=session))
        assert silent.last["jsonrpc"] is None


@pytest.mark.parametrize("version", [HANDSHAKE, MODERN])
async def test_a_call_has_its_principal_and_headers(version: str) -> None:
    async with ground() as (runtime, _):
        headers = {"x-trace": "42"}
        call = (
            runtime.modern("who", headers=headers)
            if version == MODERN
            else runtime.tool("who", headers=headers)
        )
        found = document(await runtime.answer(call))
        assert found == {"key": "token:ci", "scopes": ["score"], "client": "token:ci", "header": "42"}


async def test_a_principal_sees_only_its_tools() -> None:
    async with ground() as (runtime, _):
        runtime.principal = {"key": "token:a", "tools": ["ec*"]}
        listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        answer = await runtime.answer(runtime.begin(listing, session={"state": {}, "initialized": True}))
        assert [tool["name"] for tool in answer.result["tools"]] == ["echo"]


async def test_a_client_s_error_and_a_wrong_id() -> None:
    async with ground() as (runtime, _):
        call = runtime.tool("ask", capabilities={"elicitation": {}})
        sent = await runtime.wait_for("messages", call=call)
        asked = sent["messages"][0]["data"]["id"]
        refused = {"jsonrpc": "2.0", "error": {"code": -32000, "message": "no person here"}}
        runtime.send(writing.response(call, writing.json_text({**refused, "id": "another"})))
        runtime.send(writing.response("999", writing.json_text({**refused, "id": asked})))
        runtime.send(writing.response(call, writing.json_text({**refused, "id": asked})))
        answer = await runtime.answer(call)
        assert answer.reply["error"]["message"] == "no person here"


async def test_a_question_without_a_session_takes_rounds_and_its_state_is_plain() -> None:
    async with ground() as (runtime, _):
        able: dict[str, Any] = {"elicitation": {}}
        first = (await runtime.answer(runtime.modern("ask", capabilities=able))).result
        assert first["resultType"] == "input_required"
        assert first["requestState"].startswith('{"round":1')  # the runtime seals it
        (key,) = first["inputRequests"]
        answers = {key: {"action": "accept", "content": {"name": "Ada"}}}
        again = runtime.modern(
            "ask", capabilities=able, inputResponses=answers, requestState=first["requestState"]
        )
        assert document(await runtime.answer(again))["content"] == {"name": "Ada"}


async def test_session_state_comes_with_the_message_and_goes_back_with_the_result() -> None:
    async with ground() as (runtime, _):
        told = {"state": {"text": "old", "other": 1}, "initialized": True}
        answer = await runtime.call("remember", {"text": "new"}, session=told)
        assert document(answer) == {"before": "old"}
        assert answer.last["session"] == {"state": {"text": "new", "other": 1}}
        again = await runtime.call("remember", {}, session={"state": {"text": "new"}, "initialized": True})
        assert again.last["session"] == {"state": {}}  # None removes
        plain = await runtime.call("echo")
        assert plain.last["session"] is None


async def test_what_is_sent_outside_of_a_call_goes_to_the_session() -> None:
    async with ground() as (runtime, _):
        await runtime.call("outside", session_id="s-9")
        sent = await runtime.wait_for("notify")
        assert sent["session_id"] == "s-9"
        assert sent["messages"][0]["data"]["method"] == "notifications/tools/list_changed"


async def test_the_end_of_a_session_ends_its_calls() -> None:
    async with ground() as (runtime, worker):
        call = runtime.tool("wait", session_id="s-1")
        await runtime.call("echo", session_id="s-2")
        assert len(worker.service.sessions) == 2
        runtime.send(writing.session_end("s-1", "deleted"), writing.session_end("never", "expired"))
        await runtime.call("echo", session_id="s-2")
        assert len(worker.service.sessions) == 1
        assert runtime.left(call) == []


async def test_calls_beyond_the_limit_are_refused() -> None:
    async with ground(max_in_flight=2) as (runtime, _):
        for _ in range(4):
            runtime.tool("wait")
        refused = (await runtime.answer(runtime.tool("wait"))).last
        assert refused["error_class"] == "worker_queue_full"
        assert refused["error"] == "4 calls are in flight, which is the most: wait for one"


async def test_a_failing_tool_keeps_its_words_to_the_log() -> None:
    async with ground() as (runtime, _):
        answer = await runtime.call("fail")
        assert answer.result["isError"]
        assert "secret" not in str(answer)


async def test_an_answer_that_no_frame_can_hold_fails_its_call_alone() -> None:
    async with ground() as (runtime, _):
        failed = (await runtime.answer(runtime.tool("long"))).last
        assert failed["error_class"] == "app_contract_error"
        assert f"more than {LONGEST}" in failed["error"]
        await runtime.call("echo")


async def test_parameter_headers_are_held_to_the_arguments() -> None:
    async with ground() as (runtime, _):
        right = runtime.modern("region", {"region": "eu"}, headers={"mcp-param-region": "eu"})
        assert document(await runtime.answer(right)) == {"region": "eu"}
        wrong = runtime.modern("region", {"region": "eu"}, headers={"mcp-param-region": "us"})
        assert (await runtime.answer(wrong)).reply["error"]["code"] == -32020


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, "'id' should be an integer or a string"),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}, "'params' should be an object"),
    ],
)
async def test_a_message_that_is_no_request_is_refused(message: dict[str, Any], sentence: str) -> None:
    async with ground() as (runtime, _):
        answer = await runtime.answer(runtime.begin(message))
        assert answer.reply["error"]["code"] == -32600
        assert sentence in answer.reply["error"]["message"]


async def test_a_worker_that_ends_says_so_and_finishes_what_runs() -> None:
    async with ground() as (runtime, worker):
        call = runtime.tool("ask", capabilities={"elicitation": {}})
        sent = await runtime.wait_for("messages", call=call)
        ending = asyncio.ensure_future(worker.finish("an update", 10))
        assert (await runtime.wait_for("bye"))["reason"] == "an update"
        reply = {
            "jsonrpc": "2.0",
            "id": sent["messages"][0]["data"]["id"],
            "result": {"action": "decline"},
        }
        runtime.send(writing.response(call, writing.json_text(reply)))
        assert document(await runtime.answer(call))["action"] == "decline"
        await ending
        assert await runtime.ended(5)


async def test_a_runtime_that_leaves_ends_its_calls() -> None:
    async with ground() as (runtime, worker):
        runtime.tool("wait")
        await runtime.call("echo")
        assert worker.is_busy
        runtime.close()
        await runtime.ended(5)
        async with asyncio.timeout(30):
            while worker.is_busy:
                await asyncio.sleep(0)


def test_only_a_low_level_server_can_be_a_worker(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="a 'MCPServer' can't be a worker: use"):
        run_worker(MCPServer("mine"), Introduction("mine", "1"), tmp_path / "w")  # type: ignore[arg-type]
