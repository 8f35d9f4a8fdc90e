"""Small pictures of the worst frames so far: acuity://measurement/pictures/120/distorted.png."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, cast

import mcp_types as types

from acuity.mcp.embedded.uris import MEASUREMENT
from acuity.mcp.resources.content import missing

if TYPE_CHECKING:
    from acuity.mcp.embedded.live.pictures import Kind, LivePictures
    from acuity.mcp.embedded.live.state import LiveState

PICTURES: Final = f"{MEASUREMENT}/pictures"
_MIME: Final = "image/png"
_NAME: Final = re.compile(r"(\d{1,12})/(reference|distorted)\.png")


def picture_uri(frame: int, kind: Kind) -> str:
    """The URI of one picture."""
    return f"{PICTURES}/{frame}/{kind}.png"


class PictureResources:
    """Reads pictures that are kept. They come and go with the scores, so none is listed."""

    def __init__(self, live: LiveState, pictures: LivePictures) -> None:
        self._live = live
        self._pictures = pictures

    async def list(self) -> Sequence[types.Resource]:
        return []

    def templates(self) -> Sequence[types.ResourceTemplate]:
        return [
            types.ResourceTemplate(
                uri_template=f"{PICTURES}/{{frame}}/{{kind}}.png",
                name="pictures",
                title="Small pictures of the worst frames",
                description="The reference or the distorted picture of a frame, about 320 pixels wide, as "
                "vmaf.worst_frames with pictures names it.",
                mime_type=_MIME,
            )
        ]

    async def read(self, uri: str) -> types.ReadResourceResult | None:
        if not uri.startswith(f"{PICTURES}/"):
            return None
        found = _NAME.fullmatch(uri.removeprefix(f"{PICTURES}/"))
        await self._live.budget.turn()
        data = None if found is None else self._pictures.png(int(found[1]), cast("Kind", found[2]))
        if data is None:
            raise missing(
                uri,
                f"there is no picture '{uri}', or it is no longer kept: "
                "vmaf.worst_frames with pictures names those that are",
            )
        blob = base64.b64encode(data).decode()
        return types.ReadResourceResult(
            contents=[types.BlobResourceContents(uri=uri, blob=blob, mime_type=_MIME)]
        )
