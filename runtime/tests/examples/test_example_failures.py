"""Handlers that fail or return what can't be sent: their own call fails, in words that give nothing away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from example_workers import COMMANDS, WORKERS, started
from longwire.contract.check.probe import Probe
from test_example_contract import greeted, send_request, tool_call

_STATELESS = "2026-07-28"
_SECRET = "/srv/keys/secret-of-the-tests"
_PHP = r"""<?php
declare(strict_types=1);
require 'HELPER';
$worker = new Longwire\Worker('broken', '1.0');
$none = ['type' => 'object', 'properties' => new stdClass()];
$loop = new stdClass();
$loop->self = $loop;
$tools = [
    'number' => fn () => 42,
    'nothing' => fn () => null,
    'loop' => fn () => $loop,
    'unwritable' => fn () => ['content' => [['type' => 'text', 'text' => NAN]]],
    'throws' => fn () => throw new RuntimeException('SECRET'),
    'mistyped' => fn (): string => null,
    'says' => fn () => throw new Longwire\ToolError('no such film'),
    'document' => fn () => ['a' => 1, 'list' => []],
    'whole' => fn () => ['content' => [], 'isError' => false],
    'state' => fn ($arguments, $call) => $call->setState($loop) ?? 'kept',
    'fine' => fn () => 'fine',
];
foreach ($tools as $name => $handler) {
    $worker->tool($name, '', $none, $handler);
}
$worker->method('own/number', fn () => 42);
$worker->method('own/throws', fn () => throw new RuntimeException('SECRET'));
$worker->resource('r://number', 'number', 'text/plain', fn () => 42);
$worker->run(getopt('', ['socket:'])['socket']);
"""
_TYPESCRIPT = r"""
import { ToolError, Worker } from "HELPER";
const worker = new Worker("broken", "1.0");
const loop: any = {};
loop.self = loop;
const tools: Record<string, any> = {
  number: () => 42,
  nothing: () => undefined,
  loop: () => loop,
  unwritable: () => ({ content: [{ type: "text", text: 1n }] }),
  throws: () => { throw new Error("SECRET"); },
  mistyped: () => (undefined as any).length,
  says: () => { throw new ToolError("no such film"); },
  document: () => ({ a: 1, list: [] }),
  whole: () => ({ content: [], isError: false }),
  state: (_: any, call: any) => { call.state = loop; return "kept"; },
  fine: () => "fine",
};
const none = { type: "object", properties: {} };
for (const [name, handler] of Object.entries(tools)) worker.tool(name, "", none, handler);
worker.method("own/number", () => 42 as any);
worker.method("own/throws", () => { throw new Error("SECRET"); });
worker.resource("r://number", "number", "text/plain", () => 42 as any);
worker.run(process.argv[3]);
"""
_SOURCES = {"php": ("worker.php", _PHP), "typescript": ("worker.ts", _TYPESCRIPT)}


@pytest.fixture(scope="module", params=COMMANDS)
def command(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command of a worker whose handlers are wrong, with the example's helper."""
    name, source = _SOURCES[request.param]
    *words, _ = COMMANDS[request.param]()
    path: Path = tmp_path_factory.mktemp(request.param) / name
    helper = WORKERS / request.param / f"longwire_{name}"
    path.write_text(source.replace("HELPER", str(helper)).replace("SECRET", _SECRET))
    return [*words, str(path)]


async def _asked(
    probe: Probe, call: str, method: str, params: dict[str, Any], version: str
) -> dict[str, Any]:
    send_request(probe, call, method, params, version=version)
    return (await probe.answer(call)).last


@pytest.mark.parametrize("version", ["2025-11-25", _STATELESS])
async def test_a_wrong_value_fails_its_own_call(command: list[str], version: str) -> None:
    log: list[str] = []
    with started(command, log=log) as (worker, path):
        async with greeted(path) as probe:
            send_request(probe, "first", "tools/call", tool_call("fine"), version=version)

            async def call(tool: str) -> dict[str, Any]:
                return await _asked(probe, tool, "tools/call", tool_call(tool), version)

            contract = [await call(name) for name in ("number", "nothing", "loop", "unwritable")]
            contract.append(await _asked(probe, "m1", "own/number", {}, version))
            contract.append(await _asked(probe, "m2", "resources/read", {"uri": "r://number"}, version))
            if version != _STATELESS:
                contract.append(await call("state"))
            for last in contract:
                assert (last["event"], last["error_class"]) == ("error", "app_contract_error"), last
            assert contract[1]["error"].startswith("tool 'nothing' returned what is neither text nor")
            for name in ("throws", "mistyped"):
                result = (await call(name))["jsonrpc"]["result"]
                assert result["isError"] is True
                assert result["content"][0]["text"] == f"tool '{name}' failed: the worker's log says why"
            last = await _asked(probe, "m3", "own/throws", {}, version)
            assert (last["event"], last["error_class"]) == ("error", "worker_runtime_error")
            assert last["error"] == "own/throws failed: the worker's log says why"
            result = (await call("says"))["jsonrpc"]["result"]
            assert (result["isError"], result["content"][0]["text"]) == (True, "no such film")
            # All on one connection, which has outlived it.
            assert (await probe.answer("first")).result["content"][0]["text"] == "fine"
            assert worker.poll() is None
    assert log[0].count(_SECRET) >= 2  # for those who run the worker
    assert "tool 'throws' failed" in log[0]


async def test_an_object_is_structured_content_and_text(command: list[str]) -> None:
    with started(command, log=[]) as (_, path):
        async with greeted(path) as probe:
            last = await _asked(probe, "1", "tools/call", tool_call("document"), "2025-11-25")
            result = last["jsonrpc"]["result"]
            assert result["structuredContent"] == {"a": 1, "list": []}
            assert result["content"] == [{"type": "text", "text": '{"a":1,"list":[]}'}]
            last = await _asked(probe, "2", "tools/call", tool_call("whole"), "2025-11-25")
            assert last["jsonrpc"]["result"] == {"content": [], "isError": False}


async def test_how_long_a_list_may_be_kept_is_said_in_the_version_that_has_it(command: list[str]) -> None:
    with started(command, log=[]) as (_, path):
        async with greeted(path) as probe:
            for version in ("2025-11-25", _STATELESS):
                last = await _asked(probe, version, "tools/list", {}, version)
                assert ("ttlMs" in last["jsonrpc"]["result"]) is (version == _STATELESS)
