"""The tools vmaf_score, for raw video, and vmaf_score_encoded, for files that carry their geometry."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from acuity.agents.score_answers import IMAGES_ASKED
from acuity.agents.tool_answers import WORST
from acuity.agents.tools.external import External, examine, option_list
from acuity.agents.tools.geometry_question import settle_geometry
from acuity.agents.tools.kept_pictures import KeptPictures
from acuity.agents.tools.long_tool import is_short, long_tool
from acuity.agents.tools.models import ModelList
from acuity.agents.tools.scoring_schema import (
    ENCODED_INPUT,
    ENCODED_OUTPUT,
    RAW_INPUT,
    RAW_OUTPUT,
    asked_models,
)
from acuity.errors import BackendError, InputError, ModelError
from acuity.jobs.job import JobSpec
from acuity.jobs.tasks.external import ExternalPayload
from acuity.jobs.tasks.score import score_payload
from acuity.models.choose import AUTO
from acuity.models.spec import parse_spec
from acuity.scoring.fronts import FRONTS
from acuity.scoring.presets import PRESETS
from acuity.scoring.request import Request, tiny_fault
from acuity.tiny.files import shipped_models
from longwire.product.catalog import Arguments, Tool

if TYPE_CHECKING:
    from acuity.agents.services import Services

RAW: Final = "vmaf_score"
ENCODED: Final = "vmaf_score_encoded"

_RAW_TEXT: Final = """\
Score a distorted raw YUV clip against its reference. It takes .yuv files, whose width, height, pixfmt and \
bitdepth you know; MP4, MKV, Y4M and other files that say these themselves are for vmaf_score_encoded, \
which explains the options ("as there") and the answer. A difference of 6 is noticeable. Heed `notes` and \
mismatched_model_warning. For long clips call it through submit_job, or take fewer frames with frame_cnt."""

_ENCODED_TEXT: Final = """\
Score an encode against its original, both as they are (MP4, MKV, WebM, Y4M and others). The distorted \
video is brought to the reference's size and format where that is safe. What could give a wrong number \
(other frame rates, HDR against SDR, frames missing in between) is refused with the argument that settles \
it; where one video ends early, the frames that both have are scored. Read `notes` before trusting the \
number; acuity.input says what was compared. `score` is the mean of all frames: 100 looks like the \
reference, from 93 on nearly so. `models` has minimum and percentiles, `worst` the lowest \
frames, worst_segments the lowest stretches. For long videos use submit_job."""


def tools(
    services: Services, models: ModelList | None = None, pictures: KeptPictures | None = None
) -> list[Tool]:
    """vmaf_score and vmaf_score_encoded; other tools and resources may share models and pictures."""
    family = _Scoring(services, models or ModelList(), pictures or KeptPictures(services.settings.data))
    settle = partial(settle_geometry, services.paths)
    return [
        long_tool(
            services,
            RAW,
            "Score a raw pair",
            _RAW_TEXT,
            RAW_INPUT,
            RAW_OUTPUT,
            family.plan_raw,
            settle=settle,
        ),
        long_tool(
            services,
            ENCODED,
            "Score encoded videos",
            _ENCODED_TEXT,
            ENCODED_INPUT,
            ENCODED_OUTPUT,
            family.plan_encoded,
        ),
    ]


