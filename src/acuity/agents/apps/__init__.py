"""MCP Apps: the page that hosts show beside a tool's answer, and which tools have one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from acuity.agents.apps.app_resources import SCORE, AppResources
from longwire.product.catalog import Tool
from longwire.product.offered_tools import APPS

# The tools whose answers a page shows, and the page.
PAGES: Final[Mapping[str, str]] = {
    "vmaf_score": SCORE,
    "vmaf_score_encoded": SCORE,
    "compare_encodes": SCORE,
    "get_job": SCORE,
    "vmaf.report": SCORE,
}
# What a server declares that has such tools.
CAPABILITIES: Final[Mapping[str, Mapping[str, Any]]] = {"extensions": {APPS: {}}}


def with_apps(tools: Iterable[Tool]) -> list[Tool]:
    """The tools, those of the table with their page."""
    return [replace(tool, app=PAGES.get(tool.name)) for tool in tools]


__all__ = ["CAPABILITIES", "PAGES", "AppResources", "with_apps"]
