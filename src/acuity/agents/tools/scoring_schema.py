"""Input and output schemas of the scoring tools, made from the settings of a request."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from acuity.agents.schemas import choices, flag, outline, record, text
from acuity.agents.score_answers import FRAMES_SCHEMA
from acuity.agents.tool_answers import IMAGES_SCHEMA
from acuity.errors import GEOMETRY, InputError, ModelError
from acuity.measure.measurement import MAX_THREADS
from acuity.models.choose import AUTO
from acuity.scoring.fronts import RAW
from acuity.scoring.presets import PRESETS
from acuity.scoring.request import MAX_TEXT, SETTINGS, TINY
from longwire.product.catalog import Arguments

DEFAULT_MODEL: Final = "version=vmaf_v0.6.1"
PRECISIONS: Final = ("legacy", "max", "full", *map(str, range(1, 18)))
# Raw samples carry no tags of colour or fields.
_TAGGED: Final = ("colour", "deinterlace", "filter")


def path_argument(description: str) -> dict[str, Any]:
    return text(description)  # access/path_text.py bounds it


def model_argument(description: str) -> dict[str, Any]:
    return text(description, default=DEFAULT_MODEL)


def asked_models(
    given: Arguments, presets: Collection[str] = (), *, names: Sequence[str] = ("model",)
) -> list[str]:
    """The models asked for besides those of presets; presets, viewing and metrics replace the default.

    `names` are the arguments that name a model, of which a client gives one at most.
    """
    named_by = [name for name in names if name in given.given]
    if len(named_by) > 1:
        values = " and ".join(f"'{name}' is '{given[name]}'" for name in named_by)
        raise InputError(f"{values}: give one of them")
    model = str(given[(*named_by, *names)[0]])
    if (viewing := given.get("viewing")) is not None:
        if named_by and model != AUTO:
            raise ModelError(
                f"viewing='{viewing}' chooses the model, and '{named_by[0]}' names one: leave one of them out"
            )
        return [AUTO]
    metrics = given.get("metrics", ())
    replaced = presets or (metrics and "vmaf" not in metrics)
    return [] if replaced and not named_by else [model]


# Entries for tiny models are kept short, because every client reads the whole list of tools.
_WORD: Final = 64  # characters of the name of an encoder or a preset
_SHORT: Final[dict[str, Any]] = {"maximum": None, "default": None}

_OPTIONS: Final[dict[str, Any]] = {
    "model": model_argument(f"{RAW.help('models')}."),
    **RAW.arguments(
        *(name for name in RAW.settings if name not in ("models", *GEOMETRY)),
        threads={"maximum": MAX_THREADS},
        frames={"minimum": 1, "default": None},
        tiny_model={"maxLength": MAX_TEXT},
        tiny_codec={"maxLength": _WORD},
        tiny_preset={"maxLength": _WORD},
        tiny_threads=_SHORT,
        tiny_fp16={
            **_SHORT,
            "description": "Its inputs are half precision; refused if the model takes float32.",
        },
        tiny_model_verify=_SHORT,
        no_reference=_SHORT,
    ),
    "precision": choices(
        PRECISIONS,
        "legacy: six decimals; max, full: the exact double; 1 to 17: significant digits.",
        default="legacy",
    ),
    **{
        family: choices(versions, f"Test conditions of {maker}.")
        for (family, versions), maker in zip(PRESETS.items(), ("AOM", "Netflix"), strict=True)
    },
    "disable_clip": flag("Don't clip scores to 0..100.", default=False),
    "enable_transform": flag("Apply the model's score transform, made for phones.", default=False),
    "include_frames": FRAMES_SCHEMA,
    "images": IMAGES_SCHEMA,
}


# Each option is explained once, for the same reason: those of tiny models in vmaf_score, all others in
# vmaf_score_encoded; the text of the other tool says where.
_TINY: Final = frozenset(name for name in RAW.settings if SETTINGS[name].group == TINY)
_RAW_OPTIONS: Final = {
    name: about if name in _TINY else {**about, "description": "As there."}
    for name, about in _OPTIONS.items()
    if name not in _TAGGED
}
_ENCODED_OPTIONS: Final = {
    name: {**about, "description": "As in vmaf_score."} if name in _TINY else about
    for name, about in _OPTIONS.items()
}


RAW_INPUT: Final = record(
    f"dis {' '.join(map(RAW.name, GEOMETRY))}",
    ref=path_argument("The original: a raw YUV file in an allowed folder; needed without no_reference."),
    dis=path_argument("The version to judge, of the same size, layout and depth."),
    **RAW.arguments(*GEOMETRY),
    **_RAW_OPTIONS,
)
ENCODED_INPUT: Final = record(
    "distorted_encoded",
    reference_encoded=path_argument(
        "The original, in any container or Y4M; in an allowed folder; needed without no_reference."
    ),
    distorted_encoded=path_argument("The version to judge; its size, depth, range and rate may differ."),
    **_ENCODED_OPTIONS,
)

_ANSWER: Final = (
    "score:number? models,worst,notes:array pooled_metrics:object frames:array "
    "backend_requested,backend_used,version:string"
)
_SOMETIMES: Final = (
    "model:string? metrics:array no_reference:boolean tiny_model:object mismatched_model_warning:string "
    "frames_omitted:object job_id,report:string acuity:object"
)
RAW_OUTPUT: Final = outline(_ANSWER, _SOMETIMES)
ENCODED_OUTPUT: Final = outline(
    f"{_ANSWER} distorted_encoded:string", f"{_SOMETIMES} reference_encoded:string"
)
