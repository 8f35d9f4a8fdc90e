"""The tool list_videos, which lists the folders that this server may read, and the videos in them.

Videos are found by name, and described in a separate process.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections import OrderedDict, deque
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from acuity.access.paths import KINDS, AllowedPaths
from acuity.agents.schemas import outline, record, text, whole
from acuity.agents.tools.services import Services
from acuity.child_process import ChildProcess, document
from acuity.errors import PathError
from acuity.video.readers.guess import CONTAINER_SUFFIXES, RAW_SUFFIXES
from longwire.product.catalog import Call, Tool

# Recognised by extension, because opening every file would take too long.
SUFFIXES: Final = RAW_SUFFIXES | CONTAINER_SUFFIXES

# Bounds of the search, because an allowed folder may be a whole disk.
_DEPTH: Final = 8
_MOST_FOLDERS: Final = 2000
_MOST_VIDEOS: Final = 5000
_WALK_SECONDS: Final = 5.0

_PROBE: Final = "acuity.agents.tools.video_probe"
_EACH: Final = 5.0  # seconds for one file
_TOGETHER: Final = 20.0  # seconds for the files of one call
_STARTS: Final = 4  # of the process, in one call: each file that crashes it costs one
_KEPT: Final = 2000  # files whose description is kept

_Key: TypeAlias = tuple[str, int, int, int]


def _find(folders: Iterable[Path], name: str, suffixes: Collection[str]) -> tuple[list[Path], bool]:
    """The files under these folders whose names contain the text, and whether the search was cut short.

    Links to folders are not followed.
    """
    found: list[Path] = []
    waiting = deque((folder, 0) for folder in sorted(folders))
    seen: set[Path] = set()
    end = time.monotonic() + _WALK_SECONDS
    truncated = False
    while waiting:
        folder, depth = waiting.popleft()
        if folder in seen:
            continue
        if len(seen) >= _MOST_FOLDERS or len(found) >= _MOST_VIDEOS or time.monotonic() > end:
            truncated = True
            break
        seen.add(folder)
        files, inside = _look_into(folder, suffixes)
        found += (file for file in files if name.lower() in file.name.lower())
        if depth < _DEPTH:
            waiting += ((place, depth + 1) for place in inside)
        else:
            truncated = truncated or bool(inside)
    return sorted(found)[:_MOST_VIDEOS], truncated or len(found) > _MOST_VIDEOS


def _look_into(folder: Path, suffixes: Collection[str]) -> tuple[list[Path], list[Path]]:
    """The files with these endings and the subfolders of a folder, without hidden ones."""
    files: list[Path] = []
    folders: list[Path] = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(folder / entry.name)
            elif os.path.splitext(entry.name)[1].lower() in suffixes:
                files.append(folder / entry.name)
    return files, sorted(folders)


class VideoProbe:
    """Describes files in a process that may crash or be killed, and keeps the descriptions."""

    def __init__(self, roots: Sequence[Path], private: Sequence[Path] = ()) -> None:
        self._folders = [*map(str, roots)], [*map(str, private)]
        self._known: OrderedDict[_Key, dict[str, Any]] = OrderedDict()
        self._busy = asyncio.Lock()

    async def describe(self, files: Sequence[tuple[Path, os.stat_result]]) -> list[dict[str, Any]]:
        """The descriptions of these files, in the same order: see video_probe.py."""
        keys = [(str(path), about.st_mtime_ns, about.st_size, about.st_ino) for path, about in files]
        async with self._busy:  # one process is enough, and the next caller may find all files described
            late: dict[_Key, dict[str, Any]] = {}
            end = time.monotonic() + _TOGETHER
            for _ in range(_STARTS):
                missing = deque(key for key in keys if key not in self._known and key not in late)
                if not missing or time.monotonic() >= end:
                    break
                await asyncio.to_thread(self._run, missing, late, end)
            unseen = {"problem": "it was not looked at: the files before it took too long"}
            found = [self._known.get(key) or late.get(key, unseen) for key in keys]
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return found

    def _run(self, missing: deque[_Key], late: dict[_Key, dict[str, Any]], end: float) -> None:
        """Let a new process describe one file after another, until it is done, has ended or is too slow."""
        process = ChildProcess(_PROBE)
        try:
            process.write(document(self._folders))
            if not process.ready(end - time.monotonic()):
                return
            process.message()
            while missing and (left := end - time.monotonic()) > 0:
                key = missing.popleft()
                late[key] = {"problem": "it takes too long to look at"}
                process.write(document(key[0]))
                if not process.ready(min(_EACH, left)):
                    return
                self._known[key] = {"problem": "it can't be read: its decoder crashed"}
                self._known[key] = json.loads(process.message()[1])
        except (EOFError, OSError):  # it has ended
            return
        finally:
            process.kill()
            process.close()


NAME: Final = "list_videos"
_VIDEO: Final = "video"
_MOST: Final = 200  # videos in one answer

_TEXT: Final = "The folders this server may read, and the videos in them with size, format and length."

_INPUT: Final = record(
    folder=text("Only this one."),
    name=text("Only names with this in them."),
    kind={"enum": [_VIDEO, *KINDS], "default": _VIDEO, "description": "table: .parquet; model: .onnx."},
    limit=whole("At most so many.", minimum=1, maximum=_MOST, default=50),
    offset=whole("next_offset, to go on.", minimum=0, default=0),
)
_OUTPUT: Final = outline("folders,videos:array count:integer")


def tools(services: Services) -> list[Tool]:
    paths = services.paths
    probe = VideoProbe(paths.roots, paths.private)

    async def list_videos(call: Call) -> dict[str, Any]:
        given = call.arguments
        folders = _outermost([root for root in paths.video_roots if root.is_dir()])
        chosen = [paths.check_folder(given["folder"])] if "folder" in given else folders
        kind = given["kind"]
        suffixes = SUFFIXES if kind == _VIDEO else {KINDS[kind]}
        found, truncated = await asyncio.to_thread(_find, chosen, given.get("name", ""), suffixes)
        start, end = int(given["offset"]), int(given["offset"]) + int(given["limit"])
        files = await asyncio.to_thread(_allowed, paths, found[start:end])
        described = await probe.describe(files) if kind == _VIDEO else [{"kind": kind} for _ in files]
        answer: dict[str, Any] = {
            "folders": [str(folder) for folder in folders],
            "videos": [
                {"path": str(path), "size_bytes": status.st_size, **facts}
                for (path, status), facts in zip(files, described, strict=True)
            ],
            "count": len(found),
        }
        if end < len(found):
            answer["next_offset"] = end
        if truncated:
            answer["truncated"] = "there is too much to look through: name a folder"
        return answer

    return [Tool(NAME, "List videos", _TEXT, _INPUT, list_videos, _OUTPUT)]


def _allowed(paths: AllowedPaths, files: list[Path]) -> list[tuple[Path, os.stat_result]]:
    """The files that may be read: links that lead out, devices and pipes are left out."""
    kept = []
    for file in files:
        with contextlib.suppress(PathError), paths.open(str(file)) as opened:
            kept.append((file, os.fstat(opened.fd)))
    return kept


def _outermost(folders: list[Path]) -> list[Path]:
    """The folders that are not inside another one."""
    return [folder for folder in folders if not any(other in folder.parents for other in folders)]
