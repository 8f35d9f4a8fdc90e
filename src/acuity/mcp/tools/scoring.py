"""Scoring a pair of videos: raw samples whose geometry the caller knows, or files that say it themselves."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from acuity.errors import BackendError, ModelError
from acuity.jobs.job import JobSpec
from acuity.jobs.tasks.external import ExternalPayload
from acuity.jobs.tasks.score import ScorePayload
from acuity.mcp.catalog import Tool
from acuity.mcp.tools.external import External, examine
from acuity.mcp.tools.external_options import option_list
from acuity.mcp.tools.long_tool import long_tool
from acuity.mcp.tools.model_list import ModelList
from acuity.mcp.tools.scoring_schema import (
    DEFAULT_MODEL,
    ENCODED_INPUT,
    ENCODED_OUTPUT,
    RAW_INPUT,
    RAW_OUTPUT,
)
from acuity.models.choose import AUTO
from acuity.models.spec import parse_spec
from acuity.scoring.presets import PRESETS

if TYPE_CHECKING:
    from acuity.mcp.services import Services

RAW: Final = "vmaf_score"
ENCODED: Final = "vmaf_score_encoded"

_PAIRING_WORDS: Final = ("scale", "convert", "rate", "vfr", "hdr")

_RAW_TEXT: Final = """\
Score a distorted raw YUV clip against its reference: how much of what encoding did would a viewer see? \
Use it for .yuv files, whose width, height, pixfmt and bitdepth you know; for MP4, MKV, Y4M and other files \
that say these themselves use vmaf_score_encoded. `score` is the mean over all frames: 100 looks like the \
reference, above 93 differences are hard to see, a difference of 6 is noticeable. `models` has minimum and \
percentiles, `worst` the lowest frames; heed `notes` and mismatched_model_warning. For long clips call it \
through submit_job, or take fewer frames with frame_cnt."""

_ENCODED_TEXT: Final = """\
Score an encode against its original, both as they are: MP4, MKV, WebM, MOV, Y4M and so on. Size, format, \
frame rate and times are read from the files; frames are decoded as they are needed and nothing is written \
to disk. The distorted video is brought to the reference's size and format where that is safe. \
What could give a wrong number (other frame rates, HDR against SDR, frames missing in between) is refused \
with the argument that settles it; where one video ends early, the frames that both have are scored, with \
a note. Read `notes` before trusting the number; acuity.input says what was compared and how. `score` is the \
mean over all frames: 100 looks like the reference, above 93 differences are hard to see. `models` has \
minimum and percentiles, `worst` the lowest frames. For long videos call it through submit_job."""


def tools(services: Services, models: ModelList | None = None) -> list[Tool]:
    """vmaf_score and vmaf_score_encoded; the list of models may be shared with whoever else shows it."""
    family = _Scoring(services, models or ModelList())
    return [
        long_tool(
            services,
            name=RAW,
            title="Score a raw pair",
            description=_RAW_TEXT,
            input_schema=RAW_INPUT,
            output_schema=RAW_OUTPUT,
            plan=family.plan_raw,
        ),
        long_tool(
            services,
            name=ENCODED,
            title="Score encoded videos",
            description=_ENCODED_TEXT,
            input_schema=ENCODED_INPUT,
            output_schema=ENCODED_OUTPUT,
            plan=family.plan_encoded,
        ),
    ]


class _Scoring:
    """Plans: every path checked, every backend there, before anything is queued."""

    def __init__(self, services: Services, models: ModelList) -> None:
        self._paths = services.paths
        self._binary = services.settings.binary
        self._models = models

    async def plan_raw(self, given: Mapping[str, Any]) -> JobSpec:
        pair = {name: given[name] for name in ("ref", "dis")}
        return await self._plan(RAW, given, *pair.values(), echo={})

    async def plan_encoded(self, given: Mapping[str, Any]) -> JobSpec:
        echo = {name: given[name] for name in ("reference_encoded", "distorted_encoded")}
        return await self._plan(ENCODED, given, *echo.values(), echo=echo)

    async def _plan(
        self, tool: str, given: Mapping[str, Any], ref: str, dis: str, *, echo: dict[str, Any]
    ) -> JobSpec:
        """The job for whichever engine answers: the binary that VMAF_BIN names, or Acuity's own."""
        arguments = _whole(given)
        reference, distorted = str(self._paths.check(ref)), str(self._paths.check(dis))
        arguments["feature"] = [self._paths.check_feature(text) for text in arguments["feature"]]
        title = _title(ref, dis)
        if self._binary is not None:
            binary = await examine(self._binary)
            arguments["model"] = await self._checked(_own_model(arguments), arguments, external=True)
            external = replace(_external(binary, arguments, reference, distorted), echo=echo)
            return JobSpec("external", external.to_dict(), tool, title)
        arguments["models"] = [
            await self._checked(model, arguments, external=False) for model in _all_models(arguments)
        ]
        scored = replace(_own(arguments, reference, distorted), echo=echo)
        return JobSpec("score", scored.to_dict(), tool, title)

    async def _checked(self, text: str | None, arguments: Mapping[str, Any], *, external: bool) -> str | None:
        """A model as the engine takes it: a file where it has one, its path resolved, its options added."""
        clip, transform = not arguments["disable_clip"], arguments["enable_transform"]
        if text is None or text == AUTO:
            if transform or not clip:
                what = "model 'auto'" if text == AUTO else "a preset whose models are the vmaf binary's own"
                raise ModelError(f"{what} takes no disable_clip and no enable_transform: name a model")
            return text
        finder = await self._models.finder(external=external)
        spec = parse_spec(self._paths.check_model(text, finder))
        return replace(
            spec,
            disable_clip=spec.disable_clip or not clip,
            enable_transform=spec.enable_transform or transform,
        ).to_text()


