"""The allowlist: the only place that turns a client's text into a file.

Every string that becomes a path is checked here. It is resolved, has to be strictly under an allowed root,
and is opened; then the descriptor is checked again, so that swapping in a link between those steps gains
nothing. Workers open files again by the checked paths, and check their descriptors in the same way: see
guard_for().

Two things can't be checked by path. A hard link can't be told from the original: a user who may create one
under a root can make that file readable, and Linux allows that only to users who may write the file. And any
user who may write under a root decides what the files contain.
"""

from __future__ import annotations

import copy
import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from acuity.access import path_text
from acuity.access.path_roots import resolve_root, roots_of
from acuity.access.path_text import check_text, shown, to_absolute
from acuity.errors import ModelError, PathError
from acuity.text import one_line
from acuity.video.local_file import Guard, refuse_special
from acuity.video.readers.guess import IMAGE_SUFFIXES

_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | os.O_NOFOLLOW

_LEAST: Final = 4096  # bytes of a file in a quota, so that their number is bounded, too

# What the tool that lists files lists besides videos, and how the names of those files end.
KINDS: Final = {"table": ".parquet", "model": ".onnx"}

_REASONS: Final = {
    errno.EACCES: "may not be read by this server: check its permissions",
    errno.EPERM: "may not be read by this server: check its permissions",
    errno.ELOOP: "leads through links that go in circles or were changed just now: name the file itself",
    errno.ENAMETOOLONG: "has a name that is too long for a file",
    errno.ENXIO: "is a socket or a device, and only plain files are read here: name a file",
}


class OpenedFile(NamedTuple):
    fd: int
    path: Path


