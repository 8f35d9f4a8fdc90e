"""The tools vmaf_score, for raw video, and vmaf_score_encoded, for files that carry their geometry."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from acuity.agents.score_answers import IMAGES_ASKED
from acuity.agents.tool_answers import WORST
from acuity.agents.tools.external import External, examine, option_list
from acuity.agents.tools.geometry_question import settle_geometry
from acuity.agents.tools.long_tool import is_short, long_tool
from acuity.agents.tools.scoring_schema import (
    ENCODED_INPUT,
    ENCODED_OUTPUT,
    RAW_INPUT,
    RAW_OUTPUT,
    asked_models,
)
from acuity.agents.tools.services import Services, checked_model, checked_tiny
from acuity.errors import BackendError, InputError, ModelError
from acuity.jobs.tasks.external import ExternalPayload
from acuity.jobs.tasks.score import score_payload
from acuity.models.choose import AUTO
from acuity.models.spec import parse_spec
from acuity.scoring.fronts import FRONTS
from acuity.scoring.presets import PRESETS
from acuity.scoring.request import Request, tiny_fault
from acuity.tiny.files import shipped_models
from longwire.product.catalog import Arguments, Tool
from longwire.work import JobSpec

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


def tools(services: Services) -> list[Tool]:
    its, tool = _Scoring(services), partial(long_tool, services)
    settle = partial(settle_geometry, services.paths)
    encoded = ENCODED_INPUT, ENCODED_OUTPUT, its.plan_encoded
    return [
        tool(RAW, "Score a raw pair", _RAW_TEXT, RAW_INPUT, RAW_OUTPUT, its.plan_raw, settle=settle),
        tool(ENCODED, "Score encoded videos", _ENCODED_TEXT, *encoded),
    ]


class _Scoring:
    """Makes jobs from arguments, and checks every path and the backend before anything is queued."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def plan_raw(self, given: Arguments) -> JobSpec:
        return await self._plan(RAW, given, ("ref", "dis"), given.asked)

    async def plan_encoded(self, given: Arguments) -> JobSpec:
        names = ("reference_encoded", "distorted_encoded")
        return await self._plan(ENCODED, given, names, {name: given[name] for name in names if name in given})

    async def _plan(
        self, tool: str, given: Arguments, names: tuple[str, str], echo: dict[str, Any]
    ) -> JobSpec:
        """The job for the scoring engine: the binary that VMAF_BIN names, or Acuity's own."""
        services = self._services
        paths, binary = services.paths, services.settings.binary
        if names[0] not in given and not given.get("no_reference"):
            raise InputError(
                f"tool '{tool}' missing required argument: '{names[0]}' (or pass no_reference=true)"
            )
        fields = FRONTS[tool].fields(given)
        images = [*dict.fromkeys(given.get("images", ()))]
        echo = {**echo, IMAGES_ASKED: images} if images else echo
        alone, named = fields.get("no_reference", False), "model" in given.given
        if alone and not named:
            fields["models"] = []
        if (fault := tiny_fault(fields, FRONTS[tool].name)) is not None:
            raise ModelError(fault)
        pair = [str(paths.check(given[name])) if name in given else None for name in names]
        reference, distorted = None if alone else pair[0], str(pair[1])
        if "tiny_model" in fields:
            if binary is not None:
                raise BackendError(
                    "tiny_model is scored by Acuity's own engine, and VMAF_BIN names another: leave it out, "
                    "or unset VMAF_BIN"
                )
            fields["tiny_model"] = await self._tiny(fields["tiny_model"])
        external = await examine(binary) if binary is not None else None
        presets = {family: given[family] for family in PRESETS if given.get(family) is not None}
        chosen = [PRESETS[family][version] for family, version in presets.items()]
        models = [] if alone and not named else asked_models(given, presets)
        default_model = not named and bool(models)
        features = [paths.check_feature(text) for text in fields.pop("features", ())]
        if external is None:  # another binary has the models and features of presets itself
            models += [model for preset in chosen for model in preset.models]
            features += [feature for preset in chosen for feature in preset.features]
        if given["disable_clip"] or given["enable_transform"]:
            _refuse_options(given, models)
        fields["models"] = [
            await self._model(model, given, external=external is not None) for model in models
        ]
        request = Request(reference, distorted, **fields, features=features, guess=tool == ENCODED)
        if request.convert == "auto" and any(preset.common_bitdepth for preset in chosen):
            request = replace(request, convert="depth")
        request = replace(request, default_model=default_model)
        short = is_short(request.frames, reference, distorted)
        title = os.path.basename(str(given[names[1]]))
        title += " without a reference" if reference is None else f" against {os.path.basename(reference)}"
        if external is not None:
            payload = _external(external, request, given, presets, echo).to_document()
            return JobSpec("external", payload, tool, title, short=short)
        refuse_missing_device(request)
        id = services.jobs.new_id() if WORST in images else None
        folder = None if id is None else str(services.pictures.folder(id))
        payload = score_payload(request, precision=given["precision"], pictures=folder, **echo)
        return JobSpec("score", payload, tool, title, id=id, short=short)

    async def _tiny(self, text: str) -> str:
        """The tiny model for the engine: a name that it finds, or its file with the path resolved."""
        if os.sep not in text and text in {file.name for file in await asyncio.to_thread(shipped_models)}:
            return text
        return await checked_tiny(self._services, text)

    async def _model(self, text: str, given: Arguments, *, external: bool) -> str:
        """The model argument for the engine: its file if it has one, the path resolved, options added."""
        checked = await checked_model(self._services, text, external=external)
        if checked == AUTO:
            return checked
        spec = parse_spec(checked)
        return replace(
            spec,
            disable_clip=spec.disable_clip or given["disable_clip"],
            enable_transform=spec.enable_transform or given["enable_transform"],
        ).to_text()


def _refuse_options(given: Arguments, models: Sequence[str]) -> None:
    """Refuse disable_clip and enable_transform where there is no model that takes them."""
    if given.get("no_reference"):
        what = "no_reference, which scores with no classic model,"
    elif not models:
        what = "a preset whose models are the vmaf binary's own"
    elif AUTO in models:
        what = f"viewing='{given['viewing']}'" if "viewing" in given else f"model '{AUTO}'"
    else:
        return
    raise ModelError(f"{what} takes no disable_clip and no enable_transform: name a model")


def _external(
    binary: External,
    request: Request,
    arguments: Mapping[str, Any],
    presets: dict[str, str],
    echo: dict[str, Any],
) -> ExternalPayload:
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
