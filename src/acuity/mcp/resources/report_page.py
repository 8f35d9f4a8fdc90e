"""The page of a stored score, with the pictures that its job made, within the size of a message."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pydantic_core

from acuity.errors import InputError
from acuity.jobs.tasks.worst import NO_PREVIEWS, PREVIEWS
from acuity.mcp.resources.content import MOST

if TYPE_CHECKING:
    from acuity.report.page.page_document import Picture

_LEAST: Final = 30_000  # bytes that a picture's page should have room for
_SPARE: Final = 12_000  # bytes of what stands around pictures
_NOT_ASKED: Final = 'the score was made without pictures: pass images: ["worst"] to have some'
_GONE: Final = "the pictures are no longer kept: score again to have new ones"
_OTHERS: Final = "none of the worst frames is among these"
_NO_ROOM: Final = "there is no room for pictures in the message: acuity://worst has them as files"


def kept_entries(document: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a stored score that say where its pictures are; no client sees them."""
    return {name: document[name] for name in (PREVIEWS, NO_PREVIEWS) if name in document}


def report_page(document: dict[str, Any]) -> str:
    """The page of a stored score."""
    from acuity.report.read_report import read_document  # few clients ask for it
    from acuity.report.write import render_report

    found = read_document({name: document[name] for name in document if name not in kept_entries(document)})
    assert found.source is not None  # a score is no comparison

    def page(**shown: Any) -> str:
        assert found.source is not None
        return "".join(render_report(found.source, "html", extra={**found.extra, **shown}))

    if not document.get(PREVIEWS):
        return page(no_pictures=document.get(NO_PREVIEWS, _NOT_ASKED))
    plain = page(no_pictures=_NO_ROOM)
    room = (MOST - _SPARE - len(pydantic_core.to_json(plain))) * 3 // 4  # base64 takes a third more
    if room < _LEAST:
        return plain
    try:
        pictures = _pictures(document, room)
    except (InputError, OSError):
        return page(no_pictures=_GONE)
    return page(pictures=pictures, no_pictures=None if pictures else _OTHERS)


def _pictures(document: Mapping[str, Any], room: int) -> list[Picture]:
    """The pictures of the frames whose figures the document has; raises InputError if they aren't kept."""
    from acuity.frames.page_pictures import folder_pictures

    folder = Path(document[PREVIEWS][0]["file"]).parent.parent
    frames = {row["frameNum"] for row in document["frames"]}
    return [picture for picture in folder_pictures(folder, budget=room) if picture.frame in frames]