class AllowedPaths:
    """The folders, and single files, that may be read, and the folders where files may be created."""

    def __init__(
        self,
        roots: Sequence[Path],
        *,
        writable: Sequence[Path] | None = None,
        private: Sequence[Path] = (),
        resolved: bool = False,
        videos: Sequence[Path] | None = None,
        listed_by: str | None = None,
        extend_by: str = "set VMAF_MCP_ALLOW",
        quota: int | None = None,
    ) -> None:
        """`writable` are roots too; None: all roots. `private` are folders that can't be read even inside
        a root, except for roots inside them. Roots are resolved once, now.

        With `resolved` they are used unchanged, because another process has resolved them: a link that
        replaced one since then must not be followed. `videos` are the roots where videos are expected; None:
        all roots. `listed_by` is the tool that lists the files, for errors about missing ones; `extend_by`
        is what the operator does to allow more. `quota` are the bytes that each writable root may hold,
        whoever wrote them; None: any number.
        """
        self._extend_by = extend_by
        self._quota = quota
        self._listed_by = listed_by
        self._remedy = f"; {listed_by} shows what is there" if listed_by is not None else ""
        self.model_remedy = "; list_models shows the models" if listed_by is not None else ""
        chosen = roots if writable is None else writable
        named = {root: root if resolved else resolve_root(root, "a root") for root in (*roots, *chosen)}
        # What another process has resolved may be single files: see with_files().
        self.files = frozenset(root for root in named.values() if _is_plain(root))
        self.roots: Final = tuple(root for root in dict.fromkeys(named.values()) if root not in self.files)
        self.video_roots: Final = self.roots if videos is None else tuple(videos)
        self.writable: Final = tuple(dict.fromkeys(named[root] for root in chosen))
        self.private: Final = tuple(private)
        everything = {*self.roots, *self.private}
        innermost = sorted(everything, key=lambda root: len(root.parts), reverse=True)
        self._prefixes: Final = tuple((f"{root}/", root) for root in innermost)

    @classmethod
    def configured(
        cls, data: Path, allow: Iterable[str] = (), allow_write: Iterable[str] = (), **options: Any
    ) -> AllowedPaths:
        """The default roots and the operator's: see path_roots.py. Raises SettingsError."""
        return cls(**roots_of(data, allow, allow_write), **options)

    def with_files(self, files: Iterable[str]) -> AllowedPaths:
        """The same, and these files besides: they may be read, and nothing beside them."""
        more = copy.copy(self)
        more.files = self.files | {Path(os.path.realpath(file)) for file in files}
        return more

    def check(self, text: str) -> Path:
        """The resolved path of a plain file that may be read; raises PathError."""
        with self.open(text) as file:
            return file.path

    @contextmanager
    def open(self, text: str, *, remedy: str | None = None) -> Iterator[OpenedFile]:
        """Check a path and open the file for as long as the block lasts; its descriptor is checked, too.

        `remedy` ends the sentence about a missing file.
        """
        path = self._resolve(text)
        try:
            refuse_special(os.lstat(path).st_mode, f"path {shown(text)}")  # opening a device can have effects
            fd = os.open(path, _READ)
        except OSError as error:
            raise self._cannot_open(text, path, error, remedy) from error
        try:
            yield OpenedFile(fd, self.check_opened(fd, text))
        finally:
            os.close(fd)

    def check_folder(self, text: str) -> Path:
        """The resolved path of a folder that is a root or under one; raises PathError."""
        inside = to_absolute(f"{text.rstrip('/')}/file")  # to_absolute() refuses the name of a folder
        path = Path(os.path.realpath(os.path.dirname(inside)))
        if path not in self.roots and self._root_of(path) is None:
            raise self._outside(text)
        if not path.is_dir():
            raise PathError(f"path {shown(text)} is no folder: name one")
        return path

    def check_opened(self, fd: int, text: str) -> Path:
        """The path of an open descriptor, if it is a plain file under a root; raises PathError."""
        refuse_special(os.fstat(fd).st_mode, f"path {shown(text)}")
        path = _path_of(fd)
        if self._root_of(path) is None:
            raise self._outside(text)
        return path

    def check_output(self, text: str) -> Path:
        """The path for a new file in an existing folder; raises PathError.

        Existing files are never replaced. Of nested roots the innermost decides whether files may be written,
        so a writable parent doesn't make the data folder writable.
        """
        path = self._resolve(text)
        self.check_room(path)
        if not path.parent.is_dir():
            raise PathError(f"path {shown(text)} is in a folder that does not exist: create it first")
        for name in (Path(to_absolute(text)), path):
            try:
                os.lstat(name)  # a broken link exists, too
            except FileNotFoundError:
                continue
            except OSError as error:
                raise self._cannot_open(text, name, error) from error
            raise PathError(f"path {shown(text)} exists already: give a new name")
        return path

    def check_room(self, path: Path, more: int = 0) -> None:
        """Raise PathError unless the folder of a resolved path may be written and has room for more bytes."""
        root, quota = self._root_of(path), self._quota
        if root is None:
            raise self._outside(str(path))
        if root not in self.writable:
            there = " or ".join(f"'{folder}'" for folder in self.writable if folder.is_dir())
            raise PathError(
                f"path {shown(str(path))} is in '{root}', which is only read: "
                f"{f'write to {there}, or ' if there else ''}allow it with --allow-write DIR "
                "(VMAF_MCP_ALLOW_WRITE)"
            )
        if quota is not None and _size_of(root, quota) + more > quota:
            raise PathError(
                f"the folder '{root}' has no room for path {shown(str(path))}: it may hold {quota} bytes "
                "(--max-output-bytes), so remove files there, or raise that"
            )

    def check_model(self, spec: str, find: path_text.FindModel | None = None) -> str:
        """A model string, its path checked and resolved; raises PathError or ModelError.

        `find` finds models by name and file name.
        """
        return path_text.check_model(spec, self._check_model_file, find)

    def check_feature(self, spec: str) -> str:
        """A feature string, paths in its options checked and resolved; raises PathError or FeatureError."""
        return path_text.check_feature(spec, self.check)

    def check_tiny(self, text: str) -> Path:
        """The resolved path of a tiny model's file; raises PathError or ModelError.

        The files beside it, which its name or the model itself leads to, are checked when they are opened.
        """
        check_text(text, "tiny_model")
        if not text.endswith(".onnx"):
            raise ModelError(
                f"'{shown(text)}' is no tiny model: name an .onnx file, or one that list_models has with the "
                "format onnx"
            )
        return self._check_model_file(text)

    def _resolve(self, text: str) -> Path:
        """The resolved path, strictly under a root. Errors don't reveal whether a path outside exists."""
        path = Path(os.path.realpath(to_absolute(text)))
        if path in self.roots:
            raise PathError(
                f"path {shown(text)} is an allowed folder, not a file: name a file in it{self._remedy}"
            )
        if self._root_of(path) is None:
            raise self._outside(text)
        return path

    def _root_of(self, path: Path) -> Path | None:
        """The innermost root above the path, unless it is private; a root is not under itself.

        The root of a single allowed file is the folder that it is in.
        """
        if ".." in path.parts:
            return None
        if path in self.files:
            return path.parent
        text = str(path)
        found = next((root for prefix, root in self._prefixes if text.startswith(prefix)), None)
        return None if found in self.private else found

    def _check_model_file(self, text: str) -> Path:
        with self.open(text, remedy=self.model_remedy) as file:
            return file.path

    def _cannot_open(self, text: str, path: Path, error: OSError, remedy: str | None = None) -> PathError:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            told = self._missing(path) if remedy is None else remedy
            return PathError(f"no such file under the allowed folders: {one_line(str(path))}{told}")
        reason = _REASONS.get(error.errno or 0, f"cannot be opened: {error.strerror}")
        return PathError(f"path {shown(text)} {reason}")

    def _outside(self, text: str) -> PathError:
        """The reference server's sentence, which is for the operator, and what the client itself can do."""
        sentence = f"path {shown(text)} not under an allowlisted root; {self._extend_by} to extend."
        if self._listed_by is not None:
            sentence += f" {self._listed_by} shows what can be read: pass a path as it has them, in full."
        return PathError(sentence)

    def _missing(self, path: Path) -> str:
        """The remedy for a file that isn't there."""
        kind = next((word for word, suffix in KINDS.items() if path.suffix.lower() == suffix), None)
        if self._listed_by is not None and kind is not None:
            return f"; {self._listed_by} with kind={kind} shows what is there"
        if not any(mark in path.name for mark in "%*"):
            return self._remedy
        if "%" in path.name or path.suffix.lower() in IMAGE_SUFFIXES:
            return "; patterns of images are not read here, so make a video of them"
        named = max(re.split(r"[*?]", path.stem), key=len)
        shown_by = "" if self._listed_by is None else f", as {self._listed_by} with name={named} shows them"
        return f"; patterns are not read here: name each file{shown_by}"


def guard_for(paths: AllowedPaths) -> Guard:
    """The guard for acuity.video.local_file.restrict(), so that the engine reads only allowed files."""

    def guard(fd: int, name: str) -> None:
        paths.check_opened(fd, name)

    return guard


def _is_plain(path: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _size_of(folder: Path, most: int) -> int:
    """The bytes of all files in a folder; counting ends above `most`. Each counts as a page at least."""
    total = 0
    for place, _, names in os.walk(folder):
        total += _LEAST
        for name in names:
            with suppress(OSError):
                total += max(os.lstat(os.path.join(place, name)).st_size, _LEAST)
            if total > most:
                return total
    return total


def _path_of(fd: int) -> Path:
    """The kernel's path of an open file."""
    try:
        return Path(os.readlink(f"/proc/self/fd/{fd}"))
    except OSError:
        raise PathError("this server can't read /proc, and without it no path can be checked") from None
