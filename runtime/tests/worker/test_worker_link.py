"""The worker's end of a connection: no bytes do more than close it; plain servers of the SDK are served."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types as types
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.server.lowlevel import Server

from longwire.contract import writing
from longwire.contract.frames import FrameDecoder, decode
from longwire.contract.writing import encode
from longwire.guard.access import Access
from longwire.settings import WireLimits
from longwire.wire.serving import Serving
from longwire.worker.link import RuntimeLink
from longwire.worker.service import Introduction, Service
from worker_ground import greeted, server

_SERVER = server()
HELLO = writing.runtime_hello("test", "1", "w1")


class Transport:
    """Where a link writes; nothing is sent anywhere."""

    def __init__(self) -> None:
        self.written = bytearray()
        self.aborted = False

    def set_write_buffer_limits(self, high: int) -> None: ...

    def write(self, data: bytes) -> None:
        self.written += data

    def abort(self) -> None:
        self.aborted = True

    close = abort

    def frames(self) -> list[dict[str, Any]]:
        return [decode(text) for text in FrameDecoder().texts(bytes(self.written))]


def _link() -> tuple[RuntimeLink, Transport]:
    service = Service(Serving(_SERVER, WireLimits(), {}, Access()), Introduction("test", "1"))
    link, transport = RuntimeLink(service, lambda _: None), Transport()
    link.connection_made(transport)  # type: ignore[arg-type]
    return link, transport


async def _fed(*pieces: bytes) -> Transport:
    link, transport = _link()
    for piece in pieces:
        link.data_received(piece)
    for _ in range(5):
        await asyncio.sleep(0)
    link.connection_lost(None)
    await asyncio.sleep(0)
    return transport


_VALUES = st.sampled_from(
    ["mcp", "1", "s", "2025-11-25", "2026-07-28", 1, 0, None, True, [], {}, [1], {"a": 1}, {"key": "token:a"}]
)
_NAMES = st.sampled_from(
    ["id", "session_id", "protocol_version", "headers", "principal", "client", "session"]
)
_RPC = st.fixed_dictionaries(
    {"method": st.sampled_from(["ping", "tools/call", "tools/list", "initialize", "notifications/x", ""])},
    optional={"jsonrpc": st.just("2.0"), "id": _VALUES, "params": _VALUES},
)
_ENVELOPES = st.tuples(
    st.sampled_from(["message", "response", "cancel", "session_end", "ping", "drain", "other"]),
    st.dictionaries(_NAMES, _VALUES),
    _RPC,
)
_RIGHT = {"id": "1", "protocol_version": "2025-11-25", "principal": {"key": "address:a"}}


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(_ENVELOPES, max_size=6))
def test_any_envelope_is_answered_or_closes_the_connection(given_: list[tuple[str, Any, Any]]) -> None:
    frames = [
        encode({"mode": "mcp", "event": event, **_RIGHT, **fields, "jsonrpc": rpc})
        for event, fields, rpc in given_
    ]
    transport = asyncio.run(_fed(HELLO, *frames))
    if not transport.aborted:
        said = [frame["event"] for frame in transport.frames()]
        assert said[0] == "hello"
        assert "error" not in said  # nothing that nobody thought of


async def test_handlers_wait_while_the_runtime_does_not_read() -> None:
    link, _ = _link()
    link.pause_writing()
    waiting = asyncio.ensure_future(link.room())
    await asyncio.sleep(0)
    assert not waiting.done()
    link.resume_writing()
    await waiting
    link.connection_lost(None)


async def test_a_connection_of_another_contract_is_closed() -> None:
    assert (await _fed(encode({"mode": "mcp", "event": "hello", "contract": 2}))).aborted


async def test_a_plain_server_of_the_sdk_is_a_worker() -> None:
    async def list_tools(_: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="own", input_schema={"type": "object"})])

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(type="text", text=params.name)])

    made: Server[Any] = Server("plain", on_list_tools=list_tools, on_call_tool=call_tool)
    async with greeted(made, Introduction("plain", "1")) as (runtime, _):
        assert (await runtime.tool("own")).result["content"] == [{"text": "own", "type": "text"}]
