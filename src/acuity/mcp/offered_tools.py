"""The tools that a principal may list and call: all of a catalog's, or those of its allowlist."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

import mcp_types as types

from acuity.mcp.catalog import Tool
from acuity.mcp.principal import PRINCIPAL, Principal

_MOST_NAMES: Final = 24  # tool names in the error for an unknown tool
_LONGEST_NAME: Final = 128  # characters of the unknown name in that error
_MOST_ALLOWLISTS: Final = 256  # that are remembered; auth hooks may make any number


class OfferedTools:
    """What one allowlist leaves of the tools; a tool that it leaves out is answered as an unknown one."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self.by_name: Final[Mapping[str, Tool]] = {tool.name: tool for tool in tools}
        self.listed: Final = types.ListToolsResult(tools=[tool.describe() for tool in self.by_name.values()])
        # A cache that several principals share must not show one what another may call.
        self.listed_privately: Final = self.listed.model_copy(update={"cache_scope": "private"})

    def unknown(self, name: str) -> str:
        """The error for an unknown tool: its name, and the known names, the most similar first."""
        near = get_close_matches(name[:_LONGEST_NAME], self.by_name, _MOST_NAMES)
        names = [*near, *(other for other in self.by_name if other not in near)]
        if not names:
            return f"unknown tool: {name[:_LONGEST_NAME]}; there are none for this client"
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        return f"unknown tool: {name[:_LONGEST_NAME]}; there are {', '.join(names[:_MOST_NAMES])}{more}"


class ToolOffers:
    """The tools of a catalog as each principal sees them."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._all = OfferedTools(tools)
        self._allowed = lru_cache(_MOST_ALLOWLISTS)(self._make)

    def current(self) -> OfferedTools:
        """Those of the principal whose request is being answered."""
        principal = PRINCIPAL.get()
        if principal is None or principal.tools is None:
            return self._all
        return self._allowed(principal.tools)

    def list(self) -> types.ListToolsResult:
        principal = PRINCIPAL.get()
        found = self.current()
        return found.listed if principal is None or not principal.has_token else found.listed_privately

    def _make(self, allowlist: frozenset[str]) -> OfferedTools:
        may_call = Principal("", tools=allowlist).may_call
        allowed = (tool for tool in self._all.by_name.values() if may_call(tool.name))
        narrowed = (_narrowed(tool, may_call) for tool in allowed)
        return OfferedTools(tool for tool in narrowed if tool is not None)


def _narrowed(tool: Tool, may_call: Callable[[str], bool]) -> Tool | None:
    """A tool that runs others, for those that are allowed; None if it could run none."""
    if tool.runs is None:
        return tool
    properties = tool.input_schema["properties"]
    named = properties[tool.runs]
    names = [name for name in named["enum"] if may_call(name)]
    if not names:
        return None
    schema = {**tool.input_schema, "properties": {**properties, tool.runs: {**named, "enum": names}}}
    return replace(tool, input_schema=schema)
