"""The answers of long tools: a score's report in its order, and pictures after the text.

The pictures of an answer are small copies that a job has left as files, because a message has little room
(the official client stops at 1 MiB). The text lists them in their order. Where the large ones can be read is
in the text, not in links of the protocol, which clients of its older versions don't know.

A score has pictures where they were asked for: the plot, and the worst frames as they are. Together they stay
within what a message has room for. The entry `images` says in order what each shows; what was asked for and
isn't there is said in `images_missing`.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import mcp_types as types

from acuity.agents.compare_answers import compare_answer, is_comparison
from acuity.agents.schemas import array
from acuity.agents.score_answers import IMAGES_ASKED, in_order, is_report, score_answer, score_columns
from acuity.jobs.tasks.worst import NO_PREVIEWS, PREVIEWS
from longwire.product.results import ordered_answer, to_ordered_text

PLOT: Final = "plot"
WORST: Final = "worst"
KINDS: Final = (PLOT, WORST)
_MOST: Final = 820_000  # characters of all pictures in base64: about 600 KB of PNG
_MESSAGE: Final = 980_000  # characters of an answer: the official client stops at 1 MiB
_WIDTH, _HEIGHT = 960, 400  # pixels of a plot

IMAGES_SCHEMA: Final = array(
    {"enum": list(KINDS)},
    len(KINDS),
    "Pictures in the reply. plot: the curve; worst: the worst frames and their originals.",
)


def with_images(
    document: Mapping[str, Any], shown: dict[str, Any], kinds: Sequence[str]
) -> tuple[dict[str, Any], list[types.ImageContent]]:
    """The answer `shown` with what was asked for, and the pictures; they are made from the whole document."""
    made: _Captioned = {}
    missing: list[str] = []
    room = _MOST
    for kind in dict.fromkeys(kinds):
        found, why = _MAKERS[kind](document, room)
        made |= found
        room -= sum(len(picture.data) for picture in found.values())
        missing += [f"{kind}: {why}"] if why else []
    entries: dict[str, Any] = {"images": [*made]}
    if missing:
        entries["images_missing"] = "; ".join(missing)
    answer = in_order({**shown, **entries})
    # The text is in the message twice: as structured content, and as a string.
    if answer["frames"] and 2.3 * len(to_ordered_text(answer)) + _MOST - room > _MESSAGE:
        answer = in_order({**score_answer(document, include_frames=False), **entries})
    return answer, [*made.values()]


_Captioned = dict[str, types.ImageContent]  # by what each shows


def _kept(entries: Sequence[Mapping[str, Any]], room: int) -> _Captioned:
    """Small copies, as far as they are still kept and have room."""
    made = {}
    for entry in entries:
        try:
            picture = _image(Path(entry["file"]).read_bytes())
        except OSError:  # they are kept for a while only
            continue
        if (room := room - len(picture.data)) < 0:
            break
        size = f"{entry['width']}x{entry['height']}"
        made[f"frame {entry['frame_index']}, {entry['picture']}, {size}"] = picture
    return made


def _image(data: bytes) -> types.ImageContent:
    return types.ImageContent(type="image", data=base64.b64encode(data).decode(), mime_type="image/png")


def _worst(document: Mapping[str, Any], room: int) -> tuple[_Captioned, str | None]:
    entries = document.get(PREVIEWS)
    if entries is None:
        why = document.get(NO_PREVIEWS, "the score was made without them")
        return {}, f"{why}; describe_worst_frames makes pictures of a pair"
    if not (made := _kept(entries, room)):
        return {}, "they are no longer kept; describe_worst_frames makes new ones"
    return made, document.get(NO_PREVIEWS)


def _plot(document: Mapping[str, Any], room: int) -> tuple[_Captioned, str | None]:
    import numpy as np  # a server should listen before it loads this

    from acuity.report.plots.axes import PlotSeries
    from acuity.report.plots.png_plot import png_plot

    rows = document["frames"]
    column = next(iter(score_columns(document)), None)
    if not rows or column is None:
        return {}, "there are no figures to draw"
    numbers = np.array([row["frameNum"] for row in rows], np.int64)
    figures = [row["metrics"].get(column) for row in rows]
    values = np.array([np.nan if figure is None else figure for figure in figures], np.float64)
    series = PlotSeries(column, numbers, values)
    label = "VMAF" if column == "vmaf" else column
    seconds = _seconds(document, int(numbers[-1]) + 1)
    picture = _image(png_plot([series], width=_WIDTH, height=_HEIGHT, seconds=seconds, label=label))
    if len(picture.data) > room:
        return {}, "there is no room for it in the message"
    return {f"plot of {column} over {len(rows)} frames, {_WIDTH}x{_HEIGHT}": picture}, None


def _seconds(document: Mapping[str, Any], frames: int) -> float | None:
    """How long the frames last, where their rate is known and constant."""
    reference = document.get("acuity", {}).get("input", {}).get("reference") or {}
    if not reference.get("frame_rate") or reference.get("variable_rate"):
        return None
    return float(frames / Fraction(reference["frame_rate"]))


_MAKERS: Final = {PLOT: _plot, WORST: _worst}


# What comes before the frames, because clients that truncate a long answer keep its beginning.
_FIRST: Final = ("model_id", "score", "model", "images", "images_hint", "frames")
_HINT: Final = (
    "These are smaller copies, and details in full size. The `resources` of a frame are its pictures in full "
    "size; images=[distorted, reference, heat, detail] chooses others, and a smaller n makes them larger."
)


def tool_answer(document: Mapping[str, Any]) -> types.CallToolResult:
    """The answer of a long tool, from its job's document."""
    shown, pictures = shown_document(document)
    return with_pictures(ordered_answer(shown), pictures)


def has_pictures(document: Mapping[str, Any]) -> bool:
    """Whether the answer needs files or drawings, so that it is not made on the event loop."""
    return bool(document.get(PREVIEWS) or document.get(IMAGES_ASKED))


def shown_document(
    document: Mapping[str, Any], include_frames: bool | None = None, images: Sequence[str] | None = None
) -> tuple[dict[str, Any], list[types.ImageContent]]:
    """The document as clients read it, and the pictures after it; None: as the caller of the tool chose."""
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
    made = _kept(document[PREVIEWS], _MOST)
    known = {**document, "images": [*made], "images_hint": _HINT}
    order = dict.fromkeys([*_FIRST, *known])
    return {name: known[name] for name in order if name in known and name != PREVIEWS}, [*made.values()]


def with_pictures(answer: types.CallToolResult, pictures: list[types.ImageContent]) -> types.CallToolResult:
    return answer.model_copy(update={"content": [*answer.content, *pictures]}) if pictures else answer
