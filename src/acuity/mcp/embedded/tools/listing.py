"""list_features, list_models and describe_model: everything there is to measure with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import mcp_types as types

from acuity.features import EXTRACTORS, get_extractor
from acuity.features.describe import describe_extractor
from acuity.mcp.catalog import Call, Tool
from acuity.mcp.results import answer
from acuity.mcp.schemas import array, flag, record, text, whole
from acuity.mcp.tools import models

_FEATURES_TEXT: Final = """\
All feature extractors there are, with what each measures; with a `name` or `detail` also the figures \
that it gives for every frame and the options it takes. vmaf.features has those that are being measured."""

_TEXTS: Final = {
    "list_models": "The models that vmaf.request_model_swap and compute_vmaf can name, with their path, "
    "format and size, and whether this version can score with them (`usable`).",
    "describe_model": "What a model is: the features it reads and their options, its type, the range of its "
    "scores, what it is meant for, and whether this version can score with it. If not, `problem` says why.",
}


def tools(server: models.HasPaths) -> list[Tool]:
    """list_features, list_models and describe_model."""
    known = {name: describe_extractor(extractor) for name, extractor in EXTRACTORS.items()}
    brief = [{key: document[key] for key in ("name", "summary")} for document in known.values()]

    def run(call: Call) -> types.CallToolResult:
        chosen = brief
        if (name := call.arguments.get("name")) is not None:
            get_extractor(name)  # raises for an unknown name, with the known ones
            chosen = [known[name]]
        elif call.arguments["detail"]:
            chosen = [*known.values()]
        return answer({"features": list(EXTRACTORS), "count": len(EXTRACTORS), "extractors": chosen})

    features = Tool(
        name="list_features",
        title="List feature extractors",
        description=_FEATURES_TEXT,
        input_schema=record(_INPUT, optional=tuple(_INPUT)),
        output_schema=_OUTPUT,
        run=run,
    )
    return [features, *(replace(tool, description=_TEXTS[tool.name]) for tool in models.tools(server))]


_INPUT: Final = {
    "name": {**text("Only this extractor, in full."), "minLength": 1, "maxLength": 128},
    "detail": {**flag("All of them in full: 57,000 characters."), "default": False},
}
_OUTPUT: Final[dict[str, Any]] = record(
    {
        "features": array(text(), "Their names."),
        "count": whole(),
        "extractors": array(
            {
                "type": "object",
                "properties": {"name": text(), "summary": text()},
                "required": ["name", "summary"],
            },
            "What each measures; in full also `provides`, `options` and so on.",
        ),
    }
)
