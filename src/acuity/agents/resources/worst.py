"""The resources acuity://worst and acuity://worst/{id}/{name}: pictures of worst frames, in full size.

A picture that is too large for a message is read with ?width=, which makes it smaller.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread
import mcp_types as types

from acuity.agents.job_documents import WORST, picture_uri, timestamp
from acuity.agents.resources import content
from acuity.agents.tools.kept_pictures import TOOL, KeptPictures
from longwire.principals.limits import may_see

if TYPE_CHECKING:
    from acuity.jobs.service import Job, Jobs

_MOST: Final = 700_000  # bytes of a picture in a message; in base64 it is a third longer
_WIDTH: Final = re.compile(r"width=(\d{1,5})")
_AT_ONCE: Final = 1  # pictures made smaller at the same time


class WorstResources:
    def __init__(self, jobs: Jobs, pictures: KeptPictures) -> None:
        self._jobs = jobs
        self._pictures = pictures
        self._limit: anyio.CapacityLimiter | None = None

    async def list(self) -> Sequence[types.Resource]:
        text = "An index, newest first: the pictures that describe_worst_frames has made."
        return [content.resource(WORST, "worst", "Pictures of worst frames", text)]

    def templates(self) -> Sequence[types.ResourceTemplate]:
        return [
            content.template(
                f"{WORST}/{{id}}/{{name}}{{?width}}",
                "worst-picture",
                "A picture of a worst frame",
                "A picture in full size, as `resources` of describe_worst_frames names it; "
                "width=960 makes it smaller.",
                content.PNG,
            )
        ]

    async def read(self, uri: str) -> types.ReadResourceResult | None:
        if content.is_family(WORST, uri):
            return content.document_content(uri, await self._index())
        path, _, query = uri.partition("?")
        rest = content.name_in(WORST, path)
        if rest is None:
            return None
        job_id, _, name = rest.partition("/")
        with content.in_words():
            job = await self._jobs.get(job_id)
        file = self._pictures.find(job_id, name)
        if job is None or not may_see(job.client) or file is None:
            raise content.missing(
                uri, f"there is no picture '{rest}', or it is no longer kept: {WORST} has those"
            )
        if self._limit is None:
            self._limit = anyio.CapacityLimiter(_AT_ONCE)
        data = await anyio.to_thread.run_sync(_data, uri, file, _width(uri, query), limiter=self._limit)
        return content.png_content(uri, data)

    async def newest(self) -> tuple[Sequence[Job], bool]:
        """Jobs that have pictures, newest first, and whether there may be more."""
        jobs, more = await content.finished(self._jobs)
        return [job for job in jobs if job.tool == TOOL], more

    async def names(self, job_id: str) -> Sequence[str]:
        """The pictures of a job that this client may see."""
        found, _ = await self.newest()
        known = job_id in {job.id for job in found}
        return await anyio.to_thread.run_sync(self._pictures.names, job_id) if known else []

    async def _index(self) -> dict[str, Any]:
        found, more = await self.newest()
        entries = await anyio.to_thread.run_sync(lambda: [self._entry(job) for job in found])
        return {"worst": entries, "count": len(entries), "truncated": more}

    def _entry(self, job: Job) -> dict[str, Any]:
        return {
            "id": job.id,
            "title": job.title,
            "finished": timestamp(job.finished),
            "pictures": [picture_uri(job.id, name) for name in self._pictures.names(job.id)],
        }


def _width(uri: str, query: str) -> int | None:
    if not query:
        return None
    asked = _WIDTH.fullmatch(query)
    if asked is None or not int(asked[1]):
        raise content.missing(uri, f"'?{query}' is not understood: write ?width=960 for a smaller picture")
    return int(asked[1])


def _data(uri: str, file: Path, width: int | None) -> bytes:
    """The bytes of the picture, or of a smaller one; raises MCPError where they are too many."""
    from acuity.frames.previews import picture_size, scaled_png  # a server should listen before it loads PyAV

    try:
        across, _ = picture_size(file)
        data = file.read_bytes() if width is None or width >= across else scaled_png(file, width).data
    except (OSError, ValueError) as error:
        raise content.missing(uri, f"the picture can't be read: {error}") from error
    if len(data) <= _MOST:
        return data
    fitting = _fitting(file, min(across, width or across), len(data))
    raise content.missing(
        uri,
        f"the picture has {len(data):,} bytes, more than the {_MOST:,} of a message:"
        f" read {uri.partition('?')[0]}?width={fitting} for a smaller one",
    )


def _fitting(file: Path, width: int, size: int) -> int:
    """A width at which the picture fits, found by making it: small pictures have more bytes a pixel."""
    from acuity.frames.previews import scaled_png

    while size > _MOST and width > 1:
        width = max(1, int(width * max(0.25, 0.95 * (_MOST / size) ** 0.5)))
        size = len(scaled_png(file, width).data)
    return width
