"""Scoring a pair of files beside the measurement: in a process of its own, started by the first who asks.

Neither the measuring thread nor the interpreter lock is used, and the worker steps back for both.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from acuity.access.path_text import shown
from acuity.errors import InputError, JobFailed, PathError
from acuity.jobs.job import JobSpec, ProgressListener
from acuity.jobs.tasks.score import ScorePayload
from acuity.mcp.tools.scoring_schema import DEFAULT_MODEL
from acuity.models.sources import model_folders
from acuity.models.spec import DEFAULT_NAME, parse_spec

if TYPE_CHECKING:
    from acuity.access.paths import AllowedPaths
    from acuity.jobs.service import Jobs

_Checked = TypeVar("_Checked")

TOOL: Final = "compute_vmaf"
AUTO: Final = "auto"

_QUEUE: Final = 8  # pairs that may wait
_LONGEST: Final = 86_400.0  # seconds for one pair; whoever stops waiting stops the work
_NICE: Final = 10
_RAW: Final = {"pixel_format": "420", "bitdepth": 8}  # raw video that doesn't say more

# The worker's sentences name the tools of the server that it usually works for.
_REMEDIES: Final = (
    ("score the pair with vmaf_score_encoded", "leave out width, height, pixel_format and bitdepth"),
    ("score the pair with vmaf_score, which takes", "give"),
    ("pixfmt", "pixel_format"),
    ("call list_extractors", "call list_features"),
)


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
        self, arguments: Mapping[str, Any], *, client: str, progress: ProgressListener | None = None
    ) -> dict[str, Any]:
        """The report on a pair, and what counts in it at the top; raises AcuityError."""
        payload = self._payload(arguments)
        title = f"{os.path.basename(payload.distorted)} against {os.path.basename(payload.reference)}"
        jobs = await self._running()
        try:
            outcome = await jobs.run(
                JobSpec("score", payload.to_dict(), TOOL, title), client=client, progress=progress
            )
        except JobFailed as error:
            raise JobFailed(_in_our_words(str(error))) from error
        return _answer(payload, outcome.document)

    async def close(self) -> None:
        """End the worker, and whatever it does; may be called again."""
        jobs, self._jobs = self._jobs, None
        if jobs is not None:
            await jobs.stop(0.0)

    def _payload(self, arguments: Mapping[str, Any]) -> ScorePayload:
        given: dict[str, Any] = dict(arguments)
        for name, value in arguments.items():
            if isinstance(value, float):  # JSON has one kind of number: 576.0 is a whole one to a schema
                given[name] = int(value)
        if "width" in given or "height" in given:
            given = {**_RAW, **given}
        model = _model(given)
        return ScorePayload(
            reference=str(self._file(given["reference_path"], self.paths.check)),
            distorted=str(self._file(given["distorted_path"], self.paths.check)),
            model=model if model == AUTO else self._file(model, self.paths.check_model),
            width=given.get("width"),
            height=given.get("height"),
            pixfmt=given.get("pixel_format"),
            bitdepth=given.get("bitdepth"),
            precision="max",
            threads=self._threads,
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
        return tuple(dict.fromkeys([*map(str, self.paths.roots), *filter(os.path.isdir, models)]))

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
                )
                jobs = Jobs(config)
                await jobs.start()
                self._jobs = jobs
            return self._jobs


def _model(given: Mapping[str, Any]) -> str:
    """The model that was asked for, by either of its names."""
    model, version = str(given["model"]), given.get("model_version")
    if version is None:
        return model
    if model != DEFAULT_MODEL:
        raise InputError(f"'model' is '{model}' and 'model_version' is '{version}': give one of them")
    return str(version)


def _answer(payload: ScorePayload, report: dict[str, Any]) -> dict[str, Any]:
    name = DEFAULT_NAME if payload.model == AUTO else parse_spec(payload.model).name
    about = report["acuity"]
    return {
        "score": report["pooled_metrics"][name]["mean"],
        "pool_method": "mean",
        "frames_scored": about["frames"],
        "bitdepth": about["bitdepth"],
        "model": about["model"],
        "model_version": about["model"],
        "width": about["width"],
        "height": about["height"],
        **{key: value for key, value in report.items() if key not in ("backend_requested", "backend_used")},
    }


def _in_our_words(sentence: str) -> str:
    for theirs, ours in _REMEDIES:
        sentence = sentence.replace(theirs, ours)
    return sentence
