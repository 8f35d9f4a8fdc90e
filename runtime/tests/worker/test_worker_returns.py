"""What tools return: output schemas of annotations, results that are held to them, content and hints."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

import mcp_types as types
import pytest
from pydantic import BaseModel

from longwire.worker import App
from longwire.worker.answers import returns_of
from worker_ground import served

INTEGER = {"type": "integer"}


@dataclass
class Sum:
    total: int


class Named(TypedDict):
    name: str
    age: NotRequired[int]


class Tree(BaseModel):
    children: list[Tree] = []


def giver(hint: Any, value: Any = None) -> Callable[[], Any]:
    """A handler that says that it returns the one, and returns the other."""

    def give() -> Any:
        return value

    give.__annotations__["return"] = hint
    return give


@pytest.mark.parametrize(
    ("function", "schema"),
    [
        (giver(Sum), {"type": "object", "properties": {"total": INTEGER}, "required": ["total"]}),
        (
            giver(Named),
            {
                "type": "object",
                "properties": {"name": {"type": "string"}, "age": INTEGER},
                "required": ["name"],
            },
        ),
        (giver(dict[str, int]), {"type": "object", "additionalProperties": INTEGER}),
        (giver(int), {"type": "object", "properties": {"result": INTEGER}, "required": ["result"]}),
        *((giver(free), None) for free in (str, str | None, Any, list[str | types.ImageContent])),
        (giver(types.CallToolResult), None),
        (lambda: None, None),
    ],
)
def test_an_annotation_is_the_output_schema(
    function: Callable[[], Any], schema: dict[str, Any] | None
) -> None:
    assert returns_of(function, None).schema == schema


def test_schemas_of_types_that_hold_themselves_stay_whole() -> None:
    tree, trees = returns_of(giver(Tree), None), returns_of(giver(list[Tree]), None)
    assert tree.schema is not None
    assert trees.schema is not None
    assert (tree.schema["type"], tree.wraps, trees.wraps) == ("object", False, True)
    assert "Tree" in tree.schema["$defs"]
    assert "Tree" in trees.schema["$defs"]
    tree.answer("it", Tree(children=[Tree()]))
    trees.answer("it", [Tree(children=[Tree()])])


async def given(tool: Callable[[], Any]) -> dict[str, Any]:
    """The result of a call of an App's only tool."""
    app = App("mine", "1")
    app.tool("give")(tool)
    async with served(app) as runtime:
        return (await runtime.tool("give")).result


@pytest.mark.parametrize(
    ("hint", "value", "text", "document"),
    [
        (int, 42, "42", {"result": 42}),
        (list[int], [], "[]", {"result": []}),
        (int | None, None, "null", {"result": None}),
        (int | str, "words", "words", {"result": "words"}),
        (str, "words", "words", None),
        (Any, True, "true", {"result": True}),
        (Sum, Sum(3), '{\n  "total": 3\n}', {"total": 3}),
    ],
)
async def test_values_are_text_and_documents(
    hint: Any, value: Any, text: str, document: dict[str, Any] | None
) -> None:
    found = await given(giver(hint, value))
    assert found["content"] == [{"type": "text", "text": text}]
    assert found.get("structuredContent") == document
    assert not found.get("isError")


@pytest.mark.parametrize(
    ("hint", "value", "sentence"),
    [
        (Sum, {"total": "three"}, "tool 'give' returned a value that doesn't fit its output schema: 'total'"),
        (Sum, {"total": [3]}, "doesn't fit its output schema: 'total': [3] is not of type 'integer'"),
        (int, "x", "doesn't fit its output schema: 'result'"),
        (Sum, None, "doesn't fit its output schema"),
        (str, "half \ud800", "text that UTF-8 can't hold"),
        (Any, {"a": "half \ud800"}, "which JSON can't hold"),
        (Any, object(), "which JSON can't hold"),
        (Any, [types.TextContent(type="text", text="a"), 3], "content and other values in one list"),
    ],
)
async def test_a_value_that_does_not_fit_is_the_author_s_fault(
    caplog: pytest.LogCaptureFixture, hint: Any, value: Any, sentence: str
) -> None:
    found = await given(giver(hint, value))
    assert found["isError"]
    assert sentence in found["content"][0]["text"]
    (record,) = [one for one in caplog.records if one.levelno == logging.ERROR]
    assert "tool 'give'" in record.getMessage()
    assert sentence in record.getMessage()


async def test_a_given_output_schema_is_held_too() -> None:
    app = App("mine", "1")
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}

    @app.tool(output_schema=schema)
    def give(right: bool) -> Any:
        return {"a": 1} if right else {"b": 1}

    async with served(app) as runtime:
        assert (await runtime.tool("give", {"right": True})).result["structuredContent"] == {"a": 1}
        assert (await runtime.tool("give", {"right": False})).result["isError"]


async def test_texts_and_content_make_one_answer() -> None:
    picture = types.ImageContent(type="image", data="AAAA", mime_type="image/png")
    found = await given(giver(list[Any], ["caption", picture]))
    assert [block["type"] for block in found["content"]] == ["text", "image"]


async def test_clients_are_told_nothing_about_a_tool_that_its_author_has_not_said() -> None:
    app = App("mine", "1")

    @app.tool
    def bare() -> None: ...

    @app.tool(read_only=False, destructive=True, open_world=True)
    def drop() -> None:
        """Drops it."""

    @app.prompt
    def words() -> str:
        return "words"

    async with served(app) as runtime:
        tools = {tool["name"]: tool for tool in (await runtime.call("tools/list")).result["tools"]}
    assert "description" not in tools["bare"]
    assert not [name for name in tools["bare"].get("annotations", {}) if name.endswith("Hint")]
    hints = {key: value for key, value in tools["drop"]["annotations"].items() if key.endswith("Hint")}
    assert hints == {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True}
    assert [prompt.name for prompt in app.catalog().prompts] == ["words"]
