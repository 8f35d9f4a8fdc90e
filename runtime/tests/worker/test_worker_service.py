"""A worker in Python: principals, questions, what goes to sessions, cancellation, and its limits."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer

from longwire.contract import writing
from longwire.contract.envelopes import SessionEnd
from longwire.contract.frames import LONGEST
from longwire.errors import SettingsError
from longwire.worker.run import run_worker
from longwire.worker.service import Introduction
from worker_ground import ground


def document(answer: Any) -> dict[str, Any]:
    found: dict[str, Any] = answer.result["structuredContent"]
    return found


@pytest.mark.parametrize("stateless", [False, True])
async def test_a_call_has_its_principal_and_headers(stateless: bool) -> None:
    async with ground() as (runtime, _):
        call = runtime.modern if stateless else runtime.tool
        found = document(await call("who", headers={"x-trace": "42"}))
        assert found == {"key": "token:ci", "scopes": ["score"], "client": "token:ci", "header": "42"}


async def test_a_principal_sees_only_its_tools() -> None:
    async with ground() as (runtime, _):
        runtime.principal = {"key": "token:a", "tools": ["ec*"]}
        answer = await runtime.call("tools/list")
        assert [tool["name"] for tool in answer.result["tools"]] == ["echo"]


async def test_a_client_s_error_and_a_wrong_id() -> None:
    async with ground() as (runtime, _):
        call = runtime.begin_tool("ask")
        asked = (await runtime.asked(call))["id"]
        refused = {"error": {"code": -32000, "message": "no person here"}}
        for told, request_id in ((call, "another"), ("999", asked), (call, asked)):
            runtime.respond(told, {**refused, "id": request_id})
        answer = await runtime.answer(call)
        assert answer.reply["error"]["message"] == "no person here"


async def test_a_question_without_a_session_takes_rounds_and_its_state_is_plain() -> None:
    async with ground() as (runtime, _):
        first = (await runtime.modern("ask")).result
        assert first["resultType"] == "input_required"
        assert first["requestState"].startswith('{"round":1')  # the runtime seals it
        (key,) = first["inputRequests"]
        answers = {key: {"action": "accept", "content": {"name": "Ada"}}}
        given = {"inputResponses": answers, "requestState": first["requestState"]}
        assert document(await runtime.modern("ask", params=given))["content"] == {"name": "Ada"}


async def test_what_is_sent_outside_of_a_call_goes_to_the_session() -> None:
    async with ground() as (runtime, _):
        await runtime.tool("outside", session_id="s-9")
        sent = await runtime.wait_for("notify")
        assert sent["session_id"] == "s-9"
        assert sent["messages"][0]["data"]["method"] == "notifications/tools/list_changed"


async def test_the_end_of_a_session_ends_its_calls() -> None:
    async with ground() as (runtime, worker):
        call = runtime.begin_tool("wait", session_id="s-1")
        await runtime.tool("echo", session_id="s-2")
        assert worker.is_busy
        runtime.send(
            writing.envelope(SessionEnd("s-1", "deleted")), writing.envelope(SessionEnd("never", "expired"))
        )
        await runtime.tool("echo", session_id="s-2")
        assert not worker.is_busy
        assert runtime.left(call) == []


async def test_calls_beyond_the_limit_are_refused() -> None:
    async with ground(max_in_flight=2) as (runtime, _):
        for _ in range(4):
            runtime.begin_tool("wait")
        refused = (await runtime.tool("wait")).last
        assert refused["error_class"] == "worker_queue_full"
        assert refused["error"] == "4 calls are in flight, which is the most: wait for one"


async def test_an_answer_that_no_frame_can_hold_fails_its_call_alone() -> None:
    async with ground() as (runtime, _):
        failed = (await runtime.tool("long")).last
        assert failed["error_class"] == "app_contract_error"
        assert f"more than {LONGEST}" in failed["error"]
        await runtime.tool("echo")


async def test_parameter_headers_are_held_to_the_arguments() -> None:
    async with ground() as (runtime, _):
        right = await runtime.modern("region", {"region": "eu"}, headers={"mcp-param-region": "eu"})
        assert document(right) == {"region": "eu"}
        wrong = await runtime.modern("region", {"region": "eu"}, headers={"mcp-param-region": "us"})
        assert wrong.reply["error"]["code"] == -32020


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"request_id": 1.5}, "'id' should be an integer or"), ({"params": []}, "'params' should be an object")],
)
async def test_a_message_that_is_no_request_is_refused(options: dict[str, Any], sentence: str) -> None:
    async with ground() as (runtime, _):
        answer = await runtime.call("ping", **options)
        assert answer.reply["error"]["code"] == -32600
        assert sentence in answer.reply["error"]["message"]


async def test_a_worker_that_ends_says_so_and_finishes_what_runs() -> None:
    async with ground() as (runtime, worker):
        call = runtime.begin_tool("ask")
        asked = await runtime.asked(call)
        ending = asyncio.ensure_future(worker.finish("an update", 10))
        assert (await runtime.wait_for("bye"))["reason"] == "an update"
        runtime.respond(call, {"id": asked["id"], "result": {"action": "decline"}})
        assert document(await runtime.answer(call))["action"] == "decline"
        await ending
        assert await runtime.ended(5)


async def test_a_runtime_that_leaves_ends_its_calls() -> None:
    async with ground() as (runtime, worker):
        runtime.begin_tool("wait")
        await runtime.tool("echo")
        assert worker.is_busy
        runtime.close()
        async with asyncio.timeout(30):
            while worker.is_busy:
                await asyncio.sleep(0)


def test_only_a_low_level_server_can_be_a_worker(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="a 'MCPServer' can't be a worker: use"):
        run_worker(MCPServer("mine"), Introduction("mine", "1"), tmp_path / "w")  # type: ignore[arg-type]
