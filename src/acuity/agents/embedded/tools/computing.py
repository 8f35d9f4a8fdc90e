"""compute_vmaf, which scores another pair of files, and the lists of features and models to measure with.

A pair is scored in a process of its own, started by the first who asks: neither the measuring thread nor the
interpreter lock is used, and the worker steps back for both.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import mcp_types as types

from acuity.access.path_text import shown
from acuity.agents.schemas import flag, named, outline, record
from acuity.agents.score_answers import in_order
from acuity.agents.tools import models
from acuity.agents.tools.argument_names import accepting
from acuity.agents.tools.long_tool import ProgressNotifications
from acuity.agents.tools.scoring_schema import asked_models, model_argument
from acuity.errors import GEOMETRY, InputError, PathError
from acuity.features import EXTRACTORS, get_extractor
from acuity.features.describe import describe_extractor
from acuity.jobs.job import JobSpec, ProgressListener
from acuity.jobs.tasks.score import score_payload
from acuity.models.choose import AUTO
from acuity.models.sources import model_folders
from acuity.scoring.fronts import EMBEDDED
from acuity.scoring.request import Request
from longwire.product.catalog import Arguments, Call, Tool
from longwire.product.results import answer, fit, ordered_answer

if TYPE_CHECKING:
    from acuity.access.paths import AllowedPaths
    from acuity.jobs.service import Jobs

_Checked = TypeVar("_Checked")

_TOOL: Final = "compute_vmaf"
_TEXT: Final = """\
Score a pair of files of their own, in another process: the measurement that runs here is neither asked \
nor disturbed. Raw YUV needs width and height, and pixel_format and bitdepth unless it is 8-bit 4:2:0; \
MP4, MKV, Y4M and other files that say these themselves need none of it. `score` is the mean over all \
frames: 100 looks like the reference, above 93 differences are hard to see. Files are read from allowed \
folders only."""
_FEATURES_TEXT: Final = """\
All feature extractors there are, with what each measures; with a `name` or `detail` also the figures \
that it gives for every frame and the options it takes. vmaf.features has those that are being measured."""

_TEXTS: Final = {
    "list_models": "The models that vmaf.request_model_swap and compute_vmaf can name, with their path, "
    "format and size, and whether this version can score with them (`usable`).",
    "describe_model": "What a model is: the features it reads and their options, its type, the range of its "
    "scores, what it is meant for, and whether this version can score with it. If not, `problem` says why.",
}
_QUEUE: Final = 8  # pairs that may wait
_LONGEST: Final = 86_400.0  # seconds for one pair; whoever stops waiting stops the work
_NICE: Final = 10
_RAW: Final = {"pixel_format": "420", "bitdepth": 8}  # raw video that doesn't say more


class Compute:
    """One worker process, and whoever waits for it. For the event loop of the server."""

    def __init__(self, paths: AllowedPaths) -> None:
        self.paths: Final = paths
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
        spec = JobSpec("score", score_payload(request, precision="max"), _TOOL, title)
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
        return Request(reference, distorted, **given, guess=not raw, threads=1, default_model=unnamed)

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
                roots, private = self._roots(), tuple(map(str, self.paths.private))
                jobs = Jobs(
                    JobsConfig(1, _QUEUE, _LONGEST, _QUEUE, None, _NICE, roots=roots, private=private)
                )
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


def tools(compute: Compute) -> list[Tool]:
    """list_features, list_models, describe_model and compute_vmaf."""
    known = {name: describe_extractor(extractor) for name, extractor in EXTRACTORS.items()}
    brief = [{key: document[key] for key in ("name", "summary")} for document in known.values()]

    def features(call: Call) -> types.CallToolResult:
        chosen = brief
        if (name := call.arguments.get("name")) is not None:
            get_extractor(name)  # raises for an unknown name, with the known ones
            chosen = [known[name]]
        elif call.arguments["detail"]:
            chosen = [*known.values()]
        return answer({"features": list(EXTRACTORS), "count": len(EXTRACTORS), "extractors": chosen})

    async def score(call: Call) -> types.CallToolResult:
        notifications = ProgressNotifications(call.progress)
        document = await compute.score(call.arguments, client=call.client, progress=notifications.send)
        await notifications.finish()
        if call.arguments["include_frames"]:
            return ordered_answer(in_order(fit(document, None)))
        return ordered_answer({k: v for k, v in in_order(document | {"frames": []}).items() if k != "frames"})

    return [
        Tool("list_features", "List feature extractors", _FEATURES_TEXT, _LIST_INPUT, features, _LIST),
        *(replace(tool, description=_TEXTS[tool.name]) for tool in models.tools(compute)),
        *accepting([Tool(_TOOL, "Score a pair of files", _TEXT, _INPUT, score, _OUTPUT)]),
    ]


_LIST_INPUT: Final = record(
    {
        "name": named("Only this extractor, in full.", 128),
        "detail": flag("All of them in full: 57,000 characters.", default=False),
    }
)
_LIST: Final = outline(
    {"features": "array", "count": "integer", "extractors": "array"},
    extractors="What each measures; in full also `provides`, `options` and so on.",
)

# The settings of a request besides the videos and the model.
_CHOICES: Final = [name for name in EMBEDDED.settings if name not in (*GEOMETRY, "models")]
_INPUT: Final = record(
    {
        "reference_path": named("The original, in a folder that this server may read."),
        "distorted_path": named("The version to judge."),
        **EMBEDDED.arguments(*GEOMETRY),
        "model": model_argument(f"{EMBEDDED.help('models')}."),
        "model_version": named("The same as 'model', for clients that name a version: vmaf_v0.6.1."),
        **EMBEDDED.arguments(*_CHOICES),
        "include_frames": flag(
            "Whether the answer has the figures of every frame, if they fit in one message.", default=False
        ),
    },
    "reference_path",
    "distorted_path",
)
_OUTPUT: Final = outline(
    {"score": ["number", "null"], "pool_method": "string", "pooled_metrics": "object"}
    | dict.fromkeys(("frames_scored", "bitdepth", "width", "height"), "integer")
    | {name: ["string", "null"] for name in ("model", "model_version")},
    dict.fromkeys(("metrics", "frames", "notes"), "array")
    | dict.fromkeys(("frames_omitted", "aggregate_metrics", "acuity"), "object")
    | {"mismatched_model_warning": "string"},
    bitdepth="Bits of a sample, as they were compared.",
    notes="Warnings come before the score: level, code, text.",
    mismatched_model_warning="Only where the model is made for another resolution.",
)
