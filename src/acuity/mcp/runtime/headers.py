"""Checks of the headers of Streamable HTTP: what is doubled, what the client takes, which era it speaks."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Final, NamedTuple

from mcp.server.streamable_http import LAST_EVENT_ID_HEADER, MCP_SESSION_ID_HEADER
from mcp.shared.inbound import MCP_METHOD_HEADER, MCP_NAME_HEADER, MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, is_version_at_least

SESSION_ID: Final = MCP_SESSION_ID_HEADER
VERSION: Final = MCP_PROTOCOL_VERSION_HEADER
LAST_EVENT_ID: Final = LAST_EVENT_ID_HEADER

ROUTING: Final = frozenset({VERSION, MCP_METHOD_HEADER, MCP_NAME_HEADER})  # which the stateless era compares
HANDSHAKE: Final = frozenset(HANDSHAKE_PROTOCOL_VERSIONS)

# Headers of which two readers could each believe another.
_ONCE: Final = frozenset({"origin", "host", "authorization", "content-type", LAST_EVENT_ID})
_MCP: Final = "mcp-"

_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream"


def doubled(repeated: Collection[str]) -> str | None:
    """The first of those headers that came more than once and may not."""
    return next((name for name in repeated if name in _ONCE or name.startswith(_MCP)), None)


class Accepted(NamedTuple):
    """What a client takes, by its Accept header."""

    json: bool
    events: bool
    events_first: bool  # it names events before JSON, of which it has to take both


@lru_cache(maxsize=256)
def accepted(header: str) -> Accepted:
    """Read an Accept header as the SDK does, wildcards included."""
    kinds = [part.split(";")[0].strip().lower() for part in header.split(",")]
    anything = "*/*" in kinds
    return Accepted(
        anything or _JSON in kinds or "application/*" in kinds,
        anything or _EVENTS in kinds or "text/*" in kinds,
        -1 < header.find(_EVENTS) < header.find(_JSON),
    )


@lru_cache(maxsize=256)
def is_json(content_type: str) -> bool:
    """Whether a body is declared as JSON."""
    return content_type.lower().startswith(_JSON)


@lru_cache(maxsize=256)
def is_plain_json(content_type: str) -> bool:
    """Whether the media type is JSON's own and not only one that begins like it."""
    return any(part.strip() == _JSON for part in content_type.split(";")[0].split(","))


@lru_cache(maxsize=16)
def can_resume(version: str) -> bool:
    """Whether clients of this version know an event without data, which only has an id to come back with."""
    return is_version_at_least(version, "2025-11-25")
