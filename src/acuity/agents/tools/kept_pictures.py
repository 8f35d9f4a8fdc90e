"""Keeps the pictures of worst frames in the server's data folder, for as long as their jobs are kept.

Each job that has some has a folder of its own, named by its id. The folder of a job that failed or was
cancelled is removed when it ends. Those of jobs that are no longer known, and the oldest when all have too
many bytes, are removed when the server starts and after each new one.
"""

from __future__ import annotations

import contextlib
import logging
import re
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from acuity.errors import JobError
from longwire.wire.tasks import RunningTasks

if TYPE_CHECKING:
    from acuity.jobs.service import Job, Jobs

logger: Final = logging.getLogger(__name__)

TOOL: Final = "describe_worst_frames"
FOLDER: Final = "worst"  # in the data folder
_MOST_BYTES: Final = 4 << 30  # of all pictures
_ID: Final = re.compile(r"([a-z0-9]{1,16}-)?[0-9a-f]{32}")  # of a job, with the label of its node
_NAME: Final = re.compile(r"[A-Za-z0-9_]{1,80}\.png")


class KeptPictures:
    def __init__(self, data: Path, most_bytes: int = _MOST_BYTES) -> None:
        self._folder = data.absolute() / FOLDER
        self._most = most_bytes
        self._sweeping = RunningTasks()

    def folder(self, job_id: str) -> Path:
        return self._folder / job_id

    def find(self, job_id: str, name: str) -> Path | None:
        """The file of a picture; None if there is none of that name."""
        if not _ID.fullmatch(job_id) or not _NAME.fullmatch(name):
            return None
        path = self.folder(job_id) / name
        return path if path.is_file() and not path.is_symlink() else None

    def names(self, job_id: str) -> list[str]:
        with contextlib.suppress(OSError):
            return sorted(path.name for path in self.folder(job_id).iterdir() if _NAME.fullmatch(path.name))
        return []

    def watch(self, jobs: Jobs) -> Callable[[], None]:
        """Remove what no job needs, now and when jobs end; returns a function that stops this."""

        def changed(job: Job) -> None:
            if not job.over or not self.folder(job.id).exists():
                return
            if job.status == "completed":
                self._sweeping.spawn(self._sweep_quietly(jobs))
            else:
                # A thread that the interpreter waits for: this job may have ended because the server stops.
                threading.Thread(target=remove, args=(self.folder(job.id),)).start()

        forget = jobs.on_change(changed)
        self._sweeping.spawn(self._sweep_quietly(jobs))

        def stop() -> None:
            forget()
            self._sweeping.cancel()

        return stop

    async def sweep(self, jobs: Jobs) -> None:
        """Remove the folders of unknown and unsuccessful jobs, and the oldest of too many bytes."""
        left = self._most
        for folder, size in await anyio.to_thread.run_sync(self._newest_first):
            job = await jobs.get(folder.name)
            needed = job is not None and (not job.over or job.status == "completed")
            if needed and (left := left - size) >= 0:
                continue
            await anyio.to_thread.run_sync(remove, folder)

    async def _sweep_quietly(self, jobs: Jobs) -> None:
        try:
            await self.sweep(jobs)
        except (OSError, JobError) as error:
            logger.warning("old pictures of worst frames were not removed: %s", error)

    def _newest_first(self) -> list[tuple[Path, int]]:
        with contextlib.suppress(FileNotFoundError):
            folders = [path for path in self._folder.iterdir() if _ID.fullmatch(path.name)]
            folders.sort(key=_changed, reverse=True)
            return [(folder, _bytes(folder)) for folder in folders]
        return []


def remove(folder: Path) -> None:
    """Remove a folder; its worker was killed, so a file may still appear while it is emptied."""
    for _ in range(3):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
    logger.warning("the pictures in '%s' could not be removed", folder)


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # removed meanwhile
        return 0.0


def _bytes(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size
    return total
