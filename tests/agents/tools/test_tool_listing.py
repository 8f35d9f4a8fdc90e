"""The list of tools as every client has to read it: short, and with errors that reach each of them."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import mcp_types as types

from product_server import product_client
from tool_results import sentence_of

# Tokens of the list of 23 tools: 600 for arguments of tiny models, 100 for those of pictures, 170 for cards.
MOST_TOKENS = 11100
CHARACTERS_A_TOKEN = 4
# Tools that change something: whether they only read, destroy, and may be called again.
CHANGING = {
    **dict.fromkeys(("submit_job", "run_search", "run_tune_per_shot"), (False, False, False)),
    "cancel_job": (False, True, True),
}


async def listed(data: Path) -> types.ListToolsResult:
    async with product_client(data) as client:
        return await client.list_tools()


async def test_the_list_of_tools_is_short(tmp_path: Path) -> None:
    sent = (await listed(tmp_path)).model_dump(by_alias=True, mode="json", exclude_none=True)
    text = json.dumps(sent, separators=(",", ":"), ensure_ascii=False)
    assert len(text) <= MOST_TOKENS * CHARACTERS_A_TOKEN, {
        tool["name"]: len(json.dumps(tool, separators=(",", ":"))) for tool in sent["tools"]
    }


async def test_every_schema_is_one_and_every_argument_is_explained(tmp_path: Path) -> None:
    for tool in (await listed(tmp_path)).tools:
        assert tool.output_schema is not None
        for schema in (tool.input_schema, tool.output_schema):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
        assert tool.output_schema["required"]
        assert tool.title
        assert len(tool.description) > 60  # it teaches
        assert tool.input_schema["additionalProperties"] is False
        told = tool.annotations
        hints = told.read_only_hint, told.destructive_hint, told.idempotent_hint
        assert hints == CHANGING.get(tool.name, (True, False, None)), tool.name
        assert told.open_world_hint is False
        for name, argument in tool.input_schema["properties"].items():
            assert argument.get("description"), (tool.name, name)
            assert argument.get("type") != "array" or argument.get("maxItems", 99) <= 64, (tool.name, name)


async def test_no_error_has_structured_content(tmp_path: Path) -> None:
    """Clients check structured content against the tool's output schema, errors or not."""
    async with product_client(tmp_path) as client:
        for tool in (await client.list_tools()).tools:
            name = tool.name
            sentence = sentence_of(await client.call_tool(name, {"no_such_argument": 1}))
            assert sentence.startswith((f"tool '{name}' has no argument", f"tool '{name}' missing required"))
