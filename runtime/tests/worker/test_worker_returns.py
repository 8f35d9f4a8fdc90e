"""What tools return: output schemas of annotations, results that are held to them, content and hints."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import mcp_types as types
import pytest
from pydantic import BaseModel

from longwire.worker import App
from longwire.worker.answers import returns_of
from worker_ground import Answer, Client, served


@dataclass
class Sum:
    total: int


class Named(TypedDict):
    name: str
    age: NotRequired[int]


class Tree(BaseModel):
    children: list[Tree] = []


def as_sum() -> Sum: ...  # type: ignore[empty-body]


def as_named() -> Named: ...  # type: ignore[empty-body]


def as_tree() -> Tree: ...  # type: ignore[empty-body]


def as_counts() -> dict[str, int]: ...  # type: ignore[empty-body]


def as_number() -> int: ...  # type: ignore[empty-body]


def as_trees() -> list[Tree]: ...  # type: ignore[empty-body]


def as_text() -> str: ...  # type: ignore[empty-body]


def as_words() -> str | None: ...


def as_anything() -> Any: ...


def as_picture() -> list[str | types.ImageContent]: ...  # type: ignore[empty-body]


def as_result() -> types.CallToolResult: ...  # type: ignore[empty-body]


def as_unknown(): ...  # type: ignore[no-untyped-def]


@pytest.mark.parametrize(
    ("function", "schema"),
    [
        (as_sum, {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}),
        (
            as_named,
            {
                "type": "object",
                "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
                "required": ["name"],
            },
        ),
        (as_counts, {"type": "object", "additionalProperties": {"type": "integer"}}),
        (
            as_number,
            {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]},
        ),
        *((free, None) for free in (as_text, as_words, as_anything, as_picture, as_result, as_unknown)),
    ],
)
def test_an_annotation_is_the_output_schema(
    function: Callable[[], Any], schema: dict[str, Any] | None
) -> None:
    assert returns_of(function, None).schema == schema


def test_schemas_of_types_that_hold_themselves_stay_whole() -> None:
    tree, trees = returns_of(as_tree, None), returns_of(as_trees, None)
    assert tree.schema is not None
    assert trees.schema is not None
    assert (tree.schema["type"], tree.wraps, trees.wraps) == ("object", False, True)
    assert "Tree" in tree.schema["$defs"]
    assert "Tree" in trees.schema["$defs"]
    tree.answer("it", Tree(children=[Tree()]))
    trees.answer("it", [Tree(children=[Tree()])])


def giving(hint: Any, value: Any) -> App:
    """An App whose tool `give` says that it returns the one, and returns the other."""
    app = App("mine", "1")

    def give() -> Any:
        return value

    give.__annotations__["return"] = hint
    app.tool()(give)
    return app


def _called(tmp_path: Path, app: App, tool: str, arguments: dict[str, Any] | None = None) -> Answer:
    async def told() -> Answer:
        async with asyncio.timeout(60), served(app, tmp_path / "w.sock") as runtime:
            return await runtime.tool(tool, arguments or {})

    return asyncio.run(told())


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
def test_values_are_text_and_documents(
    tmp_path: Path, hint: Any, value: Any, text: str, document: dict[str, Any] | None
) -> None:
    found = _called(tmp_path, giving(hint, value), "give").result
    assert found["content"] == [{"type": "text", "text": text}]
    assert found.get("structuredContent") == document
    assert not found.get("isError")


@pytest.mark.parametrize(
    ("hint", "value", "sentence"),
    [
        (Sum, {"total": "three"}, "tool 'give' returned a value that doesn't fit its output schema: 'total'"),
        (int, "x", "doesn't fit its output schema: 'result'"),
        (Sum, None, "doesn't fit its output schema"),
        (str, "half \ud800", "text that UTF-8 can't hold"),
        (Any, {"a": "half \ud800"}, "which JSON can't hold"),
        (Any, object(), "which JSON can't hold"),
        (Any, [types.TextContent(type="text", text="a"), 3], "content and other values in one list"),
    ],
)
def test_a_value_that_does_not_fit_is_the_author_s_fault(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, hint: Any, value: Any, sentence: str
) -> None:
    with caplog.at_level(logging.ERROR):
        found = _called(tmp_path, giving(hint, value), "give").result
    assert found["isError"]
    assert sentence in found["content"][0]["text"]
    (record,) = [one for one in caplog.records if one.levelno == logging.ERROR]
    assert "tool 'give'" in record.getMessage()
    assert sentence in record.getMessage()


def test_a_given_output_schema_is_held_too(tmp_path: Path) -> None:
    app = App("mine", "1")
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}

    @app.tool(output_schema=schema)
    def give(right: bool) -> Any:
        return {"a": 1} if right else {"b": 1}

    assert _called(tmp_path, app, "give", {"right": True}).result["structuredContent"] == {"a": 1}
    assert _called(tmp_path, app, "give", {"right": False}).result["isError"]


def test_texts_and_content_make_one_answer(tmp_path: Path) -> None:
    app = App("mine", "1")

    @app.tool
    def show() -> list[Any]:
        return ["caption", types.ImageContent(type="image", data="AAAA", mime_type="image/png")]

    found = _called(tmp_path, app, "show").result
    assert [block["type"] for block in found["content"]] == ["text", "image"]


async def test_clients_are_told_nothing_about_a_tool_that_its_author_has_not_said(tmp_path: Path) -> None:
    app = App("mine", "1")

    @app.tool
    def bare() -> None: ...

    @app.tool(read_only=False, destructive=True, open_world=True)
    def drop() -> None:
        """Drops it."""

    @app.prompt
    def words() -> str:
        return "words"

    async def tell(runtime: Client) -> None:
        listed = (await runtime.call("tools/list")).result["tools"]
        tools = {tool["name"]: tool for tool in listed}
        assert "description" not in tools["bare"]
        assert not [name for name in tools["bare"].get("annotations", {}) if name.endswith("Hint")]
        hints = {key: value for key, value in tools["drop"]["annotations"].items() if key.endswith("Hint")}
        assert hints == {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True}

    async with asyncio.timeout(20), served(app, tmp_path / "w.sock") as runtime:
        await tell(runtime)
    assert [prompt.name for prompt in app.catalog().prompts] == ["words"]
