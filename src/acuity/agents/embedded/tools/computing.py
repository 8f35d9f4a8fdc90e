"""compute_vmaf, which scores another pair of files, and the lists of features and models to measure with.

A pair is scored in a worker process, which is started for the first request. It takes neither the measuring
thread nor the interpreter lock, and has less priority than the measurement.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from acuity.agents.schemas import flag, named, outline, record
from acuity.agents.settings import AcuitySettings
from acuity.agents.tools import extractors, models
from acuity.agents.tools.argument_names import accepting
from acuity.agents.tools.long_tool import long_tool
from acuity.agents.tools.scoring_schema import asked_models, model_argument
from acuity.agents.tools.services import Services
from acuity.errors import GEOMETRY
from acuity.jobs.progress import ProgressListener
from acuity.jobs.service import JobOutcome, Jobs, JobsConfig
from acuity.jobs.tasks.score import score_payload
from acuity.models.choose import AUTO
from acuity.models.sources import model_folders
from acuity.scoring.fronts import EMBEDDED
from acuity.scoring.request import Request
from longwire.product.catalog import Arguments, Tool
from longwire.work import JobSpec

if TYPE_CHECKING:
    from acuity.access.paths import AllowedPaths

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
_LONGEST: Final = 86_400.0  # seconds for one pair; a client that stops waiting stops the work
_NICE: Final = 10
_MODEL_NAMES: Final = ("model", "model_version")
_RAW: Final = {"pixel_format": "420", "bitdepth": 8}  # raw video that doesn't say more


class LazyJobs(Jobs):
    """Jobs in one worker process, which is started for the first of them. For the server's event loop."""

    def __init__(self, paths: AllowedPaths) -> None:
        # The worker may open models known by name too: they are our choice, not a client's.
        models = (os.path.realpath(folder) for folder, _ in model_folders())
        allowed = map(str, (*paths.roots, *paths.files))
        roots = tuple(dict.fromkeys([*allowed, *filter(os.path.isdir, models)]))
        private = tuple(map(str, paths.private))
        super().__init__(JobsConfig(1, _QUEUE, _LONGEST, _QUEUE, None, _NICE, roots=roots, private=private))
        self._starting = asyncio.Lock()
        self.started = False

    async def run(
        self, spec: JobSpec, *, client: str, progress: ProgressListener | None = None
    ) -> JobOutcome:
        async with self._starting:
            if not self.started:
                await self.start()
                self.started = True
        return await super().run(spec, client=client, progress=progress)

    async def close(self) -> None:
        """End the worker, and whatever it does; may be called again."""
        if self.started:
            await self.stop(0.0)


def embedded_services(paths: AllowedPaths) -> tuple[Services, LazyJobs]:
    """The services of the tools that score and describe files beside the measurement."""
    jobs = LazyJobs(paths)
    return Services(AcuitySettings(), paths, jobs), jobs


def tools(services: Services) -> list[Tool]:
    paths = services.paths

    async def plan(given: Arguments) -> JobSpec:
        fields = EMBEDDED.fields(given)
        raw = "width" in fields or "height" in fields
        models = asked_models(given, names=_MODEL_NAMES)
        fields["models"] = [model if model == AUTO else paths.check_model(model) for model in models]
        reference, distorted = (
            str(paths.check(given[name])) for name in ("reference_path", "distorted_path")
        )
        fields |= {"default_model": bool(models) and not given.given.intersection(_MODEL_NAMES)}
        fields |= {"guess": not raw, "threads": 1}
        request = Request(reference, distorted, **{**(_RAW if raw else {}), **fields})
        title = f"{os.path.basename(distorted)} against {os.path.basename(reference)}"
        return JobSpec("score", score_payload(request, precision="max"), _TOOL, title)

    compute = long_tool(
        services, _TOOL, "Score a pair of files", _TEXT, _INPUT, _OUTPUT, plan, shaped=_with_facts
    )
    listed = [replace(tool, description=_TEXTS[tool.name]) for tool in models.tools(services)]
    return [extractors.listing("list_features", _FEATURES_TEXT, names=True), *listed, *accepting([compute])]


def _with_facts(report: dict[str, Any]) -> dict[str, Any]:
    """The report with its main figures at the top."""
    about = report["acuity"]
    return {
        "score": report["score"],
        "pool_method": "mean",
        "frames_scored": about["frames"],
        "model_version": about["model"],
        **{name: about[name] for name in ("model", "bitdepth", "width", "height")},
        **report,
    }


# The settings of a request besides the videos and the model.
_CHOICES: Final = [name for name in EMBEDDED.settings if name not in (*GEOMETRY, "models")]
_INPUT: Final = record(
    "reference_path distorted_path",
    reference_path=named("The original, in a folder that this server may read."),
    distorted_path=named("The version to judge."),
    **EMBEDDED.arguments(*GEOMETRY),
    model=model_argument(f"{EMBEDDED.help('models')}."),
    model_version=named("The same as 'model', for clients that name a version: vmaf_v0.6.1."),
    **EMBEDDED.arguments(*_CHOICES),
    include_frames=flag(
        "Whether the answer has the figures of every frame, if they fit in one message.", default=False
    ),
)
_OUTPUT: Final = outline(
    "score:number? pool_method:string pooled_metrics:object frames_scored,bitdepth,width,height:integer "
    "model,model_version:string?",
    "metrics,frames,notes:array frames_omitted,aggregate_metrics,acuity:object "
    "mismatched_model_warning:string",
)
