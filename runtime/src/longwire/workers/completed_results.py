"""Fills in members that 2026-07-28 requires of results; makes `server/discover` of a worker's handshake.

Workers are written for their tools. Members that are the same for all are filled in here, for any language.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mcp_types import METHOD_NOT_FOUND, SERVER_INFO_META_KEY
from mcp_types.methods import CACHEABLE_METHODS
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from longwire.contract.envelopes import Result
from longwire.workers.call import Outcome

_MODERN: Final = frozenset(MODERN_PROTOCOL_VERSIONS)
# Unless the worker says otherwise, nobody may keep a list for others, or for later.
_UNCACHED: Final[Mapping[str, Any]] = {"ttlMs": 0, "cacheScope": "private"}


def completed(method: str, version: str, result: dict[str, Any]) -> dict[str, Any]:
    """A worker's result with what its version requires of every result; the worker's own words stay."""
    if version not in _MODERN:
        return result
    filled = dict(result)
    if filled.get("resultType") is None:
        filled["resultType"] = "complete"
    if method in CACHEABLE_METHODS and filled["resultType"] == "complete":
        for name, value in _UNCACHED.items():
            if filled.get(name) is None:
                filled[name] = value
    return filled


def is_unknown(outcome: Outcome) -> bool:
    """Whether the worker says that it doesn't know the method."""
    if not isinstance(outcome, Result):
        return False
    error = (outcome.jsonrpc or {}).get("error")
    return not outcome.handled or (isinstance(error, dict) and error.get("code") == METHOD_NOT_FOUND)


def discovered(outcome: Outcome) -> dict[str, Any] | None:
    """The result of `server/discover`, from that of a handshake; None: it can't be used for one."""
    reply = outcome.jsonrpc if isinstance(outcome, Result) and outcome.handled else None
    said = (reply or {}).get("result")
    if not isinstance(said, dict) or not isinstance(said.get("capabilities"), dict):
        return None
    found: dict[str, Any] = {
        "supportedVersions": list(MODERN_PROTOCOL_VERSIONS),
        "capabilities": said["capabilities"],
    }
    if isinstance(said.get("instructions"), str):
        found["instructions"] = said["instructions"]
    if isinstance(said.get("serverInfo"), dict):
        found["_meta"] = {SERVER_INFO_META_KEY: said["serverInfo"]}
    return found


def tool_names(result: Mapping[str, Any]) -> list[str]:
    tools = result.get("tools")
    entries = tools if isinstance(tools, list) else []
    return [tool["name"] for tool in entries if isinstance(tool, dict) and type(tool.get("name")) is str]
