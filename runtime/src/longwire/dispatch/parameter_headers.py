"""Headers that repeat a tool's arguments, `Mcp-Param-…`: whether they agree with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mcp.server.lowlevel import Server
from mcp.shared.inbound import InboundLadderRejection, validate_mcp_param_headers, x_mcp_header_map

from longwire.product.app import CatalogServer

_PARAMETER: Final = "mcp-param-"


class ParameterHeaders:
    """The check for one server, whose tools say in their schemas which arguments have headers."""

    def __init__(self, server: Server[Any]) -> None:
        self._server = server
        self._annotated = _annotated(server)

    def problem(self, params: Mapping[str, Any], headers: Mapping[str, str]) -> InboundLadderRejection | None:
        """What is wrong with the headers of a call of a tool, as the SDK says it."""
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str) or (self._annotated is not None and name not in self._annotated):
            return None
        if arguments is not None and not isinstance(arguments, Mapping):
            return None
        if not arguments and not any(header.startswith(_PARAMETER) for header in headers):
            return None
        find = self._server.get_tool_input_schema
        schema = find(name) if find is not None else None
        return None if schema is None else validate_mcp_param_headers(schema, arguments or {}, headers)


def _annotated(server: Server[Any]) -> frozenset[str] | None:
    """The tools that have headers for some of their arguments; None: not known."""
    if not isinstance(server, CatalogServer):
        return None
    return frozenset(tool.name for tool in server.catalog.tools if x_mcp_header_map(tool.input_schema))
