"""The tools list_models and describe_model, and the list, read again when a file or folder has changed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types

from acuity.access.path_roots import checkout_models
from acuity.access.path_text import FindModel
from acuity.agents.schemas import named, outline, record
from acuity.errors import ModelError
from acuity.models.choose import VIEWINGS
from acuity.models.describe import describe_model, intended_use, undescribed
from acuity.models.files import FORMATS, ModelFile, ModelFiles, ModelKind, find_model_file, list_model_files
from acuity.models.sources import Overrides
from acuity.models.spec import ModelSpec
from acuity.text import shortened
from acuity.tiny.describe import TinyDescription, describe_tiny, seems_usable, tiny_use
from acuity.tiny.files import OWN_FOLDER
from acuity.tiny.sidecar import sidecar_path
from longwire.product.catalog import Answer, Call, Tool
from longwire.product.results import answer, ordered_answer

if TYPE_CHECKING:
    from acuity.access.paths import AllowedPaths
    from acuity.agents.tools.services import Services


# Parsing one huge list would block the event loop, even from another thread.
_MOST_BYTES: Final = 8 << 20

ONNX: Final = "onnx"  # the format of tiny models
_SHOWN_USE: Final = 120  # characters of what a model is meant for, in the list
_NO_OPTIONS: Final[Overrides] = {}

# Seconds until a file that was overwritten in place is noticed; new and removed files are noticed at once.
_THOROUGH: Final = 0.5


class ModelList:
    """The model files and the answer that lists them, read once for each state of the folders."""

    def __init__(self) -> None:
        self._more = (*checkout_models(), OWN_FOLDER)
        self._state: tuple[ModelFiles, types.CallToolResult] | None = None
        self._due = 0.0  # when to check every file again
        self._reading = asyncio.Lock()

    async def files(self) -> tuple[ModelFile, ...]:
        return (await self._current())[0].files

    async def listing(self) -> types.CallToolResult:
        """The result of list_models, ready to be sent."""
        return (await self._current())[1]

    async def find(self, name: str) -> ModelFile | None:
        """The model of that stem, file name or path; raises ModelError if the name is ambiguous."""
        return find_model_file(await self.files(), name)

    async def find_tiny(self, name: str) -> ModelFile | None:
        """The tiny model of that stem, file name or path; raises ModelError if the name is ambiguous."""
        return find_model_file([file for file in await self.files() if file.format == ONNX], name)

    async def finder(self, *, external: bool) -> FindModel:
        """A function that finds models for the scoring tools; another binary's own names are left to it."""
        files = await self.files()

        def find(name: str) -> ModelSpec | None:
            file = find_model_file(files, name)
            if file is None:
                return None
            by_name = file.named and (not external or file.kind == ModelKind.PACKAGE or bool(file.options))
            return ModelSpec(version=file.name) if by_name else ModelSpec(path=str(file.path))

        return find

    async def _current(self) -> tuple[ModelFiles, types.CallToolResult]:
        if (known := self._known()) is not None:
            return known
        async with self._reading:
            if (known := self._known()) is not None:  # another call has just read it
                return known
            self._state = await asyncio.to_thread(_read, self._more)
            return self._state

    def _known(self) -> tuple[ModelFiles, types.CallToolResult] | None:
        if self._state is None:
            return None
        now = time.monotonic()
        thorough = now >= self._due
        if not self._state[0].is_current(thorough=thorough):
            return None
        if thorough:
            self._due = now + _THOROUGH
        return self._state


def describe_file(file: ModelFile) -> dict[str, Any]:
    """The document that describe_model answers; blocks while the file is read."""
    if file.format == ONNX:
        argument = file.name if file.unique else str(file.path)
        return tiny_document(file.path, file.size, argument, describe_tiny(file.path))
    argument = f"version={file.name}" if file.named else path_argument(str(file.path))
    return document(file.name, str(file.path), file.size, argument, _facts(file)) | _own_path(file)


def document(name: str, path: str, size: int, argument: str, found: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "path": path,
        "format": path.rpartition(".")[2],
        "size_bytes": size,
        **found,
        "intended_use": intended_use(name),
        "model_argument": argument if found["usable"] else None,
    }


