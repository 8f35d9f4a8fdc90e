"""Handlers that fail or return what can't be sent: their own call fails, in words that give nothing away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from example_workers import COMMANDS, PATIENCE, WORKERS, listening, started
from longwire.contract.check.probe import HANDSHAKE, SESSION, STATELESS, Probe

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


@pytest.mark.parametrize("version", [HANDSHAKE, STATELESS])
async def test_a_wrong_value_fails_its_own_call(command: list[str], version: str) -> None:
    log: list[str] = []
    with started(command, log=log) as (worker, path):
        await listening(path)
        probe = await Probe.connect(path, PATIENCE)
        await probe.greet()
        options = {"version": version, "session": None if version == STATELESS else SESSION}

        async def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
            return (await probe.call(method, params, **options)).last

        async def tool(name: str) -> dict[str, Any]:
            return await ask("tools/call", {"name": name, "arguments": {}})

        contract = [await tool(name) for name in ("number", "nothing", "loop", "unwritable")]
        contract.append(await ask("own/number", {}))
        contract.append(await ask("resources/read", {"uri": "r://number"}))
        if version != STATELESS:
            contract.append(await tool("state"))
        for last in contract:
            assert (last["event"], last["error_class"]) == ("error", "app_contract_error"), last
        assert contract[1]["error"].startswith("tool 'nothing' returned what is neither text nor")
        for name in ("throws", "mistyped"):
            result = (await tool(name))["jsonrpc"]["result"]
            assert result["isError"] is True
            assert result["content"][0]["text"] == f"tool '{name}' failed: the worker's log says why"
        last = await ask("own/throws", {})
        assert (last["event"], last["error_class"]) == ("error", "worker_runtime_error")
        assert last["error"] == "own/throws failed: the worker's log says why"
        result = (await tool("says"))["jsonrpc"]["result"]
        assert (result["isError"], result["content"][0]["text"]) == (True, "no such film")
        result = (await tool("document"))["jsonrpc"]["result"]
        assert result["structuredContent"] == {"a": 1, "list": []}
        assert result["content"] == [{"type": "text", "text": '{"a":1,"list":[]}'}]
        listed = (await ask("tools/list", {}))["jsonrpc"]["result"]
        assert ("ttlMs" in listed) is (version == STATELESS)
        # All on one connection, which has outlived it.
        assert (await tool("fine"))["jsonrpc"]["result"]["content"][0]["text"] == "fine"
        assert worker.poll() is None
        assert probe.problems == []
        probe.close()
    assert log[0].count(_SECRET) >= 2  # for those who run the worker
    assert "tool 'throws' failed" in log[0]