class _Scoring:
    """Makes jobs from arguments, and checks every path and the backend before anything is queued."""

    def __init__(self, services: Services, models: ModelList, pictures: KeptPictures) -> None:
        self._jobs = services.jobs
        self._pictures = pictures
        self._paths = services.paths
        self._binary = services.settings.binary
        self._models = models

    async def plan_raw(self, given: Arguments) -> JobSpec:
        _need_reference(RAW, given, "ref")
        return await self._plan(RAW, given, (given.get("ref"), given["dis"]), echo=given.asked)

    async def plan_encoded(self, given: Arguments) -> JobSpec:
        _need_reference(ENCODED, given, "reference_encoded")
        names = ("reference_encoded", "distorted_encoded")
        echo = {name: given[name] for name in names if name in given}
        return await self._plan(ENCODED, given, (given.get(names[0]), given[names[1]]), echo)

    async def _plan(
        self, tool: str, arguments: Arguments, pair: tuple[str | None, str], echo: dict[str, Any]
    ) -> JobSpec:
        """The job for the scoring engine: the binary that VMAF_BIN names, or Acuity's own."""
        fields = FRONTS[tool].fields(arguments)
        images = [*dict.fromkeys(arguments.get("images", ()))]
        echo = {**echo, IMAGES_ASKED: images} if images else echo
        alone = fields.get("no_reference", False)
        if alone and "model" not in arguments.given:
            fields["models"] = []
        if (fault := tiny_fault(fields, FRONTS[tool].name)) is not None:
            raise ModelError(fault)
        checked_pair = [None if path is None else str(self._paths.check(path)) for path in pair]
        reference, distorted = None if alone else checked_pair[0], str(checked_pair[1])
        if "tiny_model" in fields:
            fields["tiny_model"] = await self._tiny(fields["tiny_model"])
        request = Request(reference, distorted, **fields, guess=tool == ENCODED)
        presets = {family: arguments[family] for family in PRESETS if arguments.get(family) is not None}
        chosen = [PRESETS[family][version] for family, version in presets.items()]
        if request.convert == "auto" and any(preset.common_bitdepth for preset in chosen):
            request = replace(request, convert="depth")
        request = replace(request, features=[self._paths.check_feature(text) for text in request.features])
        if request.no_reference and (arguments["disable_clip"] or arguments["enable_transform"]):
            raise _no_model_to_change("no_reference, which scores with no classic model,")
        if self._binary is not None and request.tiny_model is not None:
            raise BackendError(
                "tiny_model is scored by Acuity's own engine, and VMAF_BIN names another: leave it out, or "
                "unset VMAF_BIN"
            )
        external = await examine(self._binary) if self._binary is not None else None
        short = is_short(request.frames, reference, distorted)
        models = asked_models(
            [*map(str, request.models)],
            "model" if "model" in arguments.given else None,
            request.viewing,
            request.metrics,
            presets,
        )
        request = replace(request, default_model="model" not in arguments.given and bool(models))
        if external is None:
            models += [model for preset in chosen for model in preset.models]
        checked = [await self._checked(model, arguments, external=external is not None) for model in models]
        request = replace(request, models=checked)
        if external is None:
            own = [feature for preset in chosen for feature in preset.features]
            request = replace(request, features=[*request.features, *own])
            refuse_missing_device(request)
            id = self._jobs.new_id() if WORST in images else None
            folder = None if id is None else str(self._pictures.folder(id))
            payload = score_payload(request, precision=arguments["precision"], pictures=folder, **echo)
            return JobSpec("score", payload, tool, _title(reference, pair[1]), id=id, short=short)
        if not models and (arguments["disable_clip"] or arguments["enable_transform"]):
            raise _no_model_to_change("a preset whose models are the vmaf binary's own")
        payload = _external(external, request, arguments, presets, echo).to_document()
        return JobSpec("external", payload, tool, _title(reference, pair[1]), short=short)

    async def _tiny(self, text: str) -> str:
        """The tiny model for the engine: a registered name, or its file with the path resolved."""
        if os.sep not in text:
            if text in await asyncio.to_thread(_registered):
                return text
            if (file := await self._models.find_tiny(text)) is not None:
                return str(self._paths.check_tiny(str(file.path)))
        return str(self._paths.check_tiny(text))

    async def _checked(self, text: str, arguments: Mapping[str, Any], *, external: bool) -> str:
        """The model argument for the engine: its file if it has one, the path resolved, options added."""
        clip, transform = not arguments["disable_clip"], arguments["enable_transform"]
        if text == AUTO:
            if transform or not clip:
                viewing = arguments.get("viewing")
                raise _no_model_to_change(f"viewing='{viewing}'" if viewing else f"model '{AUTO}'")
            return text
        finder = await self._models.finder(external=external)
        spec = parse_spec(self._paths.check_model(text, finder))
        return replace(
            spec,
            disable_clip=spec.disable_clip or not clip,
            enable_transform=spec.enable_transform or transform,
        ).to_text()


def _need_reference(tool: str, given: Arguments, name: str) -> None:
    if name not in given and not given.get("no_reference"):
        raise InputError(f"tool '{tool}' missing required argument: '{name}' (or pass no_reference=true)")


def _registered() -> list[str]:
    """The names of tiny models that the engine finds by itself."""
    return [file.name for file in shipped_models()]


def _no_model_to_change(what: str) -> ModelError:
    return ModelError(f"{what} takes no disable_clip and no enable_transform: name a model")


def _external(
    binary: External,
    request: Request,
    arguments: Mapping[str, Any],
    presets: dict[str, str],
    echo: dict[str, Any],
) -> ExternalPayload:
    """The payload for another vmaf binary."""
    backend = request.backend
    _refuse_missing(
        backend,
        binary.backends,
        "the local vmaf binary does not advertise it",
        "Pass backend='auto' to let vmaf pick, or rebuild with the requested backend enabled.",
    )
    return ExternalPayload(
        binary=str(binary.path),
        request=request,
        options=option_list(binary, arguments, _DEFAULTS, decoded=request.width is None),
        presets=presets,
        backend_used=backend if backend != AUTO else "cpu" if binary.backends == ("cpu",) else None,
        echo=echo,
    )


_DEFAULTS: Final[dict[str, Any]] = {
    name: schema["default"] for name, schema in RAW_INPUT["properties"].items() if "default" in schema
}


def refuse_missing_device(request: Request) -> None:
    """Refuse a backend that this machine lacks; raises BackendError.

    Nothing is started here: what else is wrong with a card is for the worker to say.
    """
    from acuity.devices import BACKENDS, DEVICES, chosen_card, look_for

    name, _ = chosen_card(request.backend, request.device)
    problems = {backend: look_for(backend).problem for backend in BACKENDS}
    reason = problems.get(name)
    _refuse_missing(
        name,
        tuple(backend for backend, problem in problems.items() if problem is None),
        "this server does not have it" + (f": {reason.args[0]}" if reason and name in DEVICES else ""),
        "Pass backend='auto' to let Acuity pick.",
    )


def _refuse_missing(wanted: str, there: tuple[str, ...], why: str, remedy: str) -> None:
    if wanted != AUTO and wanted not in there:
        raise BackendError(
            f"backend '{wanted}' requested but {why} (available: {list(there)});"
            f" refusing to fall back silently. {remedy}"
        )


def _title(reference: str | None, distorted: str) -> str:
    name = os.path.basename(distorted)
    return (
        f"{name} without a reference"
        if reference is None
        else f"{name} against {os.path.basename(reference)}"
    )
