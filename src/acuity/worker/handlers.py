"""Records of the catalog, made of an author's functions."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import mcp_types as types
from pydantic import ConfigDict

from acuity.errors import SettingsError
from acuity.mcp.catalog import Answer, Call, Context, Handler, Method, Prompt, Tool
from acuity.mcp.wire.http.request import SessionState
from acuity.worker.answers import method_answer, prompt_answer, tool_answer
from acuity.worker.current import CALL, LEVELS, LOG_LEVEL, session_state
from acuity.worker.signatures import Function, Signature, given_signature, parameters_of, signature_of

# Methods that the protocol or the App itself answers.
_TAKEN: Final = frozenset(
    {
        "initialize",
        "ping",
        "server/discover",
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "prompts/list",
        "prompts/get",
    }
)


def name_of(function: Function, given: str | None) -> str:
    """The name that a handler is offered by."""
    name = given or getattr(function, "__name__", "")
    if not name or name == "<lambda>":
        raise SettingsError("a handler has no name of its own: give one, as in name='echo'")
    return name


def words_of(function: Function, given: str | None) -> str:
    """What a handler does, in its author's words: those given, or its docstring."""
    return given if given is not None else (inspect.getdoc(function) or "")


class Hints(NamedTuple):
    """What clients may think about calling a tool."""

    read_only: bool
    destructive: bool
    idempotent: bool


def tool_of(
    function: Function,
    *,
    name: str | None,
    title: str | None,
    description: str | None,
    schema: Mapping[str, Any] | None,
    output_schema: Mapping[str, Any] | None,
    thread: bool,
    hints: Hints,
) -> Tool:
    """A tool; raises SettingsError."""
    called = name_of(function, name)
    signature = signature_of(function) if schema is None else given_signature(function, schema)
    return Tool(
        called,
        title or called.replace("_", " ").capitalize(),
        words_of(function, description),
        signature.schema,
        _runner(function, signature, thread),
        output_schema=None if output_schema is None else dict(output_schema),
        read_only=hints.read_only,
        destructive=hints.destructive,
        idempotent=hints.idempotent,
    )


def _runner(function: Function, signature: Signature, thread: bool) -> Handler:
    convert = signature.convert

    def arguments(call: Call) -> Mapping[str, Any]:
        CALL.set(call)
        return call.arguments if convert is None else convert(call.arguments)

    def in_place(call: Call) -> Answer:
        return tool_answer(function(**arguments(call)))

    async def in_task(call: Call) -> Answer:
        return tool_answer(await function(**arguments(call)))

    async def in_thread(call: Call) -> Answer:
        return tool_answer(await asyncio.to_thread(function, **arguments(call)))

    if inspect.iscoroutinefunction(function):
        if thread:
            raise SettingsError("an async function runs on the event loop: leave out thread=True")
        return in_task
    return in_thread if thread else in_place


def prompt_of(function: Function, *, name: str | None, title: str | None, description: str | None) -> Prompt:
    """A prompt, whose arguments are texts; raises SettingsError."""
    called, words = name_of(function, name), words_of(function, description)
    parameters = parameters_of(function)
    known = {parameter.name for parameter in parameters}

    async def render(params: types.GetPromptRequestParams, _: Context) -> types.GetPromptResult:
        given = {key: value for key, value in (params.arguments or {}).items() if key in known}
        found = function(**given)
        if inspect.isawaitable(found):
            found = await found
        return prompt_answer(words, found)

    arguments = [types.PromptArgument(name=one.name, required=one.required) for one in parameters]
    return Prompt(called, title or called.replace("_", " ").capitalize(), words, render, arguments)


class OwnParams(types.RequestParams):
    """The params of a method of one's own: whatever the client sends."""

    model_config = ConfigDict(extra="allow")


def method_of(name: str, function: Function) -> Method:
    """A method of one's own; its handler is given the params as a dict. Raises SettingsError."""
    if name in _TAKEN:
        raise SettingsError(f"'{name}' is answered already: use tool(), resource() or prompt() for it")

    async def handler(_: Context, params: OwnParams) -> Any:
        given = params.model_dump(by_alias=True, mode="json", exclude_unset=True)
        given.pop("_meta", None)
        found = function(given)
        if inspect.isawaitable(found):
            found = await found
        return method_answer(found)

    return Method(name, OwnParams, handler)


async def _set_level(context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    session: SessionState | None = session_state(context)
    if session is not None and params.level in LEVELS:
        session.set_state(LOG_LEVEL, params.level)
    return types.EmptyResult()


SET_LEVEL: Final = Method("logging/setLevel", types.SetLevelRequestParams, _set_level)
