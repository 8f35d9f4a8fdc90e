"""The answers of long tools: a score's report in its order, and pictures after the text.

The pictures of an answer are small copies that a job has left as files, because a message has little room
(the official client stops at 1 MiB). The text lists them in their order. Where the large ones can be read is
in the text, not in links of the protocol, which clients of its older versions don't know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import mcp_types as types

from acuity.agents.compare_answers import compare_answer, is_comparison
from acuity.agents.score_answers import IMAGES_ASKED, is_report, score_answer
from acuity.agents.score_images import kept_pictures, with_images
from acuity.jobs.tasks.worst import PREVIEWS
from longwire.product.results import ordered_answer

# What comes before the frames, because clients that truncate a long answer keep its beginning.
_FIRST: Final = ("model_id", "score", "model", "images", "images_hint", "frames")
_HINT: Final = (
    "These are smaller copies, and details in full size. The `resources` of a frame are its pictures in full "
    "size; images=[distorted, reference, heat, detail] chooses others, and a smaller n makes them larger."
)
_MOST: Final = 820_000  # characters of all pictures in base64


def tool_answer(document: Mapping[str, Any]) -> types.CallToolResult:
    """The answer of a long tool, from its job's document."""
    shown, pictures = shown_document(document)
    return with_pictures(ordered_answer(shown), pictures)


def has_pictures(document: Mapping[str, Any]) -> bool:
    """Whether the answer needs files or drawings, so that it is not made on the event loop."""
    return bool(document.get(PREVIEWS) or document.get(IMAGES_ASKED))


def shown_document(
    document: Mapping[str, Any],
    include_frames: bool | None = None,
    images: Sequence[str] | None = None,
) -> tuple[dict[str, Any], list[types.ImageContent]]:
    """What a client reads of a document, and the pictures after it; None: as the caller of the tool chose."""
    if is_comparison(document):
        return compare_answer(document), []
    if not is_report(document):
        return _without_files(dict(document))
    kinds = document.get(IMAGES_ASKED, ()) if images is None else images
    shown = score_answer(document, include_frames)
    return with_images(document, shown, kinds) if kinds else (shown, [])


def _without_files(document: dict[str, Any]) -> tuple[dict[str, Any], list[types.ImageContent]]:
    """The document with the list `images` in the place of files, and the pictures that the list names."""
    if PREVIEWS not in document:
        return document, []
    names, pictures = kept_pictures(document[PREVIEWS], _MOST)
    known = {**document, "images": names, "images_hint": _HINT}
    order = dict.fromkeys([*_FIRST, *known])
    return {name: known[name] for name in order if name in known and name != PREVIEWS}, pictures


def with_pictures(answer: types.CallToolResult, pictures: list[types.ImageContent]) -> types.CallToolResult:
    """The answer with pictures after its text."""
    return answer.model_copy(update={"content": [*answer.content, *pictures]}) if pictures else answer
