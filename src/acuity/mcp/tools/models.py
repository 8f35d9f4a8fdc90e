"""Models: which there are, and what one of them is."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, Final, Protocol

import mcp_types as types

from acuity.errors import ModelError
from acuity.mcp.catalog import Call, Tool
from acuity.mcp.model_list import ModelList, describe_file, document, facts, path_argument, stem
from acuity.mcp.schemas import array, flag, number, or_null, record, text, whole
from acuity.models.shelf import FORMATS

if TYPE_CHECKING:
    from acuity.mcp.paths import AllowedPaths

_LIST: Final = """\
The model files of this server, by name, with their path, format and size, and whether this version can \
score with them (`usable`). Call it before scoring with anything but the default, or when a model was not \
found. Score with a model by passing model="version=NAME" to vmaf_score or vmaf_score_encoded. As a rule: \
vmaf_v0.6.1 for up to 1080p, vmaf_4k_v0.6.1 for 2160p, the neg model to compare encoders that may \
sharpen; the vmaf_v1 models are the generation of 2026, each for a display and a distance. \
describe_model tells what one of them is meant for."""

_DESCRIBE: Final = """\
What a model is: the features it reads and their options, its type, the range of its scores, what it is \
meant for, and whether this version can score with it. If not, `problem` says why. Call it to choose \
between models that list_models names, or to check a file of your own before scoring with it. \
`model_argument` is what to pass as `model` to vmaf_score and vmaf_score_encoded."""

_NAME: Final = (
    "A name from list_models (vmaf_v0.6.1), a file name (vmaf_v0.6.1.json), or the path of a model file "
    "in a folder that this server may read."
)


class HasPaths(Protocol):
    """What a server has to have for these tools."""

    @property
    def paths(self) -> AllowedPaths: ...


def tools(services: HasPaths, models: ModelList | None = None) -> list[Tool]:
    """list_models and describe_model; the list may be shared with whoever else shows models."""
    models = models or ModelList()

    async def list_models(_: Call) -> types.CallToolResult:
        return await models.listing()

    async def describe_model(call: Call) -> dict[str, Any]:
        return await _describe(models, services.paths, call.arguments["name"])

    return [
        Tool(
            name="list_models",
            title="List models",
            description=_LIST,
            input_schema=record({}),
            output_schema=_LIST_OUTPUT,
            run=list_models,
        ),
        Tool(
            name="describe_model",
            title="Describe a model",
            description=_DESCRIBE,
            input_schema=record({"name": {**text(_NAME), "minLength": 1, "maxLength": 4096}}),
            output_schema=_DESCRIBE_OUTPUT,
            run=describe_model,
        ),
    ]


async def _describe(models: ModelList, paths: AllowedPaths, name: str) -> dict[str, Any]:
    file = await models.find(name)
    if file is not None:
        return await asyncio.to_thread(describe_file, file)
    if os.sep in name:
        return await asyncio.to_thread(_describe_path, paths, name)
    raise ModelError(f"model '{name}' not found; run list_models to see available models.")


def _describe_path(paths: AllowedPaths, given: str) -> dict[str, Any]:
    """A file outside the model folders: what is described is what was opened."""
    with paths.open(given, remedy=paths.model_remedy) as opened:
        path = str(opened.path)
        if opened.path.suffix not in FORMATS:
            raise ModelError(f"'{given}' is no model file: its name must end in {', '.join(FORMATS)}")
        size = os.fstat(opened.fd).st_size
        way = f"/proc/self/fd/{opened.fd}"
        found = facts(way, opened.path.suffix[1:], size)
    if found["problem"] is not None:
        found["problem"] = found["problem"].replace(way, path)
    return document(stem(opened.path.name), path, size, path_argument(path), found)


_LISTED: Final = record(
    {
        "name": text("For model=version=NAME, and for describe_model."),
        "path": text(),
        "format": {**text("json is what can be scored with."), "enum": [suffix[1:] for suffix in FORMATS]},
        "size_bytes": whole(),
        "usable": flag("Whether this version can score with it."),
    }
)
# Clients of the SDK check every answer against its schema, in Python. Checking the members of a list takes
# longer than fetching it, so their shape is told, not enforced.
_LIST_OUTPUT: Final = {
    "type": "object",
    "properties": {
        "models": {"type": "array", "description": "In order of name; $defs/model is one of them."}
    },
    "required": ["models"],
    "$defs": {"model": _LISTED},
}

_FEATURE: Final = record(
    {
        "name": text(),
        "extractor": or_null(text("Which extractor provides it; null if none does in this version.")),
        "options": {
            "type": "object",
            "description": "Options of the extractor that differ from its defaults.",
        },
    }
)

_DESCRIBE_OUTPUT: Final = record(
    {
        "name": text(),
        "path": text(),
        "format": {**text(), "enum": [suffix[1:] for suffix in FORMATS]},
        "size_bytes": whole(),
        "model_type": or_null(text("As the file has it; null for .pkl and .onnx.")),
        "feature_names": or_null(array(text(), "What it reads; null for .pkl and .onnx.")),
        "features": or_null(array(_FEATURE, "The same with extractors and options.")),
        "norm_type": or_null(text("How features are scaled before the SVM sees them.")),
        "score_range": or_null(array(number(), "Lowest and highest score; null where nothing is clipped.")),
        "score_transform": or_null(flag("Whether the file maps scores through a curve.")),
        "bootstrap_models": or_null(whole("Models beside the base model, for a confidence interval.")),
        "usable": flag("Whether this version can score with it."),
        "problem": or_null(text("Why not.")),
        "intended_use": or_null(text("What a well-known model is meant for.")),
        "model_argument": or_null(text("What to pass as `model` when scoring; null if it isn't usable.")),
    }
)
