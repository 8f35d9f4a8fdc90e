"""The resource ui://acuity/score.html: the page of scores and comparisons, for hosts with MCP Apps.

It is not listed: hosts find it in the list of tools, and other clients need not know of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import anyio.to_thread
import mcp_types as types

from acuity.mcp.offered_tools import APP_PAGE

SCORE: Final = "ui://acuity/score.html"


def _score_page() -> str:
    from acuity.mcp.apps.app_page import app_page  # few servers are asked for it

    return app_page()


_PAGES: Final[Mapping[str, Callable[[], str]]] = {SCORE: _score_page}
# The page loads nothing and needs no permission, so it leaves both out: hosts then allow nothing.
_META: Final[Mapping[str, Any]] = {"ui": {"prefersBorder": True}}


class AppResources:
    """The pages as resources."""

    async def list(self) -> Sequence[types.Resource]:
        return ()

    def templates(self) -> Sequence[types.ResourceTemplate]:
        return ()

    async def read(self, uri: str) -> types.ReadResourceResult | None:
        make = _PAGES.get(uri)
        if make is None:
            return None
        text = await anyio.to_thread.run_sync(make)  # the first time it reads files
        content = types.TextResourceContents(uri=uri, text=text, mime_type=APP_PAGE, _meta=dict(_META))
        return types.ReadResourceResult(contents=[content])
