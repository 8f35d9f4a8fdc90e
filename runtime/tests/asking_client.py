"""A client that can be asked: a person who fills in forms, a model that answers, and roots."""

from __future__ import annotations

from typing import Any, Final

import mcp_types as types

from longwire.product.catalog import Answer, Call

NAME: Final = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
AGE: Final = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}, "required": ["age"]}


class Person:
    """The client's side: fills in forms, answers as a model, and has roots."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {"name": "Ada", "age": 36, **answers}
        self.asked: list[str] = []
        self.action: Any = "accept"

    @property
    def callbacks(self) -> dict[str, Any]:
        """What the official client is given."""
        return {
            "elicitation_callback": self.fill_in,
            "sampling_callback": self.speak,
            "list_roots_callback": self.folders,
        }

    async def fill_in(
        self, _: Any, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        self.asked.append(params.message)
        if isinstance(params, types.ElicitRequestURLParams):
            return types.ElicitResult(action="accept")
        content = {key: self.answers[key] for key in params.requested_schema["properties"]}
        return types.ElicitResult(action=self.action, content=content if self.action == "accept" else None)

    async def speak(self, _: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        words = params.messages[0].content_as_list[0]
        assert isinstance(words, types.TextContent)
        self.asked.append(f"{words.text}|{params.system_prompt}|{params.max_tokens}")
        said = types.TextContent(type="text", text=f"about {words.text}")
        return types.CreateMessageResult(role="assistant", content=said, model="m")

    async def folders(self, _: Any) -> types.ListRootsResult:
        self.asked.append("roots")
        return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///videos"}]})


async def interview(call: Call) -> Answer:
    """A handler that asks four questions of all kinds."""
    name = await call.elicit("Your name?", NAME)
    assert name.content is not None
    age = await call.elicit(f"And your age, {name.content['name']}?", AGE)
    assert age.content is not None
    told = await call.sample("Ada", max_tokens=128, system_prompt="Be brief")
    assert isinstance(told.content, types.TextContent)
    roots = await call.roots()
    return {**name.content, **age.content, "told": told.content.text, "roots": [str(r.uri) for r in roots]}


# What the handler answers, and what it asked for.
TOLD: Final = {"name": "Ada", "age": 36, "told": "about Ada", "roots": ["file:///videos"]}
ASKED: Final = ["Your name?", "And your age, Ada?", "Ada|Be brief|128", "roots"]
