"""Schemas of the tools that read a measurement."""

from __future__ import annotations

from typing import Any, Final

from acuity.mcp.embedded.live.pictures import WATCH as WATCH_SECONDS
from acuity.mcp.embedded.live.report import MOST_FRAMES, SHORT
from acuity.mcp.embedded.live.scores import ALL, MAX_POINTS, MAX_ROWS
from acuity.mcp.embedded.tools.figure_schemas import (
    AGGREGATE,
    FIGURE,
    FIGURES,
    PAUSES,
    count,
    frame,
    name,
)
from acuity.mcp.results import OMITTED_SCHEMA
from acuity.mcp.schemas import array, flag, number, or_null, record, text, whole
from acuity.mcp.tools.scoring_schema import PRECISIONS

_STATE: Final = {
    **text(
        "waiting: for the first frame; waiting_for_input: every frame that was read is scored, and the next "
        "one is long in coming; finishing: the frame to stop after was read; over: the end; failed, "
        "interrupted: it ended before its input did, for the `reason`."
    ),
    "enum": [
        *("waiting", "measuring", "waiting_for_input", "paused", "finishing"),
        *("over", "failed", "interrupted"),
    ],
}
_REASON: Final = or_null(text("Why it failed or was interrupted."))

_MODEL: Final = record({"name": text("The column of its scores."), "label": text("Its version or path.")})

STATUS: Final = record(
    {
        "state": _STATE,
        "reason": _REASON,
        "reference": or_null(text("The name of its file, where the host said so.")),
        "distorted": or_null(text("The same.")),
        "model": or_null(text("The first model, which counts, as it holds for the next frame.")),
        "models": array(_MODEL, "All models that hold for the next frame."),
        "features": array(text(), "The figures that are or were measured."),
        "metrics": array(
            record({"name": text(), "column": text(), "unit": text(), "decimals": whole()}),
            "The metrics that were asked for besides models, and where their figures are.",
        ),
        "frames_read": whole(),
        "frames_scored": whole("Those whose own figures are there; a score may need the frame after it."),
        "frames_pending": whole("Read and not scored yet."),
        "frames_total": or_null(whole("How many there will be, where that is known.")),
        "fps": number("Frames in a second, pauses not counted."),
        "last_frame": or_null(whole("The newest frame that has a score.")),
        "last_score": or_null(number("Its score.")),
        "last_model": or_null(text("The model that gave it.")),
        "waiting_seconds": or_null(number("How long it has waited for its next frame, where it does.")),
        "paused": flag(),
        "paused_by": PAUSES,
        "paused_until": or_null(text("When the last pause ends by itself, in UTC; null: never.")),
        "pause_seconds_left": or_null(number("The same in seconds from now.")),
        "subsample": whole("One frame in so many is measured from now on."),
        "stop_after": or_null(whole("The frame after which it stops, where one was named.")),
        "queue": record(
            {
                "depth": whole("Commands that may be under way."),
                "waiting": whole("Commands that wait for the next frame boundary."),
                "outstanding": whole("Commands that were not answered yet."),
                "refused": whole("Commands turned away because the queue was full."),
            },
            description="How hard others steer.",
        ),
    }
)

FEATURES: Final = record(
    {
        "extractors": array(
            record(
                {
                    "name": text(),
                    "options": {"type": "object", "additionalProperties": {"type": ["number", "boolean"]}},
                    "keys": array(text(), "The figures it gives for every frame."),
                }
            ),
            "Those that are computed for the next frame.",
        ),
        "figures": array(text(), "All figures that are or were measured, in the order of the report."),
        "models": array(
            record(
                {
                    "name": text("The column of its scores."),
                    "label": text("Its version or path."),
                    "reads": array(text(), "The figures it makes a score of."),
                }
            )
        ),
    }
)

_COLUMN: Final = "A column of the report: a model's name or a feature. Left out: the first model's score."

SCORE_INPUT: Final = record(
    {
        "index": frame("One frame by its number, 0 is the first. Left out: the newest that has a score."),
        "first": frame("A range instead: its first frame. Left out where there is a last: 0."),
        "last": frame("Its last frame. Left out where there is a first: the newest."),
        "name": name(_COLUMN),
        "features": {
            **array(name("")),
            "maxItems": 64,
            "description": f'Figures to add for every frame, by name; ["{ALL}"] stands for all.',
        },
        "percentiles": {
            **array({"type": "number", "minimum": 0, "maximum": 100}),
            "maxItems": 32,
            "description": "Percentiles for the aggregate: [1, 5, 50] adds p1, p5 and p50.",
        },
    },
    optional=("index", "first", "last", "name", "features", "percentiles"),
)

_KNOWN: Final = {**FIGURES, "description": "Those of the wanted figures that the frame has."}

SCORE: Final = record(
    {
        "name": text("The column."),
        "model": or_null(text("The model that holds at `frame`; null for a feature.")),
        "frame": whole("The frame asked for; of a range the last that is known."),
        "score": {**FIGURE, "description": "Its figure."},
        "aggregate": AGGREGATE,
        "features": _KNOWN,
        "frames": array(
            record({"frame": whole(), "score": FIGURE, "features": _KNOWN}, optional=("features",)),
            "The frames of a range whose figures are known.",
        ),
        "next_first": or_null(whole("Where `frames` had no room for all: `first` of the next call.")),
    },
    optional=("features", "frames", "next_first"),
)

