"""Runs one call of a tool: checks parameters and arguments, and turns errors into failed results.

A refused request gets one sentence, which says what is wrong with which parameter.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final, TypeVar

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from longwire.names import expected_errors, own_names
from longwire.principals.limits import client_of
from longwire.product.asking import AskingRules, InputNeeded, Questions
from longwire.product.catalog import Arguments, Call, Context, Tool
from longwire.product.results import failure
from longwire.product.schema_checks import schema_check

# Sentences for pydantic's commonest error types; for all others "is invalid".
_PROBLEMS: Final = {
    "missing": "is missing",
    "string_type": "should be a string",
    "dict_type": "should be an object",
    "model_type": "should be an object",
    "list_type": "should be an array",
    "int_type": "should be an integer",
    "bool_type": "should be true or false",
}
_SHOWN_PARAMS: Final = 100  # characters of a parameter's place


class NamesBadParams(ServerMiddleware[Any]):
    """Middleware that names the bad parameter, where the SDK only answers "Invalid request parameters".

    It gives the place and the kind of the problem, but not pydantic's message, which repeats the input.
    """

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        try:
            return await call_next(ctx)
        except ValidationError as error:
            sentence = f"invalid request parameters of {ctx.method}: {_problem(error)}"
            raise MCPError(types.INVALID_PARAMS, sentence) from error


def _problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    if place != "params" and not place.startswith("params."):
        place = f"params.{place}" if place else "params"
    return f"'{place[:_SHOWN_PARAMS]}' {_PROBLEMS.get(first['type'], 'is invalid')}"


MAX_DEPTH: Final = 50
_NESTING: Final = (dict, list)  # what JSON has inside each other
_SHOWN: Final = 80  # characters of a bad value that are repeated
_SHOWN_BITS: Final = 333  # of an integer whose digits are; to tell those of a longer one takes long


class ArgumentError(ValueError):
    """The arguments of a call don't fit the tool's schema."""


def check(tool: Tool, given: Mapping[str, Any] | None) -> Arguments:
    """The arguments with defaults filled in; raises ArgumentError."""
    arguments, schema = Arguments(given), schema_check(tool.input_schema)
    if not schema.is_surely_right(arguments):
        if deeper_than(arguments, MAX_DEPTH):
            raise ArgumentError(f"the arguments of '{tool.name}' are nested deeper than {MAX_DEPTH} levels")
        if tool.accept is not None:
            arguments = Arguments(tool.accept(arguments))
        error = next(schema.errors(arguments), None)
        if error is not None:
            raise ArgumentError(_sentence(tool, error))
    schema.fill_in(arguments)
    return arguments


def deeper_than(value: Any, limit: int) -> bool:
    """Whether lists and objects are nested deeper than the limit; looks at each of them once."""
    level = [value]
    for _ in range(limit + 1):
        level = [part for part in level if isinstance(part, _NESTING)]
        if not level:
            return False
        level = [item for part in level for item in (part.values() if isinstance(part, dict) else part)]
    return True


def _sentence(tool: Tool, error: Any) -> str:  # a ValidationError, whose stubs are incomplete
    path = ".".join(str(part) for part in error.absolute_path)
    if not path and error.validator in ("required", "additionalProperties"):
        return _wrong_names(tool, error.instance)
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in error.instance)
        return f"tool '{tool.name}' missing required argument: '{missing}'"
    if (refusal := tool.refusals.get(path)) is not None:
        return refusal(error.instance)
    explain = _REASONS.get(error.validator)
    reason = explain(error) if explain is not None else error.message
    return f"invalid {path or 'arguments'} {shown(error.instance)}: {reason}"


def _wrong_names(tool: Tool, given: Mapping[str, Any]) -> str:
    """The sentence about missing and unknown arguments, together."""
    known = tool.input_schema.get("properties", {})
    missing = [name for name in tool.input_schema.get("required", ()) if name not in given]
    unknown = [name for name in given if name not in known]
    if tool.input_schema.get("additionalProperties", True) is not False:
        unknown = []
    parts = []
    if missing:
        parts.append(f"missing required argument: {', '.join(map(repr, missing))}")  # the reference's words
    if unknown:
        near = get_close_matches(unknown[0][:_SHOWN], [*missing, *known], 1)
        hint = f" (did you mean '{near[0]}'?)" if near else ""
        parts.append(f"has no argument {shown(unknown[0])}{hint}; it takes: {', '.join(known) or 'none'}")
    return f"tool '{tool.name}' {', and it '.join(parts)}"


def shown(value: Any) -> str:
    """A client's value in JSON's spelling, shortened; text is in single quotes, as in all our sentences.

    No more of it is looked at than is shown.
    """
    if isinstance(value, str):
        text = f"'{value[: _SHOWN + 1]}'"
    elif isinstance(value, float) and math.isinf(value):
        return "(a number too large for a double)"
    else:
        text = ""
        for piece in _spelled(value):
            text += piece
            if len(text) > _SHOWN:
                break
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _spelled(value: Any) -> Iterator[str]:
    """A value in JSON's spelling, piece by piece."""
    if isinstance(value, dict):
        yield "{"
        for number, (name, item) in enumerate(value.items()):
            yield f"{', ' if number else ''}{json.dumps(name[:_SHOWN], ensure_ascii=False)}: "
            yield from _spelled(item)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for number, item in enumerate(value):
            if number:
                yield ", "
            yield from _spelled(item)
        yield "]"
    elif isinstance(value, int) and value.bit_length() > _SHOWN_BITS:
        yield "(an integer of more than 100 digits)"
    else:
        yield json.dumps(value[:_SHOWN] if isinstance(value, str) else value, ensure_ascii=False)


