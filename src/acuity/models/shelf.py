"""The model files of this installation, as a listing shows them, without loading any.

Names that `version=` takes are those of JSON files right in a model folder; the first folder that has a name
wins. A folder of the user's may hold more: other formats, and folders inside it.
"""

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from acuity.models.sources import FOLDERS_VARIABLE, model_folders

FORMATS: Final = (".json", ".pkl", ".onnx")

# A model folder that is somebody's whole home should neither take minutes nor fill a listing.
_DEPTH: Final = 3
_MOST_FILES: Final = 1000
_MOST_FOLDERS: Final = 500

# Clocks of file systems tick slowly: what changed this short a time ago may change again at the same tick.
_TICK: Final = 0.1


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file that is a model by its name."""

    name: str  # the file's name without its format: 'vmaf_v0.6.1'
    path: Path
    folder: Path  # the model folder it was found in
    size: int
    named: bool  # whether version=NAME stands for it

    @property
    def format(self) -> str:
        return self.path.suffix[1:]

    @property
    def inside(self) -> str:
        """Its path inside the model folder."""
        return str(self.path.relative_to(self.folder))


Stamp = tuple[int, int] | None  # of a file or folder: when it changed last, and its size


@dataclass(frozen=True, slots=True)
class Watched:
    """Paths, and how they were when somebody looked."""

    paths: tuple[str, ...]
    stamps: tuple[Stamp, ...]

    @classmethod
    def now(cls, paths: Iterable[str]) -> Self:
        known = tuple(paths)
        return cls(known, tuple(map(_stamp, known)))

    @property
    def newest(self) -> int:
        """When the latest change was, in nanoseconds."""
        return max((stamp[0] for stamp in self.stamps if stamp is not None), default=0)

    def unchanged(self) -> bool:
        return self.stamps == tuple(map(_stamp, self.paths))


@dataclass(frozen=True, slots=True)
class Shelf:
    """All model files, and what tells later that they are still the same."""

    files: tuple[ModelFile, ...]  # in order of name
    variable: str | None  # the user's folders, as the environment named them
    watched_folders: Watched
    watched_files: Watched
    settled: bool  # False: looked at so soon after a change that another could go unnoticed

    def is_current(self, *, thorough: bool = True) -> bool:
        """Whether a new look would find the same.

        Folders change when files come, go or are replaced, and there are few of them. A file that was
        written over in place is noticed by a thorough check only, which looks at every file.
        """
        same = self.settled and self.variable == os.environ.get(FOLDERS_VARIABLE)
        return same and self.watched_folders.unchanged() and (not thorough or self.watched_files.unchanged())


def read_shelf() -> Shelf:
    """Look at every model folder."""
    files: dict[Path, ModelFile] = {}
    names: set[str] = set()
    seen_folders: list[str] = []
    seen_files: list[str] = []
    variable = os.environ.get(FOLDERS_VARIABLE)
    folders = [Path(os.path.abspath(folder)) for folder, _ in model_folders()]
    homes = [Path(os.path.realpath(folder)) for folder in folders]
    for folder in folders:
        for place, paths in _walk(folder):
            seen_folders.append(str(place))
            seen_files += map(str, paths)
            for path in filter(lambda path: _stays_in(homes, path), paths):
                nameable = place == folder and path.suffix == ".json"
                name = path.name.removesuffix(path.suffix)
                if nameable and name in names:
                    continue  # an earlier folder has the name, so this one can't be had by it
                if nameable:
                    names.add(name)
                files.setdefault(path, ModelFile(name, path, folder, _size(path), nameable))
    watched = Watched.now(seen_folders), Watched.now(seen_files)
    return Shelf(
        files=tuple(sorted(files.values(), key=lambda file: (file.name, str(file.path)))),
        variable=variable,
        watched_folders=watched[0],
        watched_files=watched[1],
        settled=time.time_ns() - max(part.newest for part in watched) > _TICK * 1e9,
    )


def _walk(top: Path) -> Iterator[tuple[Path, list[Path]]]:
    """Folders with the model files in them, the nearest first; links to folders are not followed."""
    waiting, folders, files = [(top, 0)], 0, 0
    while waiting and folders < _MOST_FOLDERS and files < _MOST_FILES:
        place, depth = waiting.pop(0)
        entries = _entries(place)
        models = [place / e.name for e in entries if os.path.splitext(e.name)[1] in FORMATS and _is_file(e)]
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
        return []  # not there, no folder, or not ours to read


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def _stays_in(homes: list[Path], path: Path) -> bool:
    """Whether it is a file of the model folders; what they only link to is not listed."""
    if not path.is_symlink():
        return True
    target = Path(os.path.realpath(path))
    return any(target.is_relative_to(home) for home in homes)


def _size(path: Path) -> int:
    stamp = _stamp(str(path))
    return stamp[1] if stamp is not None else 0


def _stamp(path: str) -> Stamp:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
