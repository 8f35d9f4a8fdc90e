"""Quick answers: the bytes of the long way, and only where nothing about the call is special."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from acuity.mcp.embedded.agreed import Agreed
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from acuity.mcp.app import build_server
from acuity.mcp.embedded.fast import FastAnswers
from acuity.mcp.embedded.shapes import readable
from acuity.mcp.results import finite, to_text
from front_bench import INITIALIZED, META, WAYS, Measured, at_socket, call, hello, request, run

DOCUMENTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), DOCUMENTS, max_size=6))
def test_the_text_is_that_of_the_long_way(document: dict[str, Any]) -> None:
    assert readable(document) == to_text(finite(document))


@pytest.mark.parametrize("number", [1e15, 1e16, 1e17, 1e-3, 1e-4, 1.5e-5, 1e-7, 5e-324, 1e308, -0.0, 0.1])
def test_numbers_are_written_alike(number: float) -> None:
    assert readable({"a": number, "b": [-number]}) == to_text({"a": number, "b": [-number]})


def test_a_long_text_is_that_of_the_long_way_too() -> None:
    document = {"frames": list(range(20_000))}
    assert readable(document) == to_text(document)


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
def test_the_bytes_are_those_of_the_long_way(way: str, version: str, tmp_path: Path) -> None:
    async def main() -> None:
        quick, bench = await _answers(tmp_path, True, way, version)
        slow, other = await _answers(tmp_path, False, way, version)
        assert quick == slow
        assert (bench.quick, bench.slow, other.slow) == (6, 0, 6)
        assert json.loads(quick[0])["result"]["structuredContent"]["infinite"] is None

    run(main)


def _message(**changes: Any) -> dict[str, Any]:
    return {**call(1, "vmaf.status"), **changes}


SPECIAL: list[Any] = [
    _message(id=None),
    _message(id=True),
    _message(id=1.5),
    _message(jsonrpc="1.0"),
    _message(method="tools/list"),
    _message(extra=1),
    _message(params=None),
    _message(params=["vmaf.status"]),
    _message(params={"name": "echo", "arguments": {"text": "vmaf.status"}}),
    _message(params={"name": "vmaf.status", "arguments": None}),
    _message(params={"name": "vmaf.status", "arguments": {"a": "vmaf.status"}}),
    _message(params={"name": "vmaf.status", "task": {}}),
    _message(params={"name": "vmaf.status", "_meta": {"progressToken": 1}}),
    _message(params={"name": "vmaf.status", "_meta": {**META, "progressToken": 1}}),
    _message(params={"name": "vmaf.status", "_meta": {**META, "io.modelcontextprotocol/clientInfo": 5}}),
    _message(params={"name": "vmaf.status", "_meta": [1]}),
    {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "vmaf.status"}},
    [_message()],
]


def _fast(bench: Measured) -> FastAnswers:
    server = build_server(bench.catalog(), name="bench", version="1")
    return FastAnswers(server, {"vmaf.status": bench.quick_status})


@pytest.mark.parametrize("message", SPECIAL)
def test_what_is_special_goes_the_long_way(message: Any) -> None:
    bench = Measured()
    fast = _fast(bench)
    assert fast.answer(json.dumps(message).encode(), Agreed()) is None
    assert fast.answer(json.dumps(_message()).encode(), Agreed()) is not None
    assert bench.quick == 1


def test_an_envelope_is_checked_again_when_it_changes() -> None:
    fast, agreed = _fast(Measured()), Agreed()
    right = json.dumps(call(1, "vmaf.status", "envelope")).encode()
    assert fast.answer(right, agreed) is not None
    wrong = right.replace(b'"clientCapabilities"', b'"x"').replace(b"/clientCapabilities", b"/x")
    assert fast.answer(wrong, agreed) is None
    assert fast.answer(right, agreed) is not None


@pytest.mark.parametrize("text", [b"", b'"vmaf.status"', b'{"vmaf.status"', b'\xff"vmaf.status"', b"[" * 999])
def test_no_message_is_answered_quickly_that_is_none(text: bytes) -> None:
    assert _fast(Measured()).answer(text, Agreed()) is None


def test_a_document_that_fails_goes_the_long_way() -> None:
    server = build_server(Measured().catalog(), name="bench", version="1")

    def fails() -> dict[str, Any]:
        raise RuntimeError

    fast = FastAnswers(server, {"vmaf.status": fails})
    assert fast.answer(json.dumps(_message()).encode(), Agreed()) is None
