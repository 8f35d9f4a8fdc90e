"""What the runtime adds to the results of workers at 2026-07-28."""

from __future__ import annotations

import asyncio
import shlex
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client

import bare_worker
from core_bench import reply_of
from longwire.workers.completed_results import completed
from product_server import product_server
from scripted_worker import Frame, ScriptedWorker, Wire, eventually, fronting
from transport_bench import transport_to

STATELESS = "2026-07-28"


def bare(wire: Wire, frame: Frame) -> None:
    for answer in bare_worker.answers(frame):
        wire.send({"mode": "mcp", **answer})


@pytest.mark.parametrize(
    ("method", "result", "added"),
    [
        ("tools/call", {"content": []}, {"resultType": "complete"}),
        ("tools/call", {"resultType": "input_required"}, {}),
        ("resources/read", {"resultType": "input_required"}, {}),
        ("tools/list", {"tools": []}, {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}),
        ("tools/list", {"ttlMs": 5, "cacheScope": "public"}, {"resultType": "complete"}),
        ("acme/own", {"value": None}, {"resultType": "complete"}),
    ],
)
def test_what_a_version_requires_is_filled_in(
    method: str, result: dict[str, Any], added: dict[str, Any]
) -> None:
    assert completed(method, STATELESS, result) == {**result, **added}
    assert completed(method, "2025-11-25", result) == result


async def test_a_handshake_is_asked_for_once_for_each_worker() -> None:
    worker = ScriptedWorker(bare)
    async with fronting(worker) as front:

        async def discovered() -> dict[str, Any]:
            message = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}}
            answer = front.client.stateless(message, {"Mcp-Method": "server/discover"})
            await eventually(lambda: answer.gone)
            found: dict[str, Any] = reply_of(answer)["result"]
            return found

        found = await discovered()
        assert found["supportedVersions"] == [STATELESS]
        assert found["instructions"] == "Be brief."
        assert (found["resultType"], found["ttlMs"], found["cacheScope"]) == ("complete", 0, "private")
        assert await discovered() == found
        assert len(worker.calls("initialize")) == 1
        assert worker.wire is not None
        worker.wire.transport.abort()
        await eventually(lambda: worker.connections == 2)
        await eventually(lambda: front.pool.statuses()[0].state == "ready")
        assert await discovered() == found
        assert len(worker.calls("initialize")) == 2


async def test_a_worker_without_a_handshake_has_no_discovery_either() -> None:
    def refusing(wire: Wire, frame: Frame) -> None:
        if frame["event"] == "message":
            wire.send({"mode": "mcp", "event": "result", "id": frame["id"], "handled": False})

    async with fronting(ScriptedWorker(refusing)) as front:
        message = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}}
        answer = front.client.stateless(message, {"Mcp-Method": "server/discover"})
        await eventually(lambda: answer.gone)
        assert reply_of(answer)["error"]["code"] == types.METHOD_NOT_FOUND


@pytest.mark.parametrize("mode", [STATELESS, "auto"])
def test_the_official_client_uses_a_worker_that_knows_none_of_it(tmp_path: Path, mode: str) -> None:
    command = shlex.join([sys.executable, bare_worker.__file__, "--socket", "{socket}"])

    async def main(url: str) -> None:
        async with asyncio.timeout(60), Client(transport_to(url), mode=mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["echo"]
            result = await client.call_tool("echo", {"text": "hello"})
            assert result.content == [types.TextContent(type="text", text="hello")]
            assert [one.name for one in (await client.list_resources()).resources] == ["a"]
            assert (await client.read_resource("note://a")).contents[0].uri == "note://a"
            assert (await client.list_prompts()).prompts == []
            assert client.instructions in (None, "Be brief.")

    with product_server(tmp_path, "--http", "0", "--worker-command", command) as server:
        asyncio.run(main(server.where("http")))