def _presets(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Family and version of the test conditions that were asked for."""
    return {family: arguments[family] for family in PRESETS if arguments.get(family) is not None}


def _own_model(arguments: Mapping[str, Any]) -> str | None:
    """The model that was asked for besides a preset's; None where a preset replaces the default."""
    model: str = arguments["model"]
    return None if _presets(arguments) and model == DEFAULT_MODEL else model


def _all_models(arguments: Mapping[str, Any]) -> list[str]:
    own = _own_model(arguments)
    chosen = [PRESETS[family][version] for family, version in _presets(arguments).items()]
    return [*([own] if own is not None else []), *(model for preset in chosen for model in preset.models)]


def _external(
    binary: External, arguments: Mapping[str, Any], reference: str, distorted: str
) -> ExternalPayload:
    """The work for another vmaf binary."""
    backend = arguments["backend"]
    _refuse_missing(
        backend,
        binary.backends,
        "the local vmaf binary does not advertise it",
        "Pass backend='auto' to let vmaf pick, or rebuild with the requested backend enabled.",
    )
    return ExternalPayload(
        binary=str(binary.path),
        reference=reference,
        distorted=distorted,
        model=arguments["model"],
        options=option_list(binary, arguments, _DEFAULTS, decoded="width" not in arguments),
        width=arguments.get("width"),
        height=arguments.get("height"),
        pixfmt=arguments.get("pixfmt"),
        bitdepth=arguments.get("bitdepth"),
        features=arguments["feature"],
        presets=_presets(arguments),
        predict=not arguments["no_prediction"],
        pairing=_pairing(arguments),
        allow_damaged=arguments["allow_damaged"],
        backend=backend,
        backend_used=backend if backend != AUTO else "cpu" if binary.backends == ("cpu",) else None,
    )


_DEFAULTS: Final[dict[str, Any]] = {
    name: schema["default"] for name, schema in RAW_INPUT["properties"].items() if "default" in schema
}


def _own(arguments: Mapping[str, Any], reference: str, distorted: str) -> ScorePayload:
    """The work for Acuity's own engine."""
    from acuity.devices import list_backends

    _refuse_missing(
        arguments["backend"],
        tuple(backend.name for backend in list_backends() if backend.usable),
        "this server does not have it",
        "Pass backend='auto' to let Acuity pick.",
    )
    model, *others = arguments["models"]
    chosen = [PRESETS[family][version] for family, version in _presets(arguments).items()]
    return ScorePayload(
        reference=reference,
        distorted=distorted,
        model=model,
        more_models=others,
        backend=arguments["backend"],
        width=arguments.get("width"),
        height=arguments.get("height"),
        pixfmt=arguments.get("pixfmt"),
        bitdepth=arguments.get("bitdepth"),
        precision=arguments["precision"],
        features=[*arguments["feature"], *(feature for preset in chosen for feature in preset.features)],
        predict=not arguments["no_prediction"],
        threads=arguments.get("threads"),
        subsample=arguments["subsample"],
        pairing=_pairing(arguments),
        allow_damaged=arguments["allow_damaged"],
    )


def _pairing(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of PairOptions."""
    words = {word: arguments[word] for word in _PAIRING_WORDS}
    presets = (PRESETS[family][version] for family, version in _presets(arguments).items())
    if words["convert"] == "auto" and any(preset.common_bitdepth for preset in presets):
        words["convert"] = "depth"
    return {
        **words,
        "frame_skip_ref": arguments["frame_skip_ref"],
        "frame_skip_dis": arguments["frame_skip_dist"],
        "frame_count": arguments.get("frame_cnt", 0),
    }


def _refuse_missing(wanted: str, there: tuple[str, ...], why: str, remedy: str) -> None:
    if wanted != AUTO and wanted not in there:
        raise BackendError(
            f"backend '{wanted}' requested but {why} (available: {list(there)});"
            f" refusing to fall back silently. {remedy}"
        )


def _whole(given: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has one kind of number: 576.0 is a whole one to a schema, and an int to us."""
    return {name: int(value) if isinstance(value, float) else value for name, value in given.items()}


def _title(reference: str, distorted: str) -> str:
    return f"{os.path.basename(distorted)} against {os.path.basename(reference)}"
