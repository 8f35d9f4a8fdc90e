"""Helpers of all resource families: parsing URIs, documents as content, and the error for a missing one."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

import mcp_types as types
import pydantic_core
from mcp.shared.exceptions import MCPError

from acuity.errors import JobError
from acuity.text import one_line, shortened
from longwire.principals.limits import owner
from longwire.product.results import finite, to_text

if TYPE_CHECKING:
    from acuity.jobs.service import Job, Jobs

JSON: Final = "application/json"
CSV: Final = "text/csv"
HTML: Final = "text/html"
PNG: Final = "image/png"
MOST: Final = 900_000  # bytes of a text in a message: the official client refuses events over 1 MiB
_RANGE: Final = re.compile(r"(\d{1,400})(?:-(\d{1,400}))?", re.ASCII)  # the last may be any large number
SEARCHED: Final = 500  # finished jobs; most tools leave none that is looked for
_NONE: Final = 2**53  # no frame has a greater number
_SPARE: Final = 0.8  # of the frames that would just fit, since some are longer than others
_LONGEST: Final = 1000  # characters of the sentence of an error
_LONGEST_URI: Final = 500  # characters of one that an error repeats


def address(family: str, name: str) -> str:
    return f"{family}/{quote(name, safe='')}"


def name_in(family: str, uri: str) -> str | None:
    """The name after the family's URI; None if the URI belongs to another family."""
    rest = uri.removeprefix(f"{family}/")
    return unquote(rest) if rest and rest != uri else None


def is_family(family: str, uri: str) -> bool:
    return uri in (family, f"{family}/")  # some clients add a slash after a host without a path


def resource(
    uri: str, name: str, title: str | None, description: str | None, mime_type: str = JSON, **more: Any
) -> types.Resource:
    return types.Resource(
        uri=uri, name=name, title=title, description=description, mime_type=mime_type, **more
    )


def template(
    uri: str, name: str, title: str, description: str, mime_type: str = JSON
) -> types.ResourceTemplate:
    return types.ResourceTemplate(
        uri_template=uri, name=name, title=title, description=description, mime_type=mime_type
    )


def png_content(uri: str, data: bytes) -> types.ReadResourceResult:
    blob = base64.b64encode(data).decode()
    content = types.BlobResourceContents(uri=uri, blob=blob, mime_type=PNG)
    return types.ReadResourceResult(contents=[content])


def document_content(uri: str, document: Any) -> types.ReadResourceResult:
    return text_content(uri, to_text(finite(document)), JSON)


def text_content(uri: str, text: str, mime_type: str) -> types.ReadResourceResult:
    content = types.TextResourceContents(uri=uri, text=text, mime_type=mime_type)
    return types.ReadResourceResult(contents=[content])


def frame_range(text: str) -> range:
    """The frames that ?frames=FIRST-LAST or ?frames=NUMBER asks for; raises ValueError with a sentence."""
    found = _RANGE.fullmatch(text)
    if found is None:
        raise ValueError(f"frames '{text}' is not understood: write ?frames=0-499 for the first 500 frames")
    first, last = int(found[1]), int(found[2] or found[1])
    if last < first:
        raise ValueError(
            f"there are no frames '{text}': write the lower number first, ?frames={last}-{first}"
        )
    return range(min(first, _NONE), min(last, _NONE) + 1)


def beyond(text: str, frames: Sequence[int]) -> str | None:
    """A sentence about a text of frames that is too long for a message, with the part that fits, or None."""
    if len(text) <= MOST // 2 and text.isascii():
        return None  # even if every other character needs an escape
    size = len(pydantic_core.to_json(text))
    if size <= MOST or len(frames) < 2:
        return None
    fitting = max(1, int(len(frames) * _SPARE * MOST / size))
    part = f"?frames={frames[0]}-{frames[fitting - 1]}"
    return (
        f"the {len(frames)} frames have {size:,} bytes, more than the {MOST:,} of a message:"
        f" read them in parts, the first with {part}"
    )


async def finished(jobs: Jobs) -> tuple[Sequence[Job], bool]:
    """The newest jobs of this client that completed, newest first, and whether there are more."""
    with in_words():
        return await jobs.list(["completed"], SEARCHED, owner())


@contextmanager
def in_words() -> Iterator[None]:
    """Turn an error of the job service into a protocol error with its sentence."""
    try:
        yield
    except JobError as error:
        raise MCPError(types.INTERNAL_ERROR, one_line(str(error))) from error


def missing(uri: str, sentence: str) -> MCPError:
    """The error for a URI that has no content; a very long one is repeated in part."""
    return MCPError(
        types.INVALID_PARAMS, one_line(shortened(sentence, _LONGEST)), {"uri": shortened(uri, _LONGEST_URI)}
    )
