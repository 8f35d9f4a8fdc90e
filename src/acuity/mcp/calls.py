"""One call of a tool: its arguments are checked first, and what goes wrong becomes an answer."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import mcp_types as types
from mcp.shared.exceptions import MCPError

from acuity.errors import AcuityError
from acuity.mcp.arguments import ArgumentError, check
from acuity.mcp.catalog import Call, Context, Tool
from acuity.mcp.clients import client_of
from acuity.mcp.results import answer, failure

logger: Final = logging.getLogger(__name__)

_Other = TypeVar("_Other")


async def perform(
    tool: Tool,
    work: Callable[[Call], Awaitable[dict[str, object] | _Other]],
    context: Context,
    params: types.CallToolRequestParams,
) -> types.CallToolResult | _Other:
    """What the work makes of the call; a document becomes a result, an error a failed one."""
    try:
        call = Call(tool, check(tool, params.arguments), client_of(context), context, params)
        found = await work(call)
    except (AcuityError, ArgumentError) as error:
        return failure(str(error))
    except MCPError:
        raise  # the protocol's own errors, such as a capability that the client lacks
    except Exception:
        logger.exception("tool '%s' failed", tool.name)
        return failure(f"'{tool.name}' failed in a way it should not; the server's log says more")
    return answer(found) if isinstance(found, dict) else found
