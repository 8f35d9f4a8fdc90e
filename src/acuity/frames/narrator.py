"""Narrators: what a vision-language model says about a picture, beside what was measured.

The model is a folder on this machine in the layout of ONNX Runtime GenAI (extra `vlm`). Nothing is
downloaded, no code of the folder is run, and the model runs in a process that is killed when it takes too
long.
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from acuity.child_process import ChildProcess, document
from acuity.errors import MissingExtra, NarratorError
from acuity.foreign_json import parse_json
from acuity.frames import narrator_process as wire
from acuity.frames.narrator_process import cleaned, question
from acuity.text import one_line, quoted

CONFIG: Final = "genai_config.json"
_MOST_CONFIG: Final = 1 << 20  # bytes
_PARTS: Final = ("vision", "embedding", "decoder", "speech")
# Files that GenAI reads besides those that the configuration names.
_OTHERS: Final = ("tokenizer_config.json",)
# Settings that make the runtime load a library, which would be code of the folder.
_CODE: Final = frozenset({"custom_ops_library", "backend_path", "library_path", "ep_library_path"})


def check_model_folder(folder: Path) -> None:
    """Refuse a folder that can't be a model that looks at pictures; raises NarratorError."""
    if not folder.is_dir():
        raise NarratorError(f"'{folder}' is no folder: name the folder of a model, which has {CONFIG}")
    model = _configuration(folder).get("model")
    if not isinstance(model, dict) or not isinstance(model.get("type"), str):
        raise NarratorError(f"'{folder / CONFIG}' names no model type: it is no model of ONNX Runtime GenAI")
    if not isinstance(model.get("vision"), dict):
        kind = f"a model of type {quoted(model['type'])}, which doesn't look at pictures"
        raise NarratorError(f"'{folder}' has {kind}: name a vision-language model")
    for name in _files(model):
        path = Path(name)
        if path.is_absolute() or ".." in path.parts:
            raise NarratorError(f"'{folder / CONFIG}' names {quoted(name)}, which is outside its folder")
        if not (folder / path).is_file():
            raise NarratorError(f"'{folder}' is incomplete: it has no file {quoted(name)}; copy all of it")


def _configuration(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_CONFIG + 1)
    except FileNotFoundError:
        raise NarratorError(f"'{folder}' is no model of ONNX Runtime GenAI: it has no {CONFIG}") from None
    except OSError as error:
        raise NarratorError(f"'{path}' can't be read: {error.strerror}") from error
    try:
        found = parse_json(text) if len(text) <= _MOST_CONFIG else None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise NarratorError(f"'{path}' is no JSON object: get the model's folder again")
    for key in _keys(found):
        if key in _CODE:
            raise NarratorError(f"'{path}' has {quoted(key)}, which would run code of the folder: remove it")
    return found


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from value
        value = [*value.values()]
    for inner in value if isinstance(value, list) else ():
        yield from _keys(inner)


def _files(model: Mapping[str, Any]) -> Iterator[str]:
    for about in map(model.get, _PARTS):
        if isinstance(about, Mapping):
            named = map(about.get, ("filename", "config_filename", "adapter_filename"))
            yield from (name for name in named if isinstance(name, str) and name)
    yield from _OTHERS


_MODULE: Final = "acuity.frames.narrator_process"
_STARTS: Final = 2  # of the process in one call: once more after a crash
INSTALL: Final = "a model that describes pictures needs the extra 'vlm': pip install 'acuity-vmaf[vlm]'"


@dataclass(frozen=True, slots=True)
class NarratorLimits:
    """What a narrator may take; beyond that its process is killed."""

    load: float = 60.0  # seconds to load the model
    frame: float = 60.0  # seconds for a picture
    total: float = 120.0  # seconds for all pictures together, loading included
    tokens: int = 96  # of an answer
    memory: int | None = None  # bytes of data; None: what the machine has


def check_narrator(folder: str | os.PathLike[str]) -> None:
    """Refuse a folder that can't be used, before long work; raises MissingExtra or NarratorError."""
    if importlib.util.find_spec("onnxruntime_genai") is None:
        raise MissingExtra(INSTALL)
    check_model_folder(Path(folder).expanduser())


class Narrator:
    """Describes pictures with a model of ONNX Runtime GenAI. It is used by one thread, and closed at the end.

    Nothing is loaded before the first picture.
    """

    def __init__(self, folder: str | os.PathLike[str], limits: NarratorLimits | None = None) -> None:
        self.model_id: str | None = None  # None until the model is loaded
        self._folder = Path(folder).expanduser().absolute()
        self._limits = limits or NarratorLimits()
        self._process: ChildProcess | None = None
        self._starts = 0
        self._end: float | None = None  # on the monotonic clock, from the first picture on
        self._given_up: str | None = None  # why no picture will be described any more

    def __enter__(self) -> Narrator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The process that the model runs in, if there is one."""
        return None if self._process is None else self._process.child.pid

    def narrate(self, png: Path, hint: str) -> str:
        """A sentence or two about the picture; `hint` says what was measured. Raises NarratorError."""
        if self._given_up is not None:
            raise NarratorError(self._given_up)
        if self._end is None:
            self._end = time.monotonic() + self._limits.total
        process = self._process or self._load()
        job = {"png": str(png), "question": question(hint), "tokens": self._limits.tokens}
        kind, content = self._ask(process, job, self._limits.frame, "describe a picture")
        if kind == wire.FAILED:
            raise NarratorError(f"{self._label} can't describe the picture: {_said(content)}")
        sentence = cleaned(content.decode("utf-8", "replace"))
        if not sentence:
            raise NarratorError(f"{self._label} said nothing about the picture")
        return sentence

    def close(self) -> None:
        """End the process. May be called again."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.close()

    @property
    def _label(self) -> str:
        return f"the model in '{self._folder}'"

    def _load(self) -> ChildProcess:
        try:
            check_model_folder(self._folder)
        except NarratorError as error:
            raise self._stop(str(error)) from None
        try:
            self._process = process = ChildProcess(_MODULE, wire.ENVIRONMENT)
        except OSError as error:
            raise self._stop(f"{self._label} can't be started: {error.strerror}") from error
        self._starts += 1
        setup = {"folder": str(self._folder), "memory": self._limits.memory}
        kind, content = self._ask(process, setup, self._limits.load, "load")
        if kind == wire.MISSING:
            raise self._stop(f"{INSTALL} ({_said(content)})")
        if kind == wire.REFUSED:
            raise self._stop(f"{self._label} can't be loaded: {_said(content)}")
        self.model_id = self._folder.name
        return process

    def _ask(self, process: ChildProcess, job: object, seconds: float, what: str) -> tuple[bytes, bytes]:
        """The answer of the process; one that is late or gone is ended."""
        assert self._end is not None
        left = self._end - time.monotonic()
        limit = min(seconds, left)
        try:
            process.write(document(job))
            if process.ready(max(limit, 0.0)):
                return process.message()
        except (EOFError, OSError, ValueError):
            crash = self._stop(f"{self._label} crashed: {process.ending()}")
            if self._starts < _STARTS:
                self._given_up = None
            raise crash from None
        why = f"it took more than {seconds:g} s to {what}"
        if left < seconds:
            why = f"the {self._limits.total:g} s for all pictures are over"
        raise self._stop(f"{self._label} was ended because {why}")

    def _stop(self, sentence: str) -> NarratorError:
        """End the process for good; the error for this picture and all others."""
        self.close()
        self._given_up = sentence
        return NarratorError(sentence)


def _said(content: bytes) -> str:
    return one_line(content.decode("utf-8", "replace")).rstrip(".")
