"""The tools list_models and describe_model."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types

from acuity.agents.schemas import named, outline, record
from acuity.agents.tools import model_list
from acuity.errors import ModelError
from acuity.models.choose import VIEWINGS
from acuity.models.files import FORMATS
from acuity.tiny.describe import describe_tiny
from acuity.tiny.sidecar import sidecar_path
from longwire.product.catalog import Answer, Call, Tool
from longwire.product.results import ordered_answer

if TYPE_CHECKING:
    from acuity.access.paths import AllowedPaths
    from acuity.agents.tools.services import Services

_LIST: Final = """\
The models of this server: name, path, format, size, whether this version can score with them (`usable`) \
and what they are meant for (intended_use). Pass one as model="version=NAME", one of format onnx as \
tiny_model="NAME". As a rule: vmaf_v0.6.1 for up to 1080p, vmaf_4k_v0.6.1 for 2160p, neg models to compare \
encoders that may sharpen; viewing=tv, phone or 4k-tv chooses among the vmaf_v1 models, the generation of \
2026, each for a display and a distance."""

_DESCRIBE: Final = """\
What a model is: its features and their options, its type, the range of its scores, what it is meant for, \
and whether this version can score with it; if not, `problem` says why. Call it to choose a model, or to \
check a file of your own. Pass `model_argument` as `model`, tiny_model_argument as `tiny_model`."""

_NAME: Final = (
    "A name from list_models (vmaf_v0.6.1), a file name (vmaf_v0.6.1.json), or a model file's path in an "
    "allowed folder."
)


def tools(services: Services) -> list[Tool]:
    models = services.models

    async def list_models(_: Call) -> types.CallToolResult:
        return await models.listing()

    async def describe_model(call: Call) -> Answer:
        found = await _describe(models, services.paths, call.arguments["name"])
        return ordered_answer(found) if "tiny" in found else found

    one = record("name", name=named(_NAME))
    return [
        Tool("list_models", "List models", _LIST, record(), list_models, _LIST_OUTPUT),
        Tool("describe_model", "Describe a model", _DESCRIBE, one, describe_model, _DESCRIBE_OUTPUT),
    ]


async def _describe(models: model_list.ModelList, paths: AllowedPaths, name: str) -> dict[str, Any]:
    file = await models.find(name)
    if file is not None:
        return await asyncio.to_thread(model_list.describe_file, file)
    if os.sep in name:
        return await asyncio.to_thread(_describe_path, paths, name)
    watched = f" '{name}' is a way of watching: score with viewing={name}." if name in VIEWINGS else ""
    raise ModelError(f"model '{name}' not found; run list_models to see available models.{watched}")


def _describe_path(paths: AllowedPaths, given: str) -> dict[str, Any]:
    """Describe a file outside the model folders, by the descriptor that was checked."""
    with paths.open(given, remedy=paths.model_remedy) as opened:
        path = str(opened.path)
        if opened.path.suffix not in FORMATS:
            raise ModelError(f"'{given}' is no model file: its name must end in {', '.join(FORMATS)}")
        size = os.fstat(opened.fd).st_size
        way = f"/proc/self/fd/{opened.fd}"
        if opened.path.suffix == f".{model_list.ONNX}":
            return _describe_tiny(paths, opened.path, size, way)
        found = model_list.facts(way, opened.path.suffix[1:], size)
    if found["problem"] is not None:
        found["problem"] = found["problem"].replace(way, path)
    return model_list.document(opened.path.stem, path, size, model_list.path_argument(path), found)


def _describe_tiny(paths: AllowedPaths, path: Path, size: int, way: str) -> dict[str, Any]:
    """Describe a tiny model by checked descriptors of its file and of the sidecar beside it."""
    beside = sidecar_path(path)
    with contextlib.ExitStack() as stack:
        there: Path | None = None
        if os.path.lexists(beside):
            there = Path(f"/proc/self/fd/{stack.enter_context(paths.open(str(beside))).fd}")
        found = describe_tiny(path, model=Path(way), sidecar=there)
    return model_list.tiny_document(path, size, str(path), found)


_LIST_OUTPUT: Final = outline("models:array")

_DESCRIBE_OUTPUT: Final = outline(
    "name:string path:string? usable:boolean problem,model_argument,intended_use:string? feature_names:array?"
)
