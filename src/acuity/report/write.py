"""Writes a report completely or not at all: on failure the old file stays."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from io import BufferedWriter
from typing import TYPE_CHECKING, Final, TextIO

from acuity import __version__
from acuity.errors import OutputError, to_give
from acuity.report.document import Extra, ReportSource
from acuity.report.precision import Precision, parse_precision
from acuity.report.writers import write_csv, write_json, write_sub, write_xml

if TYPE_CHECKING:
    from pathlib import Path

Piece = str | bytes
Writer = Callable[[ReportSource, Precision, str, Extra], Iterator[Piece]]


def _lazy(name: str) -> Writer:
    """A writer of score_page.py, which is imported when it is first used: few runs need it."""

    def write(source: ReportSource, _: Precision, __: str, extra: Extra) -> Iterator[Piece]:
        from acuity.report.page import score_page

        writer: Callable[[ReportSource, Extra], Iterator[Piece]] = getattr(score_page, name)
        return writer(source, extra)

    return write


WRITERS: dict[str, Writer] = {
    "json": write_json,
    "xml": write_xml,
    "csv": write_csv,
    "sub": write_sub,
    "html": _lazy("write_html"),
    "svg": _lazy("write_svg"),
    "png": _lazy("write_png"),
}
# Formats for people. Entries of extra that are not for files (times, scores, pictures) are for these.
SHOWN: Final = ("html", "svg", "png")

_STDOUT = ("-", "/dev/stdout")
_DESCRIPTORS = "/proc/self/fd/"
_check_room: Callable[[Path, int], None] | None = None


def render_report(
    results: ReportSource,
    format: str,
    precision: str | int = "legacy",
    *,
    extra: Extra | None = None,
    version: str | None = None,
) -> Iterator[str]:
    """A report in pieces of text; extra entries are written if the format has a place for them.

    The pieces of a PNG are bytes, and only write_report() takes them.
    """
    for piece in _pieces(results, format, precision, extra, version):
        if isinstance(piece, bytes):
            raise OutputError(f"the report format {format!r} is no text: write it to a file")
        yield piece


def _pieces(
    results: ReportSource, format: str, precision: str | int, extra: Extra | None, version: str | None
) -> Iterator[Piece]:
    if format not in WRITERS:
        raise OutputError(f"the report format {format!r} is unknown; use {', '.join(WRITERS)}")
    return WRITERS[format](results, parse_precision(precision), version or __version__, extra or {})


def write_report(
    results: ReportSource,
    path: str | os.PathLike[str],
    format: str = "json",
    precision: str | int = "legacy",
    *,
    extra: Extra | None = None,
    version: str | None = None,
) -> None:
    """Write a report to a file, or to standard output for '-'; raises OutputError."""
    pieces = _pieces(results, format, precision, extra, version)
    target = os.fspath(path)
    try:
        if target in _STDOUT:
            _write_text(sys.stdout, pieces)
            return
        if _is_special(target):
            with open(target, "wb") as stream:
                _write_bytes(stream, pieces)
            return
    except OSError as error:
        raise _output_error(target, error) from error
    with written_beside(target) as temporary, open(temporary, "wb") as stream:
        _write_bytes(stream, pieces)


def format_of(path: str | os.PathLike[str]) -> str:
    """The format that a report's file name says; raises OutputError."""
    suffix = os.path.splitext(os.fspath(path))[1].lower().removeprefix(".")
    if suffix not in WRITERS:
        endings = " or ".join(", ".join(f".{name}" for name in WRITERS).rsplit(", ", 1))
        raise OutputError(
            f"'{os.fspath(path)}' doesn't say its format: end it with {endings}, or ", to_give("format")
        )
    return suffix


def write_document(path: str | os.PathLike[str], text: str) -> None:
    """Write a text as a file, completely or not at all; raises OutputError."""
    with written_beside(path) as temporary, open(temporary, "wb") as stream:
        _write_bytes(stream, [text])


@contextlib.contextmanager
def written_beside(path: str | os.PathLike[str], what: str = "report", *, new: bool = False) -> Iterator[str]:
    """A temporary file in the folder of `path`, which it becomes if all goes well; raises OutputError.

    For a writer that wants a path. `what` says in the error what could not be written. With `new`, `path` is
    resolved already, an existing file is never replaced, and a folder or link that was swapped in since then
    is not followed.
    """
    target = os.fspath(path) if new else os.path.realpath(path)  # a link stays, and its file is replaced
    try:
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(_held_folder(target)) if new else None
            temporary = stack.enter_context(_temporary_beside(target, folder))
            yield temporary
            _replace(temporary, target, folder)
    except OutputError:
        raise
    except OSError as error:
        raise _output_error(os.fspath(path), error, what) from error


def limit_outputs(check: Callable[[Path, int], None] | None) -> None:
    """Let this process write videos only where `check` finds room for so many bytes; None: anywhere."""
    global _check_room
    _check_room = check


