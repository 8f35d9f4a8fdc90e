"""Tools that answer at once: every kind of content, errors, schemas and headers."""

from __future__ import annotations

import asyncio
import base64
import io
import wave
from typing import Any, Final

import mcp_types as types
import numpy as np
from mcp.server.subscriptions import PromptsListChanged, SubscriptionBus, ToolsListChanged

from acuity.png import rgb_png
from fixture_making import arguments, require, text, tool
from longwire.errors import LongwireError
from longwire.product.catalog import Call, Tool


def png() -> str:
    """One red pixel, base64."""
    return base64.b64encode(rgb_png(np.array([[[255, 0, 0]]], np.uint8))).decode()


def wav() -> str:
    """Eight silent samples, base64."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(bytes(16))
    return base64.b64encode(file.getvalue()).decode()


_PAUSE: Final = 0.05  # seconds between notifications, so that they are seen to come one by one

_SCHEMA_2020_12: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def content_tools(bus: SubscriptionBus) -> list[Tool]:
    async def tools_changed(_: Call) -> types.CallToolResult:
        await bus.publish(ToolsListChanged())
        return text("told that the tools changed")

    async def prompts_changed(_: Call) -> types.CallToolResult:
        await bus.publish(PromptsListChanged())
        return text("told that the prompts changed")

    region = {"type": "string", "x-mcp-header": "Region"}
    return [
        tool("test_simple_text", _simple),
        tool("test_image_content", _image),
        tool("test_audio_content", _audio),
        tool("test_embedded_resource", _embedded),
        tool("test_multiple_content_types", _mixed),
        tool("test_error_handling", _failing),
        tool("test_tool_with_progress", _progress),
        tool("test_tool_with_logging", _logging),
        tool("test_logging_tool", _logging),
        tool("test_reconnection", _reconnection),
        tool("test_missing_capability", _needs_sampling),
        tool("test_header_parameter", _region, arguments(("region",), region=region)),
        tool("json_schema_2020_12_tool", _simple, _SCHEMA_2020_12),
        tool("test_trigger_tool_change", tools_changed),
        tool("test_trigger_prompt_change", prompts_changed),
    ]


async def _simple(_: Call) -> types.CallToolResult:
    return text("This is a simple text response for testing.")


async def _image(_: Call) -> types.CallToolResult:
    return types.CallToolResult(content=[picture()])


async def _audio(_: Call) -> types.CallToolResult:
    return types.CallToolResult(content=[types.AudioContent(type="audio", data=wav(), mime_type="audio/wav")])


async def _embedded(_: Call) -> types.CallToolResult:
    words = "This is an embedded resource content."
    return types.CallToolResult(content=[embedded("test://embedded-resource", words)])


async def _mixed(_: Call) -> types.CallToolResult:
    resource = embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
    words = types.TextContent(type="text", text="Multiple content types test:")
    return types.CallToolResult(content=[words, picture(), resource])


async def _failing(_: Call) -> types.CallToolResult:
    raise LongwireError("This tool intentionally returns an error for testing")


async def _progress(call: Call) -> types.CallToolResult:
    for done in (0, 50, 100):
        await call.progress(done, 100)
        await asyncio.sleep(_PAUSE)
    return text("progress was reported")


async def _logging(call: Call) -> types.CallToolResult:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await call.context.session.send_log_message("info", words, related_request_id=call.context.request_id)
        await asyncio.sleep(_PAUSE)
    return text("three lines were logged")


async def _reconnection(call: Call) -> types.CallToolResult:
    """The stream is closed while the call goes on: the client comes back for the answer."""
    if call.context.close_sse_stream is not None:
        await call.context.close_sse_stream()
    await asyncio.sleep(_PAUSE)
    return text("the answer came through another connection")


async def _needs_sampling(call: Call) -> types.CallToolResult:
    require(call, "sampling")
    return text("the client can sample")


async def _region(call: Call) -> types.CallToolResult:
    return text(f"region {call.arguments['region']}")


def picture() -> types.ImageContent:
    return types.ImageContent(type="image", data=png(), mime_type="image/png")


def embedded(uri: str, words: str, mime_type: str = "text/plain") -> types.EmbeddedResource:
    return types.EmbeddedResource(
        type="resource", resource=types.TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    )
