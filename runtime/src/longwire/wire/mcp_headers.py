"""Checks of the headers of Streamable HTTP: what is doubled, what the client takes, which era it speaks,
whether those that repeat a tool's arguments (`Mcp-Param-…`) agree with them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from mcp.server.lowlevel import Server
from mcp.server.streamable_http import LAST_EVENT_ID_HEADER, MCP_SESSION_ID_HEADER
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    InboundLadderRejection,
    validate_mcp_param_headers,
    x_mcp_header_map,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS, is_version_at_least

from longwire.product.app import CatalogServer

_PARAMETER: Final = "mcp-param-"


class ParameterHeaders:
    """The check for one server, whose tools say in their schemas which arguments have headers."""

    def __init__(self, server: Server[Any]) -> None:
        self._server = server
        self._annotated: frozenset[str] | None = None  # tools that have headers for arguments, where known
        if isinstance(server, CatalogServer):
            tools = server.catalog.tools
            self._annotated = frozenset(tool.name for tool in tools if x_mcp_header_map(tool.input_schema))

    def problem(self, params: Mapping[str, Any], headers: Mapping[str, str]) -> InboundLadderRejection | None:
        """The fault in the headers of a tool's call, in the SDK's form; None: there is none."""
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


SESSION_ID: Final = MCP_SESSION_ID_HEADER
VERSION: Final = MCP_PROTOCOL_VERSION_HEADER
LAST_EVENT_ID: Final = LAST_EVENT_ID_HEADER

ROUTING: Final = frozenset({VERSION, MCP_METHOD_HEADER, MCP_NAME_HEADER})  # which the stateless era compares
HANDSHAKE: Final = frozenset(HANDSHAKE_PROTOCOL_VERSIONS)
MODERN: Final = frozenset(MODERN_PROTOCOL_VERSIONS)  # those without a handshake

# Headers that may come once only: two readers could each believe another one.
_ONCE: Final = frozenset({"origin", "host", "authorization", "content-type", LAST_EVENT_ID})
_MCP: Final = "mcp-"

_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream"
_NO_WEIGHT: Final = re.compile(r"q\s*=\s*0(\.0*)?")


def doubled(repeated: Collection[str]) -> str | None:
    """The first of those headers that came more than once and may not."""
    return next((name for name in repeated if name in _ONCE or name.startswith(_MCP)), None)


NOT_ACCEPTABLE: Final = "Not Acceptable: Client must accept both application/json and text/event-stream"


class Accepted(NamedTuple):
    """The media types that a client takes, by its Accept header."""

    json: bool
    events: bool
    events_first: bool  # it names events before JSON, of which it has to take both


@lru_cache(maxsize=256)
def accepted(header: str) -> Accepted:
    """Read an Accept header as the SDK does, wildcards included; what has a weight of 0 is not accepted."""
    weights = dict(_weighted(part) for part in header.split(","))
    return Accepted(
        _takes(weights, _JSON, "application/*"),
        _takes(weights, _EVENTS, "text/*"),
        -1 < header.find(_EVENTS) < header.find(_JSON),
    )


def _weighted(part: str) -> tuple[str, bool]:
    """A media type of an Accept header, and whether its weight is more than 0."""
    kind, *parameters = (word.strip().lower() for word in part.split(";"))
    return kind, not any(_NO_WEIGHT.fullmatch(parameter) for parameter in parameters)


def _takes(weights: Mapping[str, bool], *kinds: str) -> bool:
    """Whether a media type is accepted: the most precise range that names it decides."""
    return next((weights[kind] for kind in (*kinds, "*/*") if kind in weights), False)


@lru_cache(maxsize=16)
def can_resume(version: str) -> bool:
    """Whether clients of this version know an event without data, which only has an id to come back with."""
    return is_version_at_least(version, "2025-11-25")
