"""The models of a server, listed and described; the list is read again when a file or folder has changed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import mcp_types as types

from acuity.access.path_roots import checkout_models
from acuity.access.path_text import FindModel
from acuity.models.describe import describe_model, intended_use, undescribed
from acuity.models.files import ModelFile, ModelFiles, ModelKind, find_model_file, list_model_files
from acuity.models.sources import Overrides
from acuity.models.spec import ModelSpec
from acuity.text import shortened
from acuity.tiny.describe import TinyDescription, describe_tiny, seems_usable, tiny_use
from acuity.tiny.files import OWN_FOLDER
from longwire.product.results import answer

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