def _types(wanted: str | list[str]) -> str:
    return wanted if isinstance(wanted, str) else " or ".join(wanted)


_REASONS: Final[dict[str, Callable[[Any], str]]] = {
    "type": lambda error: f"should be of type {_types(error.validator_value)}",
    "enum": lambda error: f"use one of {', '.join(shown(value) for value in error.validator_value)}",
    "minimum": lambda error: f"should be {error.validator_value} or more",
    "maximum": lambda error: f"should be {error.validator_value} or less",
    "minLength": lambda error: "should not be empty",
    "maxLength": lambda error: f"should be at most {error.validator_value} characters",
    "maxItems": lambda error: f"should have at most {error.validator_value} entries",
    "minItems": lambda error: f"should have at least {error.validator_value} entries",
}


logger: Final = logging.getLogger(__name__)

_RULES: Final = AskingRules()
_Other = TypeVar("_Other")


async def perform(
    tool: Tool,
    work: Callable[[Call], Awaitable[dict[str, object] | _Other] | dict[str, object] | _Other],
    context: Context,
    params: types.CallToolRequestParams,
    asking: AskingRules = _RULES,
    failed: Callable[[str], types.CallToolResult] = failure,
) -> dict[str, object] | types.CallToolResult | types.InputRequiredResult | _Other:
    """Check the arguments and do the work; an error becomes a failed result."""
    questions = Questions(asking, context, params)
    try:
        call = Call(tool, check(tool, params.arguments), client_of(context), context, params, questions)
        begun = work(call)
        return begun if isinstance(begun, dict) or not isinstance(begun, Awaitable) else await begun
    except InputNeeded:
        return questions.result()
    except expected_errors() as error:
        return failed(own_names().sentence(error, tool.name))
    except ArgumentError as error:
        return failed(str(error))
    except MCPError:
        raise  # the protocol's own errors, such as a capability that the client lacks
    except Exception:
        logger.exception("tool '%s' failed", tool.name)
        return failed(f"'{tool.name}' failed in a way it should not; the server's log says more")
    except BaseExceptionGroup as group:  # of tasks that a handler started
        if group.subgroup(InputNeeded) is None:
            raise
        return questions.result()
