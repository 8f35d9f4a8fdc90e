"""PictureFolder: the folder that pictures are written to, all of them or none."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Self

from acuity.errors import OutputError


class PictureFolder:
    """A folder, created if missing, whose new files appear when publish() is called.

    Until then they are in a hidden folder inside it. At the end of the `with` block what was not published is
    removed, and so is a folder that was created for nothing. Files of other names are left alone.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(os.path.abspath(path))
        self._made: list[Path] = []  # the folders that were created, the outermost first
        self._hidden: Path | None = None
        self._names: list[str] = []

    def __enter__(self) -> Self:
        try:
            missing = [folder for folder in (self.path, *self.path.parents) if not folder.exists()]
            self.path.mkdir(parents=True, exist_ok=True)
            self._made = missing[::-1]
            self._hidden = Path(tempfile.mkdtemp(prefix=".acuity-", suffix=".tmp", dir=self.path))
        except OSError as error:
            self.__exit__()
            raise self._error(error) from error
        return self

    def __exit__(self, *_: object) -> None:
        if self._hidden is not None:
            shutil.rmtree(self._hidden, ignore_errors=True)
            self._hidden = None
        for folder in reversed(self._made):
            with contextlib.suppress(OSError):  # it isn't empty: the pictures are there
                folder.rmdir()

    def final(self, name: str) -> Path:
        """The path that a file will have."""
        return self.path / name

    def present(self, name: str) -> Path:
        """The path that a file has until then."""
        assert self._hidden is not None
        return self._hidden / name

    def write(self, name: str, data: bytes) -> None:
        """Write a file, which publish() gives its place; raises OutputError."""
        try:
            self.present(name).write_bytes(data)
        except OSError as error:
            raise self._error(error) from error
        self._names.append(name)

    def publish(self) -> None:
        """Give the files their places, in the order in which they were written; raises OutputError."""
        try:
            for name in self._names:
                if self.final(name).is_dir():
                    raise IsADirectoryError(f"{name!r} in it is a folder, so move that away")
            for name in self._names:
                os.replace(self.present(name), self.final(name))
        except OSError as error:
            raise self._error(error) from error

    def _error(self, error: OSError) -> OutputError:
        reason = error.strerror or str(error)
        if isinstance(error, FileExistsError | NotADirectoryError):
            reason = "it, or a part of its path, is a file, so name a folder"
        return OutputError(f"pictures could not be written to the folder {str(self.path)!r}: {reason}")