def tiny_document(path: Path, size: int, argument: str, found: TinyDescription) -> dict[str, Any]:
    """The answer of describe_model for an ONNX file, which has the entry `tiny`."""
    facts = {**undescribed(""), "usable": found.problem is None, "problem": found.problem}
    # What clients look for comes first in the text, which some of them truncate.
    first = {
        "name": path.stem,
        "usable": found.problem is None,
        "problem": found.problem,
        "tiny_model_argument": argument if found.problem is None else None,
        "intended_use": found.use if found.facts else None,
        "tiny": found.facts,
    }
    return first | document(path.stem, str(path), size, "", facts) | first | {"model_argument": None}


def _facts(file: ModelFile) -> dict[str, Any]:
    return facts(str(file.path), file.format, file.size, file.options)


def facts(path: str, format: str, size: int, options: Overrides = _NO_OPTIONS) -> dict[str, Any]:
    """The facts in the file itself; `path` may also name an open descriptor."""
    if format != "json":
        return undescribed(f"only JSON and ONNX models can be used here, and this is a .{format} file")
    if size > _MOST_BYTES:
        return undescribed(f"the file is larger than {_MOST_BYTES >> 20} MiB, too large to look into here")
    return describe_model(path, options)


def path_argument(path: str) -> str:
    """A file as the `model` argument of the scoring tools; a colon would end `path=`."""
    return path if ":" in path else f"path={path}"


def _read(more: Sequence[Path]) -> tuple[ModelFiles, types.CallToolResult]:
    found = list_model_files(more)
    return found, answer({"models": [_entry(file) for file in found.files]})


def _entry(file: ModelFile) -> dict[str, Any]:
    tiny = file.format == ONNX
    use = tiny_use(file.path) if tiny else intended_use(file.name)
    return {
        "name": file.name,
        **_own_path(file),
        "format": file.format,
        "size_bytes": file.size,
        "usable": seems_usable(file.path) if tiny else _facts(file)["usable"],
        "intended_use": None if use is None else shortened(use, _SHOWN_USE),
    }


def _own_path(file: ModelFile) -> dict[str, Any]:
    """The file that computes the model; a variant has none of its own, only the one it is made from."""
    return {"path": None, "made_from": str(file.path)} if file.options else {"path": str(file.path)}


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

    one = record({"name": named(_NAME)}, "name")
    return [
        Tool("list_models", "List models", _LIST, record({}), list_models, _LIST_OUTPUT),
        Tool("describe_model", "Describe a model", _DESCRIBE, one, describe_model, _DESCRIBE_OUTPUT),
    ]


async def _describe(models: ModelList, paths: AllowedPaths, name: str) -> dict[str, Any]:
    file = await models.find(name)
    if file is not None:
        return await asyncio.to_thread(describe_file, file)
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
        if opened.path.suffix == f".{ONNX}":
            return _describe_tiny(paths, opened.path, size, way)
        found = facts(way, opened.path.suffix[1:], size)
    if found["problem"] is not None:
        found["problem"] = found["problem"].replace(way, path)
    return document(opened.path.stem, path, size, path_argument(path), found)


def _describe_tiny(paths: AllowedPaths, path: Path, size: int, way: str) -> dict[str, Any]:
    """Describe a tiny model by checked descriptors of its file and of the sidecar beside it."""
    beside = sidecar_path(path)
    with contextlib.ExitStack() as stack:
        there: Path | None = None
        if os.path.lexists(beside):
            there = Path(f"/proc/self/fd/{stack.enter_context(paths.open(str(beside))).fd}")
        found = describe_tiny(path, model=Path(way), sidecar=there)
    return tiny_document(path, size, str(path), found)


_LIST_OUTPUT: Final = outline({"models": "array"})

_DESCRIBE_OUTPUT: Final = outline(
    {
        "name": "string",
        "path": ["string", "null"],
        "usable": "boolean",
        "problem": ["string", "null"],
        "model_argument": ["string", "null"],
        "intended_use": ["string", "null"],
        "feature_names": ["array", "null"],
    }
)
