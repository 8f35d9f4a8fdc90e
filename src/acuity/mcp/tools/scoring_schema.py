"""Schemas of the scoring tools: what they take, and the report they answer with."""

from __future__ import annotations

from typing import Any, Final, get_args, get_type_hints

from acuity.devices import BACKENDS
from acuity.mcp.fitting import FRAMES_SCHEMA, OMITTED_SCHEMA
from acuity.measure.measurement import MAX_THREADS
from acuity.presets import PRESETS
from acuity.video.pair_options import PairOptions
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
        "description": "Width of a frame in pixels. Raw video does not say it; a file name such as "
        "clip_1920x1080.yuv often does.",
    },
    "height": {
        "type": "integer",
        "minimum": 1,
        "maximum": _MOST,
        "description": "Height of a frame in pixels.",
    },
    "pixfmt": {
        "type": "string",
        "enum": list(LAYOUTS),
        "description": "Chroma layout of the planar samples: 420 is the usual one, 400 has luma only.",
    },
    "bitdepth": {
        "type": "integer",
        "enum": list(DEPTHS),
        "description": "Bits of a sample. More than 8 means two bytes a sample, little-endian.",
    },
}

_PAIRING: Final = {
    "scale": "Distorted video of another size: auto scales it to the reference's size if one of the two is a "
    "container and refuses otherwise, never refuses, force always scales.",
    "convert": "Other bit depth, chroma layout or range: auto, never or force, as with scale; depth "
    "is auto, and takes raw video to the greater bit depth too.",
    "rate": "Other frame rate: refuse, match (leave out frames of the faster one, for whole ratios), or "
    "by-index (frame n against frame n whatever the times say).",
    "vfr": "Variable frame rate: by-time needs the same times in both videos, by-index ignores times.",
    "hdr": "HDR against SDR: refuse, or ignore the difference.",
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
        "description": "The model: version=NAME (list_models has the names) or path=FILE, then optionally "
        ":name=LABEL and :EXTRACTOR.OPTION=VALUE. 'auto' chooses by the size of the reference. Use "
        "version=vmaf_4k_v0.6.1 for 2160p, version=vmaf_v0.6.1neg to compare encoders that may sharpen.",
    },
    "backend": {
        "type": "string",
        "enum": ["auto", *BACKENDS],
        "default": "auto",
        "description": "What computes: auto takes the best there is. One that is not there is refused, never "
        "replaced; list_backends says what is there. The scores are the same on all.",
    },
    "precision": {
        "type": "string",
        "enum": list(PRECISIONS),
        "default": "legacy",
        "description": "Digits of the figures: legacy is six decimals as libvmaf prints them, max or full "
        "bring back the exact double, 1 to 17 are significant digits.",
    },
    "feature": {
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": _LONGEST},
        "maxItems": MOST_FEATURES,
        "default": [],
        "description": "Further extractors to measure, as NAME or NAME=OPTION=VALUE:OPTION=VALUE; "
        "list_extractors has the names.",
    },
    **{
        family: {
            "type": "string",
            "enum": list(versions),
            "description": f"Common test conditions of {maker}: their models and features, in place of the "
            "default model.",
        }
        for (family, versions), maker in zip(PRESETS.items(), ("AOM", "Netflix"), strict=True)
    },
    "threads": {
        **_count(
            1, "Worker threads; all cores unless given, and never more than those. No figure depends on it."
        ),
        "maximum": MAX_THREADS,
    },
    "frame_cnt": _count(
        1, "Score at most so many frames; a few hundred give a quick estimate of a long clip."
    ),
    "frame_skip_ref": _count(0, "Leave out the first frames of the reference.", default=0),
    "frame_skip_dist": _count(
        0, "Leave out the first frames of the distorted video: for an encode that starts late.", default=0
    ),
    "subsample": _count(
        1, "Score every Nth frame only: faster, and short flaws may be missed. 1 is every frame.", default=1
    ),
    "no_prediction": _switch("Only measure the features of the model, and predict no score."),
    "disable_clip": _switch(
        "Don't clip the model's score to 0..100: two near-perfect encodes can differ then."
    ),
    "enable_transform": _switch("Apply the model's score transform, made for phone screens."),
}

_DAMAGED: Final = _switch(
    "Score damaged frames as the decoder makes them, with a warning, instead of refusing."
)


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
        "ref": _path("The original: a raw YUV file in a folder this server may read."),
        "dis": _path("The version to judge: raw YUV of the same size, layout and depth."),
        **_GEOMETRY,
    }
)
ENCODED_INPUT: Final = _input(
    {
        "reference_encoded": _path(
            "The original: MP4, MKV, WebM, MOV, Y4M or any container; in an allowed folder."
        ),
        "distorted_encoded": _path("The version to judge; its size, depth, range and rate may differ."),
    }
)

_FIGURE: Final[dict[str, Any]] = {"type": ["number", "null"]}
_FIGURES: Final[dict[str, Any]] = {"type": "object", "additionalProperties": _FIGURE}

_REPORT: Final[dict[str, Any]] = {
    "version": {"type": "string", "description": "Of what scored."},
    "fps": {**_FIGURE, "description": "Frames measured in a second."},
    "frames": {
        "type": "array",
        "description": "Every frame that was scored: its features, and the model's score as `vmaf`.",
        "items": {
            "type": "object",
            "properties": {"frameNum": {"type": "integer", "minimum": 0}, "metrics": _FIGURES},
            "required": ["frameNum", "metrics"],
        },
    },
    "frames_omitted": OMITTED_SCHEMA,
    "pooled_metrics": {
        "type": "object",
        "description": "For every figure min, max, mean and harmonic_mean; pooled_metrics.vmaf.mean is the "
        "score: 100 looks like the reference.",
        "additionalProperties": _FIGURES,
    },
    "aggregate_metrics": {**_FIGURES, "description": "Figures of the whole clip."},
    "acuity": {
        "type": "object",
        "description": "How the figures came about: the model, the two videos and how they were compared "
        "(input), and what a reader should know (notes, as level, code and text). When VMAF_BIN scores it is "
        "shorter, and absent for raw video.",
        "properties": {
            "model": {"type": ["string", "null"]},
            "model_chosen_by": {"type": "string"},
            "frames": {"type": "integer"},
            "width": {"type": "integer"},
            "height": {"type": "integer"},
            "input": {"type": "object"},
            "notes": {"type": "array", "items": {"type": "object"}},
        },
    },
    "backend_requested": {"type": "string", "enum": ["auto", *BACKENDS]},
    "backend_used": {"type": "string", "description": "What computed; 'unknown' where a binary doesn't say."},
    "mismatched_model_warning": {
        "type": "string",
        "description": "Only where the model is made for another resolution than that of the pictures.",
    },
    "job_id": {"type": "string", "description": "For get_job."},
    "report": {"type": "string", "description": "The resource with this report; add .csv for a table."},
}
_ALWAYS: Final = ("version", "frames", "pooled_metrics", "backend_requested", "backend_used")


def _output(more: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**_REPORT, **more},
        "required": [*_ALWAYS, *more],
        "additionalProperties": True,  # binaries other than ours add entries of their own
    }


RAW_OUTPUT: Final = _output({})
ENCODED_OUTPUT: Final = _output(
    {
        "reference_encoded": {"type": "string", "description": "As given."},
        "distorted_encoded": {"type": "string", "description": "As given."},
    }
)
