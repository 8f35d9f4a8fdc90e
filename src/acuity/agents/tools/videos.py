"""The tool list_videos: the folders that this server may read, and the videos in them."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from acuity.access.paths import KINDS
from acuity.agents.schemas import outline, record, text, whole
from acuity.agents.tools.video_list import SUFFIXES, VideoProbe, find_videos
from acuity.errors import PathError
from longwire.product.catalog import Call, Tool

if TYPE_CHECKING:
    from acuity.access.paths import AllowedPaths
    from acuity.agents.services import Services

NAME: Final = "list_videos"
_VIDEO: Final = "video"
_MOST: Final = 200  # videos in one answer

_TEXT: Final = "The folders this server may read, and the videos in them with size, format and length."

_INPUT: Final = record(
    {
        "folder": text("Only this one."),
        "name": text("Only names with this in them."),
        "kind": {
            "enum": [_VIDEO, *KINDS],
            "default": _VIDEO,
            "description": "table: .parquet; model: .onnx.",
        },
        "limit": whole("At most so many.", minimum=1, maximum=_MOST, default=50),
        "offset": whole("next_offset, to go on.", minimum=0, default=0),
    }
)
_OUTPUT: Final = outline({"folders": "array", "videos": "array", "count": "integer"})


def tools(services: Services) -> list[Tool]:
    """list_videos."""
    run = _VideoTools(services.paths).list_videos
    return [Tool(NAME, "List videos", _TEXT, _INPUT, run, _OUTPUT)]


class _VideoTools:
    def __init__(self, paths: AllowedPaths) -> None:
        self._paths = paths
        self._probe = VideoProbe(paths.roots, paths.private)

    async def list_videos(self, call: Call) -> dict[str, Any]:
        given = call.arguments
        folders = _outermost([root for root in self._paths.video_roots if root.is_dir()])
        chosen = [self._paths.check_folder(given["folder"])] if "folder" in given else folders
        kind = given["kind"]
        suffixes = SUFFIXES if kind == _VIDEO else {KINDS[kind]}
        found = await asyncio.to_thread(find_videos, chosen, given.get("name", ""), suffixes)
        start, end = int(given["offset"]), int(given["offset"]) + int(given["limit"])
        files = await asyncio.to_thread(self._allowed, found.files[start:end])
        described = await self._probe.describe(files) if kind == _VIDEO else [{"kind": kind} for _ in files]
        answer: dict[str, Any] = {
            "folders": [str(folder) for folder in folders],
            "videos": [
                {"path": str(path), "size_bytes": status.st_size, **facts}
                for (path, status), facts in zip(files, described, strict=True)
            ],
            "count": len(found.files),
        }
        if end < len(found.files):
            answer["next_offset"] = end
        if found.truncated:
            answer["truncated"] = "there is too much to look through: name a folder"
        return answer

    def _allowed(self, files: list[Path]) -> list[tuple[Path, os.stat_result]]:
        """The files that may be read: links that lead out, devices and pipes are left out."""
        kept = []
        for file in files:
            try:
                with self._paths.open(str(file)) as opened:
                    kept.append((file, os.fstat(opened.fd)))
            except PathError:
                continue
        return kept


def _outermost(folders: list[Path]) -> list[Path]:
    """The folders that are not inside another one."""
    return [folder for folder in folders if not any(other in folder.parents for other in folders)]
