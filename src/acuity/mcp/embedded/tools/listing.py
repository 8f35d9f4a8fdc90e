"""list_features, list_models and describe_model: everything there is to measure with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import mcp_types as types

from acuity.features import EXTRACTORS
from acuity.features.describe import describe_extractor
from acuity.mcp.catalog import Call, Tool
from acuity.mcp.results import answer
from acuity.mcp.schemas import array, record, text, whole
from acuity.mcp.tools import models

_FEATURES_TEXT: Final = """\
All feature extractors there are, with what each measures, the figures it gives for every frame and the \
options it takes. vmaf.features has those that are being measured."""

_TEXTS: Final = {
    "list_models": "The models that vmaf.request_model_swap and compute_vmaf can name, with their path, "
    "format and size, and whether this version can score with them (`usable`).",
    "describe_model": "What a model is: the features it reads and their options, its type, the range of its "
    "scores, what it is meant for, and whether this version can score with it. If not, `problem` says why.",
}


def tools(server: models.HasPaths) -> list[Tool]:
    """list_features, list_models and describe_model."""
    listed = answer(
        {
            "features": list(EXTRACTORS),
            "count": len(EXTRACTORS),
            "extractors": [describe_extractor(extractor) for extractor in EXTRACTORS.values()],
        }
    )

    def run(_: Call) -> types.CallToolResult:
        return listed

    features = Tool(
        name="list_features",
        title="List feature extractors",
        description=_FEATURES_TEXT,
        input_schema=record({}),
        output_schema=_OUTPUT,
        run=run,
    )
    return [features, *(replace(tool, description=_TEXTS[tool.name]) for tool in models.tools(server))]


_OUTPUT: Final[dict[str, Any]] = record(
    {
        "features": array(text(), "Their names."),
        "count": whole(),
        "extractors": array(
            {
                "type": "object",
                "properties": {"name": text(), "summary": text()},
                "required": ["name", "summary", "provides", "options"],
            },
            "The same with all there is to know about each.",
        ),
    }
)
