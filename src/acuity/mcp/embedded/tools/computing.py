"""compute_vmaf: a pair of files, beside the measurement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mcp_types as types

from acuity.errors import GEOMETRY
from acuity.mcp.catalog import Call, Tool
from acuity.mcp.embedded.compute import TOOL
from acuity.mcp.embedded.tools.figure_schemas import FIGURE, FIGURES, name
from acuity.mcp.results import OMITTED_SCHEMA, fit, ordered_answer
from acuity.mcp.schemas import array, flag, or_null, record, text, whole
from acuity.mcp.score_answers import in_order
from acuity.mcp.tools.progress_notifications import ProgressNotifications
from acuity.mcp.tools.scoring_schema import model_argument
from acuity.scoring.fronts import EMBEDDED

if TYPE_CHECKING:
    from acuity.mcp.embedded.compute import Compute

_TEXT: Final = """\
Score a pair of files of their own, in another process: the measurement that runs here is neither asked \
nor disturbed. Raw YUV needs width and height, and pixel_format and bitdepth unless it is 8-bit 4:2:0; \
MP4, MKV, Y4M and other files that say these themselves need none of it. `score` is the mean over all \
frames: 100 looks like the reference, above 93 differences are hard to see. Files are read from allowed \
folders only."""


def tools(compute: Compute) -> list[Tool]:
    """compute_vmaf."""

    async def run(call: Call) -> types.CallToolResult:
        notifications = ProgressNotifications(call.progress)
        document = await compute.score(call.arguments, client=call.client, progress=notifications.send)
        await notifications.finish()
        if call.arguments["include_frames"]:
            return ordered_answer(in_order(fit(document, None)))
        return ordered_answer({k: v for k, v in in_order(document | {"frames": []}).items() if k != "frames"})

    return [
        Tool(
            name=TOOL,
            title="Score a pair of files",
            description=_TEXT,
            input_schema=_INPUT,
            output_schema=_OUTPUT,
            run=run,
        )
    ]


# The settings of a request besides the videos and the model.
_CHOICES: Final = [name for name in EMBEDDED.settings if name not in (*GEOMETRY, "models")]
_INPUT: Final = record(
    {
        "reference_path": name("The original, in a folder that this server may read."),
        "distorted_path": name("The version to judge."),
        **EMBEDDED.arguments(*GEOMETRY),
        "model": model_argument(f"{EMBEDDED.help('models')}."),
        "model_version": name("The same as 'model', for clients that name a version: vmaf_v0.6.1."),
        **EMBEDDED.arguments(*_CHOICES),
        "include_frames": {
            **flag("Whether the answer has the figures of every frame, if they fit in one message."),
            "default": False,
        },
    },
    optional=(*GEOMETRY, "model", "model_version", *map(EMBEDDED.name, _CHOICES), "include_frames"),
)

_OUTPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "score": {**FIGURE, "description": "The pooled score."},
        "pool_method": {**text(), "const": "mean"},
        "frames_scored": whole(),
        "bitdepth": whole("Bits of a sample, as they were compared."),
        "model": or_null(text("Version or path.")),
        "model_version": or_null(text("The same, by the name that clients of other servers look for.")),
        "metrics": {"type": "array", "description": "The figures of each of the metrics asked for."},
        "width": whole(),
        "height": whole(),
        "frames": array(record({"frameNum": whole(), "metrics": FIGURES})),
        "frames_omitted": OMITTED_SCHEMA,
        "pooled_metrics": {
            "type": "object",
            "description": "For every figure min, max, mean and harmonic_mean.",
            "additionalProperties": FIGURES,
        },
        "aggregate_metrics": FIGURES,
        "notes": array({"type": "object"}, "Warnings come before the score: level, code, text."),
        "acuity": {"type": "object", "description": "What was compared and how."},
        "mismatched_model_warning": text("Only where the model is made for another resolution."),
    },
    "required": [
        "score",
        "pool_method",
        "frames_scored",
        "bitdepth",
        "model",
        "model_version",
        "width",
        "height",
        "pooled_metrics",
    ],
}
