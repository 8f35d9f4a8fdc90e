"""The answers of long tools: a score's report in its order, and pictures after the text.

The pictures of an answer are small copies that a job has left as files, because a message has little room
(the official client stops at 1 MiB). The text lists them in their order. Where the large ones can be read is
in the text, not in links of the protocol, which clients of its older versions don't know.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import mcp_types as types

from acuity.jobs.tasks.worst import PREVIEWS
from acuity.mcp.results import ordered_answer
from acuity.mcp.score_answers import score_answer

# What comes before the frames, because clients that truncate a long answer keep its beginning.
_FIRST: Final = ("model_id", "score", "model", "images", "images_hint", "frames")
_HINT: Final = (
    "These are smaller copies, and details in full size. The `resources` of a frame are its pictures in full "
    "size; images=[distorted, reference, heat, detail] chooses others, and a smaller n makes them larger."
)
_MOST: Final = 820_000  # characters of all pictures in base64


def tool_answer(document: Mapping[str, Any]) -> types.CallToolResult:
    """The answer of a long tool, from its job's document."""
    shown, pictures = without_files(score_answer(document))
    return with_pictures(ordered_answer(shown), pictures)


def has_pictures(document: Mapping[str, Any]) -> bool:
    """Whether the answer needs files, so that it is not made on the event loop."""
    return bool(document.get(PREVIEWS))


def without_files(document: dict[str, Any]) -> tuple[dict[str, Any], list[types.ImageContent]]:
    """The document with the list `images` in the place of files, and the pictures that the list names."""
    if PREVIEWS not in document:
        return document, []
    names, pictures, room = [], [], _MOST
    for entry in document[PREVIEWS]:
        try:
            data = base64.b64encode(Path(entry["file"]).read_bytes()).decode()
        except OSError:  # they are kept for a while only
            continue
        if (room := room - len(data)) < 0:
            break
        names.append(f"frame {entry['frame_index']}, {entry['picture']}, {entry['width']}x{entry['height']}")
        pictures.append(types.ImageContent(type="image", data=data, mime_type="image/png"))
    known = {**document, "images": names, "images_hint": _HINT}
    order = dict.fromkeys([*_FIRST, *known])
    return {name: known[name] for name in order if name in known and name != PREVIEWS}, pictures


def with_pictures(answer: types.CallToolResult, pictures: list[types.ImageContent]) -> types.CallToolResult:
    """The answer with pictures after its text."""
    return answer.model_copy(update={"content": [*answer.content, *pictures]}) if pictures else answer
