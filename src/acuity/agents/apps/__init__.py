"""MCP Apps: the page that hosts show beside a tool's answer, and which tools have one.

The resource ui://acuity/score.html is the page of scores and comparisons. It is not listed: hosts find it in
the list of tools, and other clients need not know of it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from importlib.resources import files
from typing import Any, Final

import anyio.to_thread
import mcp_types as types

from acuity import __version__
from acuity.report.page.bundle import bundle, static_text, with_imports
from longwire.product.catalog import Tool
from longwire.product.offered_tools import APP_PAGE, APPS

# Modules of report pages, with all that they import.
_SHARED: Final = ("chart.js", "histogram.js", "frames.js", "curves.js", "data.js", "rates.js", "tables.js")
# Modules of this page alone, each after those that it imports.
_OWN: Final = ("host.js", "figures.js", "answer.js", "comparison.js", "app.js")
_STYLES: Final = "page.css"
_POLICY: Final = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; media-src 'self' data:; connect-src 'none'; base-uri 'self'; form-action 'none'"
)
SCORE: Final = "ui://acuity/score.html"


# The tools whose answers a page shows, and the page.
PAGES: Final[Mapping[str, str]] = dict.fromkeys(
    ("vmaf_score", "vmaf_score_encoded", "compare_encodes", "get_job", "vmaf.report"), SCORE
)
# The capabilities that a server with such tools declares.
CAPABILITIES: Final[Mapping[str, Mapping[str, Any]]] = {"extensions": {APPS: {}}}
# The page loads nothing and needs no permission, so it leaves both out: hosts then allow nothing.
_META: Final[Mapping[str, Any]] = {"ui": {"prefersBorder": True}}


class AppResources:
    async def list(self) -> Sequence[types.Resource]:
        return ()

    def templates(self) -> Sequence[types.ResourceTemplate]:
        return ()

    async def read(self, uri: str) -> types.ReadResourceResult | None:
        if uri != SCORE:
            return None
        text = await anyio.to_thread.run_sync(app_page)  # the first time it reads files
        content = types.TextResourceContents(uri=uri, text=text, mime_type=APP_PAGE, _meta=dict(_META))
        return types.ReadResourceResult(contents=[content])


# ---- the page ------------------------------------------------------------------------------------
# The page of MCP Apps as one HTML document: the modules of reports, and a bridge to the host.
# It holds no figures: those come with the tool's result, so hosts may fetch the page once and keep it.
# The policy in it is the one that the extension has hosts apply to pages that declare nothing.


@functools.cache
def app_page() -> str:
    script = bundle([*((name, static_text(name)) for name in with_imports(_SHARED)), *map(_own, _OWN)])
    style = f"{static_text(_STYLES)}\n{_own('app.css')[1]}"
    for text, end in ((script, "</script"), (script, "<!--"), (style, "</style")):
        if end in text.lower():
            raise ValueError(f"{end} in the page's own files would end them")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'
        f"<title>Acuity</title>\n<style>\n{style}</style>\n</head>\n"
        f'<body class="app">\n<div id="app" data-version="{escape(__version__)}"></div>\n'
        f'<script type="module">\n{script}</script>\n</body>\n</html>\n'
    )


def _own(name: str) -> tuple[str, str]:
    return name, files(__package__).joinpath("static", name).read_text(encoding="utf-8")


def with_apps(tools: Iterable[Tool]) -> list[Tool]:
    """The tools, those of the table with their page."""
    return [replace(tool, app=PAGES.get(tool.name)) for tool in tools]
