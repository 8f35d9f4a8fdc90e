"""Lists the model files of this installation without loading them.

If several files have the same name, it stands for the first of these kinds:

    the user's      JSON files directly in a folder of ACUITY_MODEL_PATH
    the package's   those of ffmpeg-quality-metrics, and variants of them by options
    others          JSON files in subfolders of ACUITY_MODEL_PATH, and in folders that a server adds
    other formats   which Acuity can't score with

So an old copy in some folder never changes the meaning of a name. Two files of the same kind and name are
ambiguous and can only be named by path.
"""

import os
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path
from typing import Final, Self

from acuity.errors import ModelError
from acuity.models.sources import (
    FOLDERS_VARIABLE,
    PACKAGE_SOURCE,
    VARIANTS,
    Overrides,
    is_beside_onnx,
    model_folders,
)

FORMATS: Final = (".json", ".pkl", ".onnx")

# Bounds of the search, in case a model folder is a whole home folder.
_DEPTH: Final = 3
_MOST_FILES: Final = 1000
_MOST_FOLDERS: Final = 500

# Seconds. Time stamps of file systems are coarse: a file may change twice within one tick.
_TICK: Final = 0.1


class ModelKind(IntEnum):
    """The kind of a model file; a name stands for the file of the lowest kind."""

    USER = 0
    PACKAGE = 1
    OTHER = 2
    OTHER_FORMAT = 3


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model file, recognised by its name, or a variant of one by options."""

    name: str  # the file's name without its format: 'vmaf_v0.6.1'
    path: Path
    folder: Path  # the model folder it was found in
    size: int
    kind: ModelKind
    unique: bool = False  # whether its name stands for it alone in this list
    named: bool = False  # whether version=NAME stands for it everywhere, not only in this list
    options: Overrides = field(default_factory=dict)  # of a variant

    @property
    def format(self) -> str:
        return self.path.suffix[1:]

    @property
    def inside(self) -> str:
        """The path inside the model folder."""
        return str(self.path.relative_to(self.folder))

    @property
    def names(self) -> tuple[str, ...]:
        """The names that stand for it; a variant can't be named by its file."""
        return (self.name,) if self.options else (self.name, self.path.name, self.inside, str(self.path))


Stamp = tuple[int, int] | None  # of a file or folder: when it changed last, and its size


@dataclass(frozen=True, slots=True)
class WatchedPaths:
    """Paths, and their time stamps and sizes at one moment."""

    paths: tuple[str, ...]
    stamps: tuple[Stamp, ...]

    @classmethod
    def now(cls, paths: Iterable[str]) -> Self:
        known = tuple(paths)
        return cls(known, tuple(map(_stamp, known)))

    @property
    def newest(self) -> int:
        """The time of the latest change, in nanoseconds."""
        return max((stamp[0] for stamp in self.stamps if stamp is not None), default=0)

    def unchanged(self) -> bool:
        return self.stamps == tuple(map(_stamp, self.paths))


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """All model files, with the time stamps that show whether the list is still current."""

    files: tuple[ModelFile, ...]  # in order of name
    variable: str | None  # the value of ACUITY_MODEL_PATH
    watched_folders: WatchedPaths
    watched_files: WatchedPaths
    settled: bool  # False: read so soon after a change that another could go unnoticed

    def is_current(self, *, thorough: bool = True) -> bool:
        """Whether the list is still correct.

        The quick check looks at the few folders, which change when files are added, removed or replaced. Only
        a thorough check, which looks at every file, notices a file that was overwritten in place.
        """
        same = self.settled and self.variable == os.environ.get(FOLDERS_VARIABLE)
        return same and self.watched_folders.unchanged() and (not thorough or self.watched_files.unchanged())


