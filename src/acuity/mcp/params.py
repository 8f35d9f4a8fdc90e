"""Parameters of requests that the protocol can't take: one sentence says which, and what is wrong with it."""

from __future__ import annotations

from typing import Any, Final

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

# What pydantic calls the problems that clients really have; others are invalid.
_PROBLEMS: Final = {
    "missing": "is missing",
    "string_type": "should be a string",
    "dict_type": "should be an object",
    "model_type": "should be an object",
    "list_type": "should be an array",
    "int_type": "should be an integer",
    "bool_type": "should be true or false",
}
_SHOWN: Final = 100  # characters of a parameter's place


class NamesBadParams(ServerMiddleware[Any]):
    """Middleware for SDK servers, whose own answer is "Invalid request parameters" and nothing else.

    Only the place and the kind of the problem are told: what pydantic says repeats the client's input.
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
    return f"'{place[:_SHOWN]}' {_PROBLEMS.get(first['type'], 'is invalid')}"
