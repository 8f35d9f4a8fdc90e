"""Quick answers: the bytes of the long way, and only where nothing about the call is special."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from endpoint_bench import INITIALIZED, META, WAYS, Measured, at_socket, call, hello, request
from longwire.product.app import build_server
from longwire.wire.messages import Message, parse
from longwire.wire.quick import QuickAnswers
from longwire.wire.serving import Handshake


async def _answers(folder: Path, fast: bool, way: str, version: str) -> tuple[list[bytes], Measured]:
    async with at_socket(folder, fast=fast) as (bench, client):
        if way == "handshake":
            await client.ask(hello(version=version))
            await client.send(INITIALIZED)
        found = []
        for number in (1, "a", 2**40, -1, 'ü"'):
            await client.send(call(number, "vmaf.status", way))
            found.append(await client.line())
        await client.send(request(9, "tools/call", way, name="vmaf.status"))
        return [*found, await client.line()], bench


@pytest.mark.parametrize(
    ("way", "version"),
    [(way, "") for way in WAYS[1:]] + [("handshake", version) for version in HANDSHAKE_PROTOCOL_VERSIONS],
)
async def test_the_bytes_are_those_of_the_long_way(way: str, version: str, tmp_path: Path) -> None:
    quick, bench = await _answers(tmp_path, True, way, version)
    slow, other = await _answers(tmp_path, False, way, version)
    assert quick == slow
    assert (bench.quick, bench.slow, other.slow) == (6, 0, 6)
    assert json.loads(quick[0])["result"]["structuredContent"]["infinite"] is None


def _message(**changes: Any) -> dict[str, Any]:
    return {**call(1, "vmaf.status"), **changes}


SPECIAL: list[dict[str, Any]] = [
    _message(method="tools/list"),
    _message(params=None),
    _message(params={"name": "echo", "arguments": {"text": "vmaf.status"}}),
    _message(params={"name": "vmaf.status", "arguments": None}),
    _message(params={"name": "vmaf.status", "arguments": {"a": "vmaf.status"}}),
    _message(params={"name": "vmaf.status", "task": {}}),
    _message(params={"name": "vmaf.status", "_meta": {"progressToken": 1}}),
    _message(params={"name": "vmaf.status", "_meta": {**META, "progressToken": 1}}),
    _message(params={"name": "vmaf.status", "_meta": {**META, "io.modelcontextprotocol/clientInfo": 5}}),
    _message(params={"name": "vmaf.status", "_meta": [1]}),
    {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "vmaf.status"}},
]


def _parsed(message: dict[str, Any]) -> Message:
    return parse(json.dumps(message).encode())


def _quick(bench: Measured) -> QuickAnswers:
    server = build_server(bench.catalog(), name="bench", version="1")
    return QuickAnswers(server, {"vmaf.status": bench.quick_status})


@pytest.mark.parametrize("message", SPECIAL)
def test_a_call_that_is_not_plain_goes_to_the_sdk(message: dict[str, Any]) -> None:
    bench = Measured()
    quick = _quick(bench)
    assert quick.answer(_parsed(message), Handshake("test")) is None
    assert quick.answer(_parsed(_message()), Handshake("test")) is not None
    assert bench.quick == 1


def test_a_wrong_envelope_goes_to_the_sdk() -> None:
    quick, handshake = _quick(Measured()), Handshake("test")
    right = call(1, "vmaf.status", "envelope")
    assert quick.answer(_parsed(right), handshake) is not None
    del right["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    assert quick.answer(_parsed(right), handshake) is None


def test_the_answer_is_of_the_version_that_was_agreed_on_last() -> None:
    quick, handshake = _quick(Measured()), Handshake("test")
    first = quick.answer(_parsed(_message()), handshake)
    assert first is not None
    handshake.version = "2026-07-28"
    second = quick.answer(_parsed(_message()), handshake)
    assert second is not None
    assert "_meta" not in json.loads(first)["result"]
    assert "_meta" in json.loads(second)["result"]
    handshake.pending = 1
    assert quick.answer(_parsed(_message()), handshake) is None


def test_an_id_in_flight_goes_to_the_sdk() -> None:
    quick = _quick(Measured())
    assert quick.answer(_parsed(_message(id=7)), Handshake("test"), {7}) is None
    assert quick.answer(_parsed(_message(id=8)), Handshake("test"), {7}) is not None


def test_a_document_that_fails_goes_to_the_sdk() -> None:
    server = build_server(Measured().catalog(), name="bench", version="1")

    def fails() -> dict[str, Any]:
        raise RuntimeError

    quick = QuickAnswers(server, {"vmaf.status": fails})
    assert quick.answer(_parsed(_message()), Handshake("test")) is None