WORST_INPUT: Final = record(
    {
        "n": count(1, 500, "How many.", default=5),
        "name": name(_COLUMN),
        "apart": count(
            0,
            100_000,
            "Of frames that are less than so many apart only the worst: places, not runs.",
            default=0,
        ),
        "pictures": {
            **flag(
                "Whether to look at pictures: small copies are made for "
                f"{WATCH_SECONDS:g} seconds after each such call, and the answer names those of its frames."
            ),
            "default": False,
        },
    },
    optional=("n", "name", "apart", "pictures"),
)
_PICTURE: Final = or_null(
    record(
        {
            "frame": whole(
                "The frame that is shown: the same or one close by, as not every frame is copied."
            ),
            "reference": text("The URI of a PNG file."),
            "distorted": text("The URI of a PNG file."),
        }
    )
)
WORST: Final = record(
    {
        "name": text("The column."),
        "frames": array(
            record(
                {"frame": whole(), "score": FIGURE, "model": text(), "picture": _PICTURE},
                optional=("model", "picture"),
            ),
            "The worst first; where there are several models, n of each, one model's frames after the other.",
        ),
        "frames_compared": whole("How many are known so far."),
        "models": array(text(), "The models behind them, where there are several."),
    },
    optional=("models",),
)

CURVE_INPUT: Final = record(
    {
        "first": frame("The first frame wanted: next_first of the answer before.") | {"default": 0},
        "name": name(_COLUMN),
        "status": {
            **flag("Whether the answer is to have the status of the measurement too."),
            "default": False,
        },
        "times": {**flag("Whether the answer is to have the times of the frames."), "default": False},
    },
    optional=("first", "name", "status", "times"),
)
CURVE: Final = record(
    {
        "name": text("The column."),
        "frames": array(whole(), f"The frames from `first` on that are known, {MAX_POINTS} at most."),
        "scores": array(FIGURE, "Their figures."),
        "times": array(or_null(number()), "Their times in seconds, where known, if they were asked for."),
        "next_first": whole("`first` of the next call, which then has only what is new."),
        "more": flag("Whether more are known already: call again at once."),
        "aggregate": AGGREGATE,
        "models": array(
            record({"model": text(), "first": whole()}),
            "Which model holds from which frame on; none of a feature.",
        ),
        "repredictions": whole(
            "How often earlier frames were given to another model. If it changes, begin again with first=0."
        ),
        "over": flag("Whether no more frames come."),
        "status": {**STATUS, "description": "As vmaf.status has it, if it was asked for."},
    },
    optional=("status", "times"),
)

LONGEST_WATCH: Final = 300.0  # seconds

WATCH_INPUT: Final = record(
    {
        "below": number("Frames whose figure is lower than this are told."),
        "name": name(_COLUMN),
        "first": frame("Look at the frames from this one on: next_first of the answer before.")
        | {"default": 0},
        "timeout_seconds": {
            **number("How long to wait for the first such frame."),
            "minimum": 0,
            "maximum": LONGEST_WATCH,
            "default": 30,
        },
    },
    optional=("name", "first", "timeout_seconds"),
)
WATCH: Final = record(
    {
        "name": text("The column."),
        "below": number(),
        "frames": array(
            record({"frame": whole(), "score": FIGURE}),
            f"Those below it, oldest first, {MAX_ROWS} at most; none at the end or when time is up.",
        ),
        "next_first": whole("`first` of the next call, so that each frame is told once."),
        "over": flag("No more frames come."),
        "state": _STATE,
        "reason": _REASON,
    }
)

REPORT_INPUT: Final = record(
    {
        "include_frames": flag(
            "Whether the answer has the figures of every frame. Left out: if it stays under "
            f"{SHORT:,} characters; otherwise frames_omitted says how to read them. true: of {MOST_FRAMES} "
            "at most."
        ),
        "first": frame("Only the figures of the frames from this one on; the pools are of all frames."),
        "last": frame("Only those up to this one."),
        "precision": {
            **text(
                "Digits: legacy is six decimals as libvmaf prints them, max brings back the exact double."
            ),
            "enum": list(PRECISIONS),
            "default": "legacy",
        },
    },
    optional=("include_frames", "first", "last", "precision"),
)
REPORT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "version": text("Of what measures."),
        "fps": FIGURE,
        "frames": array(record({"frameNum": whole(), "metrics": FIGURES}), "Every frame that is measured."),
        "frames_omitted": OMITTED_SCHEMA,
        "pooled_metrics": {
            "type": "object",
            "description": "For every figure min, max, mean and harmonic_mean of the frames that have it.",
            "additionalProperties": FIGURES,
        },
        "aggregate_metrics": FIGURES,
        "acuity": {
            "type": "object",
            "description": "How far it is (partial, frames_read, frames_scored), the model, and where "
            "somebody steered which model holds from which frame on (steering.segments).",
            "properties": {
                "partial": flag("More is to come, or it ended before its input did."),
                "reason": text("Why it did."),
                "frames_read": whole(),
                "frames_scored": whole(),
                "model": or_null(text()),
                "steering": {"type": "object"},
            },
            "required": ["partial", "frames_read", "frames_scored"],
        },
        "report": text("The resource with this report."),
    },
    "required": ["version", "frames", "pooled_metrics", "acuity", "report"],
}
