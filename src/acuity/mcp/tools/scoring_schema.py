"""Schemas of the scoring tools: what they take, and the report they answer with."""

from __future__ import annotations

from typing import Any, Final, get_args, get_type_hints

from acuity.devices import BACKENDS
from acuity.mcp.schemas import outline
from acuity.mcp.score_answers import FRAMES_SCHEMA
from acuity.measure.measurement import MAX_THREADS
from acuity.scoring.presets import PRESETS
from acuity.video.pairs.pair_options import PairOptions
from acuity.video.picture import DEPTHS, LAYOUTS

DEFAULT_MODEL: Final = "version=vmaf_v0.6.1"
MOST_FEATURES: Final = 64
_MOST: Final = 2**31 - 1  # frames and pixels; what C's int holds
_LONGEST: Final = 4096  # characters of a path, model or feature

PRECISIONS: Final = ("legacy", "max", "full", *map(str, range(1, 18)))

_GEOMETRY: Final[dict[str, Any]] = {
    "width": {
        "type": "integer",
        "minimum": 1,
        "maximum": _MOST,
        "description": "Of a frame, in pixels; a name such as clip_1920x1080.yuv often says it.",
    },
    "height": {
        "type": "integer",
        "minimum": 1,
        "maximum": _MOST,
        "description": "Of a frame, in pixels.",
    },
    "pixfmt": {
        "type": "string",
        "enum": list(LAYOUTS),
        "description": "Chroma layout: 420 is the usual one, 400 has luma only.",
    },
    "bitdepth": {
        "type": "integer",
        "enum": list(DEPTHS),
        "description": "Of a sample; above 8 in two bytes, little-endian.",
    },
}

_PAIRING: Final = {
    "scale": "Another size: auto scales to the reference's if one of the two is a container, else refuses.",
    "convert": "Another bit depth, chroma layout or range: as scale; depth also takes raw video to the "
    "greater depth.",
    "rate": "Another frame rate: match leaves out frames of the faster one, by-index ignores times.",
    "vfr": "Variable frame rate: by-time needs the same times in both, by-index ignores times.",
    "hdr": "HDR against SDR.",
}


def _pairing() -> dict[str, Any]:
    hints = get_type_hints(PairOptions)
    return {
        name: {
            "type": "string",
            "enum": list(get_args(hints[name])),
            "default": get_args(hints[name])[0],
            "description": text,
        }
        for name, text in _PAIRING.items()
    }


def _switch(description: str) -> dict[str, Any]:
    return {"type": "boolean", "default": False, "description": description}


def _count(least: int, description: str, **more: Any) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "maximum": _MOST, "description": description, **more}


_OPTIONS: Final[dict[str, Any]] = {
    "model": {
        "type": "string",
        "minLength": 1,
        "maxLength": _LONGEST,
        "default": DEFAULT_MODEL,
        "description": "version=NAME (list_models has the names) or path=FILE, then :name=LABEL and "
        ":EXTRACTOR.OPTION=VALUE if need be; 'auto' goes by the reference's size. vmaf_4k_v0.6.1 is for "
        "2160p, vmaf_v0.6.1neg for encoders that may sharpen.",
    },
    "backend": {
        "type": "string",
        "enum": ["auto", *BACKENDS],
        "default": "auto",
        "description": "One that list_backends lacks is refused, never replaced; all give the same scores.",
    },
    "precision": {
        "type": "string",
        "enum": list(PRECISIONS),
        "default": "legacy",
        "description": "legacy: six decimals; max, full: the exact double; 1 to 17: significant digits.",
    },
    "feature": {
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": _LONGEST},
        "maxItems": MOST_FEATURES,
        "default": [],
        "description": "Further extractors, as NAME or NAME=OPTION=VALUE:OPTION=VALUE; see list_extractors.",
    },
    **{
        family: {
            "type": "string",
            "enum": list(versions),
            "description": f"Test conditions of {maker}: their models and features, not the default model.",
        }
        for (family, versions), maker in zip(PRESETS.items(), ("AOM", "Netflix"), strict=True)
    },
    "threads": {**_count(1, "All cores unless given; no figure depends on it."), "maximum": MAX_THREADS},
    "frame_cnt": _count(1, "Score at most so many frames: a few hundred give a quick estimate."),
    "frame_skip_ref": _count(0, "Leave out the reference's first frames.", default=0),
    "frame_skip_dist": _count(0, "The same of the distorted: for an encode that starts late.", default=0),
    "subsample": _count(1, "Score every Nth frame: faster, and short flaws may be missed.", default=1),
    "no_prediction": _switch("Measure features only, predict no score."),
    "disable_clip": _switch("Don't clip scores to 0..100: near-perfect encodes can differ then."),
    "enable_transform": _switch("Apply the model's score transform, made for phones."),
}

_DAMAGED: Final = _switch("Score damaged frames as they are decoded, with a warning, not refuse.")


def _path(description: str) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": _LONGEST, "description": description}


def _input(required: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            **required,
            **_OPTIONS,
            **_pairing(),
            "allow_damaged": _DAMAGED,
            "include_frames": FRAMES_SCHEMA,
        },
        "required": list(required),
        "additionalProperties": False,
    }


RAW_INPUT: Final = _input(
    {
        "ref": _path("The original: a raw YUV file in an allowed folder."),
        "dis": _path("The version to judge, of the same size, layout and depth."),
        **_GEOMETRY,
    }
)
ENCODED_INPUT: Final = _input(
    {
        "reference_encoded": _path("The original, in any container or Y4M; in an allowed folder."),
        "distorted_encoded": _path("The version to judge; its size, depth, range and rate may differ."),
    }
)

_ANSWER: Final[dict[str, str | list[str]]] = {
    "score": ["number", "null"],
    "models": "array",
    "worst": "array",
    "notes": "array",
    "pooled_metrics": "object",
    "frames": "array",
    "backend_requested": "string",
    "backend_used": "string",
    "version": "string",
}
_SOMETIMES: Final[dict[str, str | list[str]]] = {
    "model": ["string", "null"],
    "mismatched_model_warning": "string",
    "frames_omitted": "object",
    "job_id": "string",
    "report": "string",
    "acuity": "object",
}

RAW_OUTPUT: Final = outline(_ANSWER, _SOMETIMES)
ENCODED_OUTPUT: Final = outline(
    {**_ANSWER, "reference_encoded": "string", "distorted_encoded": "string"}, _SOMETIMES
)