def list_model_files(more: Sequence[Path] = ()) -> ModelFiles:
    """List the files of all model folders and of those in `more`."""
    found: dict[Path, ModelFile] = {}
    seen_folders: list[str] = []
    seen_files: list[str] = []
    variable = os.environ.get(FOLDERS_VARIABLE)
    places: list[tuple[str | Path, str | None]] = [*model_folders(), *((folder, None) for folder in more)]
    folders = [(Path(os.path.abspath(folder)), source) for folder, source in places]
    homes = [Path(os.path.realpath(folder)) for folder, _ in folders]
    for folder, source in folders:
        for place, paths in _walk(folder):
            seen_folders.append(str(place))
            seen_files += map(str, paths)
            for path in filter(lambda path: _stays_in(homes, path), paths):
                kind = _kind(path, source, right_in=place == folder)
                name = path.name.removesuffix(path.suffix)
                size = (_stamp(str(path)) or (0, 0))[1]
                found.setdefault(path, ModelFile(name, path, folder, size, kind))
    watched = WatchedPaths.now(seen_folders), WatchedPaths.now(seen_files)
    return ModelFiles(
        files=tuple(sorted(_settle(found.values()), key=lambda file: (file.name, str(file.path)))),
        variable=variable,
        watched_folders=watched[0],
        watched_files=watched[1],
        settled=time.time_ns() - max(part.newest for part in watched) > _TICK * 1e9,
    )


def find_model_file(files: Iterable[ModelFile], name: str) -> ModelFile | None:
    """The model of that name, file name or path; raises ModelError if it is ambiguous."""
    matching = [file for file in files if name in file.names]
    first = min((file.kind for file in matching), default=None)
    found = {os.path.realpath(file.path): file for file in reversed(matching) if file.kind == first}
    if len(found) > 1:
        paths = sorted(str(file.path) for file in found.values())
        raise ModelError(
            f"model name '{name}' is ambiguous; matched: {paths}. Pass an explicit path instead."
        )
    return next(iter(found.values()), None)


def _kind(path: Path, source: str | None, *, right_in: bool) -> ModelKind:
    if path.suffix != ".json":
        return ModelKind.OTHER_FORMAT
    if not right_in or source is None:
        return ModelKind.OTHER
    return ModelKind.PACKAGE if source == PACKAGE_SOURCE else ModelKind.USER


def _settle(files: Collection[ModelFile]) -> Iterator[ModelFile]:
    """The files and the variants made from them, each marked if a name stands for it alone."""
    best: dict[str, ModelKind] = {}
    for file in files:
        best[file.name] = min(file.kind, best.get(file.name, file.kind))
    targets = {(f.name, os.path.realpath(f.path)) for f in files if f.kind == best[f.name]}
    shared = Counter(name for name, _ in targets)
    # A model without a file among the first kinds is made from another model's file, if that is unambiguous.
    made = {
        name: base
        for name, (base, _) in VARIANTS.items()
        if best.get(name, ModelKind.OTHER) >= ModelKind.OTHER
        and best.get(base, ModelKind.OTHER) <= ModelKind.PACKAGE
        and shared[base] == 1
    }
    for file in files:
        if file.kind == ModelKind.PACKAGE and best[file.name] == ModelKind.USER:
            continue  # the name stands for the user's own file
        unique = file.kind == best[file.name] and shared[file.name] == 1 and file.name not in made
        file = replace(file, unique=unique, named=unique and file.kind <= ModelKind.PACKAGE)
        yield file
        for name in [name for name, base in made.items() if file.named and base == file.name]:
            yield replace(file, name=name, options=VARIANTS[name][1])


def _walk(top: Path) -> Iterator[tuple[Path, list[Path]]]:
    """Folders with their model files, the nearest first; links to folders are not followed."""
    waiting, folders, files = [(top, 0)], 0, 0
    while waiting and folders < _MOST_FOLDERS and files < _MOST_FILES:
        place, depth = waiting.pop(0)
        entries = _entries(place)
        models = [place / e.name for e in entries if os.path.splitext(e.name)[1] in FORMATS and _is_file(e)]
        models = [path for path in models if path.suffix != ".json" or not is_beside_onnx(path)]
        models = models[: _MOST_FILES - files]
        folders, files = folders + 1, files + len(models)
        yield place, models
        if depth < _DEPTH:
            inside = (e for e in entries if not e.name.startswith(".") and e.is_dir(follow_symlinks=False))
            waiting += [(place / e.name, depth + 1) for e in inside]


def _entries(place: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(place) as listing:
            return sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return []  # missing, not a folder, or not readable


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def _stays_in(homes: list[Path], path: Path) -> bool:
    """Whether the file is in a model folder; files elsewhere that a link leads to are not listed."""
    if not path.is_symlink():
        return True
    target = Path(os.path.realpath(path))
    return any(target.is_relative_to(home) for home in homes)


def _stamp(path: str) -> Stamp:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
