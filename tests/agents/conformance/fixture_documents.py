"""Resources, prompts and completions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

import mcp_types as types
from mcp_types import PromptMessage, TextContent

from fixture_content import embedded, picture, png
from longwire.product.catalog import Context, Method, Prompt

_TEXT: Final = "test://static-text"
_BINARY: Final = "test://static-binary"
_WATCHED: Final = "test://watched-resource"


class FixtureResources:
    async def list(self) -> Sequence[types.Resource]:
        return [
            types.Resource(uri=_TEXT, name="text", description="Some words.", mime_type="text/plain"),
            types.Resource(uri=_BINARY, name="binary", description="A pixel.", mime_type="image/png"),
            types.Resource(uri=_WATCHED, name="watched", description="May change.", mime_type="text/plain"),
        ]

    def templates(self) -> Sequence[types.ResourceTemplate]:
        return [
            types.ResourceTemplate(
                uri_template="test://template/{id}/data",
                name="template",
                description="Whatever belongs to an id.",
                mime_type="application/json",
            )
        ]

    async def read(self, uri: str) -> types.ReadResourceResult | None:
        content: types.TextResourceContents | types.BlobResourceContents
        if uri == _BINARY:
            content = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=png())
        elif uri in (_TEXT, _WATCHED):
            words = "This is the content of the static text resource."
            content = types.TextResourceContents(uri=uri, mime_type="text/plain", text=words)
        elif uri.startswith("test://template/") and uri.endswith("/data"):
            document = {"id": uri.split("/")[3], "templateTest": True}
            content = types.TextResourceContents(
                uri=uri, mime_type="application/json", text=json.dumps(document)
            )
        else:
            return None
        return types.ReadResourceResult(contents=[content])


def prompts() -> list[Prompt]:
    return [
        _prompt("test_simple_prompt", _simple),
        _prompt("test_prompt_with_arguments", _with_arguments, "arg1", "arg2"),
        _prompt("test_prompt_with_embedded_resource", _with_resource, "resourceUri"),
        _prompt("test_prompt_with_image", _with_image),
    ]


def legacy_methods() -> list[Method]:
    """What the handshake era has and the stateless one dropped."""

    async def accept(_: Context, __: object) -> types.EmptyResult:
        return types.EmptyResult()

    return [
        Method("logging/setLevel", types.SetLevelRequestParams, accept),
        Method("resources/subscribe", types.SubscribeRequestParams, accept),
        Method("resources/unsubscribe", types.UnsubscribeRequestParams, accept),
    ]


async def complete(params: types.CompleteRequestParams) -> Sequence[str]:
    return [word for word in ("testing", "tested", "paris") if word.startswith(params.argument.value)]


def _prompt(name: str, make: object, *arguments: str) -> Prompt:
    async def render(params: types.GetPromptRequestParams, _: Context) -> types.GetPromptResult:
        return types.GetPromptResult(messages=make(params.arguments or {}))

    return Prompt(
        name=name,
        title=name.replace("_", " "),
        description="A fixture of the conformance suite.",
        render=render,
        arguments=[types.PromptArgument(name=argument, required=True) for argument in arguments],
    )


def _words(text: str) -> PromptMessage:
    return PromptMessage(role="user", content=TextContent(type="text", text=text))


def _simple(_: dict[str, str]) -> list[PromptMessage]:
    return [_words("This is a simple prompt for testing.")]


def _with_arguments(given: dict[str, str]) -> list[PromptMessage]:
    return [_words(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")]


def _with_resource(given: dict[str, str]) -> list[PromptMessage]:
    resource = embedded(given["resourceUri"], "Embedded resource content for testing.")
    return [PromptMessage(role="user", content=resource), _words("Please process the resource above.")]


def _with_image(_: dict[str, str]) -> list[PromptMessage]:
    return [PromptMessage(role="user", content=picture()), _words("Please analyze the image above.")]
