"""Scoring a pair of videos: raw samples whose geometry the caller knows, or files that say it themselves."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from acuity.errors import BackendError, ModelError
from acuity.jobs.external_task import ExternalPayload
from acuity.jobs.score_task import ScorePayload
from acuity.jobs.spec import JobSpec
from acuity.mcp.catalog import Tool
from acuity.mcp.external import examine
from acuity.mcp.external_options import option_list
from acuity.mcp.tools.long import long_tool
from acuity.mcp.tools.scoring_schema import ENCODED_INPUT, ENCODED_OUTPUT, RAW_INPUT, RAW_OUTPUT
from acuity.models.spec import parse_spec

if TYPE_CHECKING:
    from acuity.mcp.services import Services

RAW: Final = "vmaf_score"
ENCODED: Final = "vmaf_score_encoded"

_AUTO: Final = "auto"
_PAIRING_WORDS: Final = ("scale", "convert", "rate", "vfr", "hdr")

_RAW_TEXT: Final = """\
Score a distorted raw YUV clip against its reference: how much of what encoding did would a viewer see? \
Use it for .yuv files, whose width, height, pixfmt and bitdepth you know; for MP4, MKV, Y4M and other files \
that say these themselves use vmaf_score_encoded. The score is pooled_metrics.vmaf.mean: 100 looks like the \
reference, above 93 differences are hard to see, a difference of 6 is noticeable. Look also at \
mismatched_model_warning and at acuity.notes. The answer has every frame; for long clips call it through \
submit_job, or take fewer frames with frame_cnt."""

_ENCODED_TEXT: Final = """\
Score an encode against its original, both as they are: MP4, MKV, WebM, MOV, Y4M and so on. Size, format, \
frame rate and times are read from the files; frames are decoded as they are needed and nothing is written \
to disk. The distorted video is scaled and converted to the reference's size and format where that is safe. \
What could give a wrong number (other frame rates, HDR against SDR, missing frames) is refused with the \
argument that settles it. acuity.input says what was compared and how: sizes, scaling, frame counts, offsets \
and ranges; read acuity.notes before trusting the number. The score is pooled_metrics.vmaf.mean: 100 looks \
like the reference, above 93 differences are hard to see. For long videos call it through submit_job."""


def tools(services: Services) -> list[Tool]:
    """vmaf_score and vmaf_score_encoded."""
    family = _Scoring(services)
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

    def __init__(self, services: Services) -> None:
        self._paths = services.paths
        self._binary = services.settings.binary

    async def plan_raw(self, given: Mapping[str, Any]) -> JobSpec:
        arguments = _whole(given)
        title = _title(arguments["ref"], arguments["dis"])
        arguments["ref"] = str(self._paths.check(arguments["ref"]))
        arguments["dis"] = str(self._paths.check(arguments["dis"]))
        self._check_strings(arguments)
        if self._binary is not None:
            payload = await self._external(self._binary, arguments)
            return JobSpec("external", payload.to_dict(), RAW, title)
        scored = _own(arguments, arguments["ref"], arguments["dis"])
        return JobSpec("score", scored.to_dict(), RAW, title)

    async def plan_encoded(self, given: Mapping[str, Any]) -> JobSpec:
        arguments = _whole(given)
        names = ("reference_encoded", "distorted_encoded")
        echo = {name: given[name] for name in names}
        reference, distorted = (str(self._paths.check(given[name])) for name in names)
        self._check_strings(arguments)
        scored = replace(_own(arguments, reference, distorted), echo=echo)
        return JobSpec("score", scored.to_dict(), ENCODED, _title(*echo.values()))

    def _check_strings(self, arguments: dict[str, Any]) -> None:
        """Paths in the model and in features become what they resolve to."""
        arguments["model"] = self._model(
            arguments["model"], clip=not arguments["disable_clip"], transform=arguments["enable_transform"]
        )
        arguments["feature"] = [self._paths.check_feature(text) for text in arguments["feature"]]

    def _model(self, text: str, *, clip: bool, transform: bool) -> str:
        if text == _AUTO:
            if transform or not clip:
                raise ModelError("model 'auto' takes no disable_clip and no enable_transform: name a model")
            return text
        spec = parse_spec(self._paths.check_model(text))
        return replace(
            spec,
            disable_clip=spec.disable_clip or not clip,
            enable_transform=spec.enable_transform or transform,
        ).to_text()

    async def _external(self, named: str, arguments: dict[str, Any]) -> ExternalPayload:
        binary = await examine(named)
        backend = arguments["backend"]
        _refuse_missing(
            backend,
            binary.backends,
            "the local vmaf binary does not advertise it",
            "Pass backend='auto' to let vmaf pick, or rebuild with the requested backend enabled.",
        )
        if arguments["model"] == _AUTO:
            raise ModelError(
                "model 'auto' is Acuity's own, and VMAF_BIN is set: name the model, as version=NAME"
            )
        certain = backend if backend != _AUTO else "cpu" if binary.backends == ("cpu",) else None
        return ExternalPayload(
            binary=str(binary.path),
            reference=arguments["ref"],
            distorted=arguments["dis"],
            width=arguments["width"],
            height=arguments["height"],
            model=arguments["model"],
            options=option_list(binary, arguments, _DEFAULTS),
            backend=backend,
            backend_used=certain,
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
    return ScorePayload(
        reference=reference,
        distorted=distorted,
        model=arguments["model"],
        backend=arguments["backend"],
        width=arguments.get("width"),
        height=arguments.get("height"),
        pixfmt=arguments.get("pixfmt"),
        bitdepth=arguments.get("bitdepth"),
        precision=arguments["precision"],
        features=arguments["feature"],
        predict=not arguments["no_prediction"],
        threads=arguments.get("threads"),
        subsample=arguments["subsample"],
        pairing={
            **{word: arguments[word] for word in _PAIRING_WORDS},
            "frame_skip_ref": arguments["frame_skip_ref"],
            "frame_skip_dis": arguments["frame_skip_dist"],
            "frame_count": arguments.get("frame_cnt", 0),
        },
        allow_damaged=arguments["allow_damaged"],
    )


def _refuse_missing(wanted: str, there: tuple[str, ...], why: str, remedy: str) -> None:
    if wanted != _AUTO and wanted not in there:
        raise BackendError(
            f"backend '{wanted}' requested but {why} (available: {list(there)});"
            f" refusing to fall back silently. {remedy}"
        )


def _whole(given: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has one kind of number: 576.0 is a whole one to a schema, and an int to us."""
    return {name: int(value) if isinstance(value, float) else value for name, value in given.items()}


def _title(reference: str, distorted: str) -> str:
    return f"{os.path.basename(distorted)} against {os.path.basename(reference)}"
