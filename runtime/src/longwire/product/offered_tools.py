"""The tools that a principal may list and call: all of a catalog's, or those of its allowlist.

A client that declares the extension MCP Apps reads in the list which page shows a tool's results. Other
clients get the same list without a word of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

import mcp_types as types

from longwire.principals.principal import PRINCIPAL, Principal
from longwire.product.catalog import Context, Tool

_MOST_NAMES: Final = 24  # tool names in the error for an unknown tool
_LONGEST_NAME: Final = 128  # characters of the unknown name in that error
APPS: Final = "io.modelcontextprotocol/ui"  # the extension MCP Apps
APP_PAGE: Final = "text/html;profile=mcp-app"  # the type of its pages
_OLDER_KEY: Final = "ui/resourceUri"  # where hosts looked for the page before the extension was stable

_MOST_ALLOWLISTS: Final = 256  # that are remembered; auth hooks may make any number


class OfferedTools:
    """The tools that one allowlist admits; any other tool is answered as an unknown one."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self.by_name: Final[Mapping[str, Tool]] = {tool.name: tool for tool in tools}
        self.listed: Final = types.ListToolsResult(tools=[tool.describe() for tool in self.by_name.values()])
        # A cache that several principals share must not show one what another may call.
        self.listed_privately: Final = self.listed.model_copy(update={"cache_scope": "private"})
        # Private as well: a client without the extension must not be shown it by such a cache.
        self.listed_with_apps: Final = self.listed_privately.model_copy(
            update={"tools": [_with_app(tool) for tool in self.by_name.values()]}
        )

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
        """The tools of the principal whose request is being answered."""
        principal = PRINCIPAL.get()
        if principal is None or principal.tools is None:
            return self._all
        return self._allowed(principal.tools)

    def list(self, context: Context) -> types.ListToolsResult:
        principal = PRINCIPAL.get()
        found = self.current()
        if shows_apps(context):
            return found.listed_with_apps
        return found.listed if principal is None or not principal.has_token else found.listed_privately

    def _make(self, allowlist: frozenset[str]) -> OfferedTools:
        may_call = Principal("", tools=allowlist).may_call
        allowed = (tool for tool in self._all.by_name.values() if may_call(tool.name))
        narrowed = (_narrowed(tool, may_call) for tool in allowed)
        return OfferedTools(tool for tool in narrowed if tool is not None)


def shows_apps(context: Context) -> bool:
    """Whether the client declared MCP Apps, and the type of pages that there are here."""
    capabilities = context.session.client_capabilities
    declared = capabilities.extensions if capabilities is not None else None
    settings = declared.get(APPS) if declared else None
    kinds = settings.get("mimeTypes") if isinstance(settings, dict) else None
    return isinstance(kinds, list | tuple) and APP_PAGE in kinds


def _with_app(tool: Tool) -> types.Tool:
    """The description of a tool with the page that shows its results."""
    found = tool.describe()
    if tool.app is None:
        return found
    link = {"ui": {"resourceUri": tool.app}, _OLDER_KEY: tool.app}
    return found.model_copy(update={"meta": {**(found.meta or {}), **link}})


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
