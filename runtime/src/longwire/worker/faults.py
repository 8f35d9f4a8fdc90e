"""Failures of handlers: sentences for clients, and mistakes of the author, which are logged too."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeVar

import mcp_types as types
from mcp.shared.exceptions import MCPError

from longwire.errors import LongwireError, ToolError
from longwire.text import one_line

logger: Final = logging.getLogger(__name__)

_Result = TypeVar("_Result")


class HandlerFault(ToolError):
    """A mistake of the handler, not of its client: its sentence is for the log too."""


def failed(sentence: str) -> types.CallToolResult:
    """The result of a failed call: its text is the sentence itself."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=sentence)], is_error=True)


def left(what: str) -> HandlerFault:
    """The fault of a handler that wanted to end the process, in which other calls run."""
    return HandlerFault(f"{what} called exit(), which is not for handlers: raise ToolError instead")


async def answered(what: str, run: Callable[[], Any], convert: Callable[[Any], _Result]) -> _Result:
    """The converted result of a handler of a resource, prompt or method; raises MCPError with a sentence."""
    try:
        found = run()
        return convert(await found if inspect.isawaitable(found) else found)
    except MCPError:
        raise  # as the author wants it: with its own code
    except SystemExit:
        _fail(what, left(what))
    except LongwireError as error:
        _fail(what, error)
    except Exception:
        logger.exception("%s failed", what)
        sentence = f"{what} failed in a way it should not; the worker's log says more"
        raise MCPError(types.INTERNAL_ERROR, sentence) from None


def log_fault(what: str, error: Exception) -> None:
    """Write a mistake of the author to the log."""
    if isinstance(error, HandlerFault):
        said = str(error)
        logger.error("%s", said if said.startswith(what) else f"{what}: {said}")


def _fail(what: str, error: Exception) -> NoReturn:
    log_fault(what, error)
    raise MCPError(types.INTERNAL_ERROR, one_line(str(error))) from None
