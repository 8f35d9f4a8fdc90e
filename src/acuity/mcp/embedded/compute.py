"""Scoring a pair of files beside the measurement: in a process of its own, started by the first who asks.

Neither the measuring thread nor the interpreter lock is used, and the worker steps back for both.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from acuity.access.path_text import shown
from acuity.errors import InputError, PathError
from acuity.jobs.job import JobSpec, ProgressListener
from acuity.jobs.tasks.score import score_payload
from acuity.mcp.catalog import Arguments
from acuity.mcp.tools.scoring_schema import asked_models
from acuity.models.choose import AUTO
from acuity.models.sources import model_folders
from acuity.scoring.fronts import EMBEDDED
from acuity.scoring.request import Request

if TYPE_CHECKING:
    from acuity.access.paths import AllowedPaths
    from acuity.jobs.service import Jobs

_Checked = TypeVar("_Checked")

TOOL: Final = "compute_vmaf"

_QUEUE: Final = 8  # pairs that may wait
_LONGEST: Final = 86_400.0  # seconds for one pair; whoever stops waiting stops the work
_NICE: Final = 10
_RAW: Final = {"pixel_format": "420", "bitdepth": 8}  # raw video that doesn't say more


class Compute:
    """One worker process, and whoever waits for it. For the event loop of the server."""

    def __init__(self, paths: AllowedPaths, *, threads: int = 1) -> None:
        self.paths: Final = paths
        self._threads = threads
        self._starting = asyncio.Lock()
        self._jobs: Jobs | None = None

    @property
    def started(self) -> bool:
        return self._jobs is not None

    async def score(
        self, arguments: Arguments, *, client: str, progress: ProgressListener | None = None
    ) -> dict[str, Any]:
        """The report on a pair, and what counts in it at the top; raises AcuityError."""
        request = self._request(arguments)
        title = " against ".join(
            os.path.basename(str(file)) for file in (request.distorted, request.reference)
        )
        spec = JobSpec("score", score_payload(request, precision="max"), TOOL, title)
        jobs = await self._running()
        outcome = await jobs.run(spec, client=client, progress=progress)
        return _answer(outcome.document)

    async def close(self) -> None:
        """End the worker, and whatever it does; may be called again."""
        jobs, self._jobs = self._jobs, None
        if jobs is not None:
            await jobs.stop(0.0)

    def _request(self, arguments: Arguments) -> Request:
        given = EMBEDDED.fields(arguments)
        raw = "width" in given or "height" in given
        if raw:
            given = {**_RAW, **given}
        given["models"] = [
            model if model == AUTO else self._file(model, self.paths.check_model)
            for model in _models(arguments)
        ]
        reference, distorted = (
            str(self._file(arguments[name], self.paths.check))
            for name in ("reference_path", "distorted_path")
        )
        unnamed = not {"model", "model_version"} & arguments.given and bool(given["models"])
        return Request(
            reference, distorted, **given, guess=not raw, threads=self._threads, default_model=unnamed
        )

    @staticmethod
    def _file(text: str, check: Callable[[str], _Checked]) -> _Checked:
        """What a check makes of a client's text; a file that isn't there is said so in a sentence."""
        try:
            return check(text)
        except PathError as error:
            if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError):
                raise PathError(f"no such file under the allowed folders: {shown(text)}") from error
            raise

    def _roots(self) -> tuple[str, ...]:
        """Where the worker may open files: models known by name are our choice, not a client's."""
        models = (os.path.realpath(folder) for folder, _ in model_folders())
        allowed = map(str, (*self.paths.roots, *self.paths.files))
        return tuple(dict.fromkeys([*allowed, *filter(os.path.isdir, models)]))

    async def _running(self) -> Jobs:
        from acuity.jobs.service import Jobs, JobsConfig

        async with self._starting:
            if self._jobs is None:
                config = JobsConfig(
                    workers=1,
                    queue=_QUEUE,
                    time_limit=_LONGEST,
                    kept=_QUEUE,
                    data=None,
                    nice=_NICE,
                    roots=self._roots(),
                    private=tuple(map(str, self.paths.private)),
                )
                jobs = Jobs(config)
                await jobs.start()
                self._jobs = jobs
            return self._jobs


def _models(given: Arguments) -> list[str]:
    """The model that was asked for, by either of its names; `viewing` and `metrics` replace the default."""
    named = [name for name in ("model", "model_version") if name in given.given]
    if len(named) > 1:
        values = " and ".join(f"'{name}' is '{given[name]}'" for name in named)
        raise InputError(f"{values}: give one of them")
    named_by = named[0] if named else None
    model = str(given[named_by or "model"])
    return asked_models([model], named_by, given.get("viewing"), given.get("metrics", ()))


def _answer(report: dict[str, Any]) -> dict[str, Any]:
    about = report["acuity"]
    return {
        "score": report["score"],
        "pool_method": "mean",
        "frames_scored": about["frames"],
        "bitdepth": about["bitdepth"],
        "model": about["model"],
        "model_version": about["model"],
        "width": about["width"],
        "height": about["height"],
        **{key: value for key, value in report.items() if key not in ("backend_requested", "backend_used")},
    }
