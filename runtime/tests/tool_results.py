"""Reads tool results, and checks the rules for all results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import jsonschema
import mcp_types as types


def document_of(result: Any) -> dict[str, Any]:
    """The document of a result: the same as text and structured, or the error of a failed call.

    An error has no structured content: clients check that against the tool's output schema.
    """
    (content,) = result.content
    document = json.loads(content.text)
    if result.is_error:
        assert list(document) == ["error"]
        assert result.structured_content is None
    else:
        assert document == result.structured_content
    assert isinstance(document, dict)
    return document


def text_of(result: types.CallToolResult) -> str:
    """The only content of a result, which is text."""
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


def sentence_of(result: Any) -> str:
    """The sentence of a failed call."""
    assert result.is_error, result
    sentence = document_of(result)["error"]
    assert isinstance(sentence, str)
    assert "\n" not in sentence
    return sentence


def conforming(result: Any, tool: types.Tool) -> dict[str, Any]:
    """The document of a result, which is what the tool's output schema says unless the call failed."""
    document = document_of(result)
    if not result.is_error:
        assert tool.output_schema is not None
        jsonschema.validate(document, tool.output_schema, jsonschema.Draft202012Validator)
    return document


def wire_sentence(result: Mapping[str, Any]) -> str:
    """The sentence of a failed call, from the result as it came over the wire."""
    assert result["isError"]
    assert "structuredContent" not in result
    (content,) = result["content"]
    sentence = json.loads(content["text"])["error"]
    assert isinstance(sentence, str)
    return sentence
