"""What the runtime adds to the results of workers at 2026-07-28."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest

from core_bench import reply_of
from longwire.workers.completed_results import completed
from scripted_worker import Frame, ScriptedWorker, Wire, WorkerCore, answering, fronting, replied, result
from waiting import until

STATELESS = "2026-07-28"
DISCOVER: Frame = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}}
# A worker that knows no more than the pages of 2025-11-25: it has nothing of 2026-07-28.
REPLIES: dict[str, dict[str, Any]] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}, "prompts": {}, "resources": {}},
        "serverInfo": {"name": "bare", "version": "7"},
        "instructions": "Be brief.",
    }
}


def bare(wire: Wire, frame: Frame) -> None:
    if frame["event"] != "message":
        answering(wire, frame)
    elif (found := REPLIES.get(frame["jsonrpc"]["method"])) is not None:
        wire.send(replied(frame, found))
    else:
        wire.send(result(frame["id"], None, handled="id" not in frame["jsonrpc"]))


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


async def test_a_handshake_is_asked_for_once_for_each_worker(front: WorkerCore) -> None:
    worker = front.worker
    worker.script = bare

    async def discovered() -> dict[str, Any]:
        found: dict[str, Any] = reply_of(await front.client.alone(DISCOVER))["result"]
        return found

    found = await discovered()
    assert found["supportedVersions"] == [STATELESS]
    assert found["instructions"] == "Be brief."
    assert (found["resultType"], found["ttlMs"], found["cacheScope"]) == ("complete", 0, "private")
    assert await discovered() == found
    assert len(worker.calls("initialize")) == 1
    worker.wire.transport.abort()
    await until(lambda: worker.connections == 2)
    await until(lambda: front.pool.statuses()[0].state == "ready")
    assert await discovered() == found
    assert len(worker.calls("initialize")) == 2


async def test_a_worker_without_a_handshake_has_no_discovery_either() -> None:
    def refusing(wire: Wire, frame: Frame) -> None:
        if frame["event"] == "message":
            wire.send({"mode": "mcp", "event": "result", "id": frame["id"], "handled": False})

    async with fronting(ScriptedWorker(refusing)) as front:
        answer = await front.client.alone(DISCOVER)
        assert reply_of(answer)["error"]["code"] == types.METHOD_NOT_FOUND