def check_room(path: str, size: int) -> None:
    """Raise PathError if there is no room for a file of that size: call it now and then as one grows."""
    if _check_room is not None:
        from pathlib import Path

        _check_room(Path(path), size)


def check_output(path: str | os.PathLike[str], what: str = "report") -> None:
    """Raise now what write_report would raise later, as far as it can be known: call it before long work."""
    target = os.fspath(path)
    if target in _STDOUT:
        import fcntl  # commands only: a library's caller writes files

        if fcntl.fcntl(1, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OutputError("the output could not be written: standard output is closed")
        return
    try:
        if not _is_special(target):
            with _temporary_beside(os.path.realpath(target)):
                pass
    except OSError as error:
        raise _output_error(target, error, what) from error


@contextlib.contextmanager
def _held_folder(target: str) -> Iterator[int]:
    """A descriptor of the target's folder, which has to be the folder that the path names."""
    parent = os.path.dirname(target)
    folder = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.path.isdir(_DESCRIPTORS) and os.readlink(f"{_DESCRIPTORS}{folder}") != parent:
            raise PermissionError("its folder was replaced by a link")
        yield folder
    finally:
        os.close(folder)


def _replace(temporary: str, target: str, folder: int | None = None) -> None:
    """Put the temporary file in the target's place, with the target's permissions if it exists.

    With `folder`, the descriptor of its folder, nothing that exists is replaced.
    """
    if folder is not None:
        _link(temporary, os.path.basename(target), folder)
        return
    if os.path.exists(target):
        os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
    if not temporary.startswith(_DESCRIPTORS):
        os.replace(temporary, target)
        return
    named = _temporary_name(target)
    try:
        _link(temporary, named)
        os.replace(named, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(named)


def _link(temporary: str, name: str, folder: int | None = None) -> None:
    """Give the temporary file a name that doesn't exist yet."""
    # Without a descriptor of a folder, Python calls link(), which doesn't follow the link in /proc.
    root = os.open("/", os.O_RDONLY)
    try:
        os.link(temporary, name, src_dir_fd=root, dst_dir_fd=folder, follow_symlinks=True)
    except FileExistsError:
        raise FileExistsError(errno.EEXIST, "it exists already, so give a new name") from None
    finally:
        os.close(root)


def _temporary_name(target: str) -> str:
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{name[:100]}.{os.urandom(4).hex()}.tmp")


@contextlib.contextmanager
def _temporary_beside(target: str, folder: int | None = None) -> Iterator[str]:
    """The path of a temporary file in the target's folder, because a file can't move between file systems.

    Where the file system can, it is a file without a name, so that a process that is killed leaves nothing.
    Not tempfile, whose files are private to the user: a report should follow the umask. `folder` is the
    descriptor of the folder, where the path may have changed its meaning.
    """
    if folder is None and os.path.exists(target) and not os.access(target, os.W_OK):
        raise PermissionError("it is write-protected")
    place = os.path.dirname(target) if folder is None else f"{_DESCRIPTORS}{folder}"
    nameless = _nameless(place)
    if nameless is not None:
        try:
            yield f"{_DESCRIPTORS}{nameless}"
        finally:
            os.close(nameless)
        return
    temporary = _temporary_name(os.path.join(place, os.path.basename(target)))
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    try:
        yield temporary
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def _nameless(folder: str) -> int | None:
    """A file without a name in the folder; None where there is no such thing."""
    if not os.path.isdir(_DESCRIPTORS):
        return None
    try:
        return os.open(folder or ".", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666)
    except (OSError, AttributeError):  # making a named file will fail for the same reason, or succeed
        return None


def _write_text(stream: TextIO, pieces: Iterable[Piece]) -> None:
    for piece in pieces:
        if isinstance(piece, bytes):
            stream.flush()
            stream.buffer.write(piece)
        else:
            stream.write(piece)
    stream.flush()


def _write_bytes(stream: BufferedWriter, pieces: Iterable[Piece]) -> None:
    # Names of files may hold any bytes; those that are no UTF-8 are escaped, as on standard output.
    for piece in pieces:
        stream.write(piece if isinstance(piece, bytes) else piece.encode("utf-8", "backslashreplace"))
    stream.flush()


def _is_special(target: str) -> bool:
    """Whether the path names a device, pipe or socket, which is written to and not replaced."""
    if not target:
        raise FileNotFoundError("its name is empty, so give one")
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError("it is a folder, so give a file name")
    return not stat.S_ISREG(mode)


def _output_error(target: str, error: OSError, what: str = "report") -> OutputError:
    folder = os.path.dirname(target) or os.curdir
    reason = error.strerror or str(error)
    if isinstance(error, FileNotFoundError) and not os.path.isdir(folder):
        reason = f"the folder {folder!r} does not exist, so create it first"
    return OutputError(f"the {what} {target!r} could not be written: {reason}")
