"""Writes a report completely or not at all: on failure the old file stays."""

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TextIO

from acuity import __version__
from acuity.errors import OutputError, to_give
from acuity.report.csv_writer import write_csv
from acuity.report.json_writer import write_json
from acuity.report.precision import Precision, parse_precision
from acuity.report.source import ReportSource
from acuity.report.sub_writer import write_sub
from acuity.report.xml_writer import write_xml

Writer = Callable[[ReportSource, Precision, str, Mapping[str, object]], Iterator[str]]

WRITERS: dict[str, Writer] = {"json": write_json, "xml": write_xml, "csv": write_csv, "sub": write_sub}

_STDOUT = ("-", "/dev/stdout")
_DESCRIPTORS = "/proc/self/fd/"


def render_report(
    results: ReportSource,
    format: str,
    precision: str | int = "legacy",
    *,
    extra: Mapping[str, object] | None = None,
    version: str | None = None,
) -> Iterator[str]:
    """A report in pieces of text; extra entries are written if the format has a place for them."""
    if format not in WRITERS:
        raise OutputError(f"the report format {format!r} is unknown; use {', '.join(WRITERS)}")
    return WRITERS[format](results, parse_precision(precision), version or __version__, extra or {})


def write_report(
    results: ReportSource,
    path: str | os.PathLike[str],
    format: str = "json",
    precision: str | int = "legacy",
    *,
    extra: Mapping[str, object] | None = None,
    version: str | None = None,
) -> None:
    """Write a report to a file, or to standard output for '-'; raises OutputError."""
    pieces = render_report(results, format, precision, extra=extra, version=version)
    target = os.fspath(path)
    try:
        if target in _STDOUT:
            _write_pieces(sys.stdout, pieces)
        elif _is_special(target):
            with open(target, "w", encoding="utf-8", newline="\n") as stream:
                _write_pieces(stream, pieces)
        else:
            _write_beside(target, pieces)
    except OSError as error:
        raise _output_error(target, error) from error


def format_of(path: str | os.PathLike[str]) -> str:
    """The format that a report's file name says; raises OutputError."""
    suffix = os.path.splitext(os.fspath(path))[1].lower().removeprefix(".")
    if suffix not in WRITERS:
        endings = " or ".join(", ".join(f".{name}" for name in WRITERS).rsplit(", ", 1))
        raise OutputError(
            f"'{os.fspath(path)}' doesn't say its format: end it with {endings}, or ",
            to_give("format"),
        )
    return suffix


def write_document(path: str | os.PathLike[str], text: str) -> None:
    """Write a text as a file, completely or not at all; raises OutputError."""
    target = os.fspath(path)
    try:
        _write_beside(target, [text])
    except OSError as error:
        raise _output_error(target, error) from error


@contextlib.contextmanager
def written_beside(path: str | os.PathLike[str], what: str = "report") -> Iterator[str]:
    """A temporary file in the folder of `path`, which it becomes if all goes well; raises OutputError.

    For a writer that wants a path. `what` says in the error what could not be written.
    """
    target = os.path.realpath(path)
    try:
        with _temporary_beside(target) as temporary:
            yield temporary
            _replace(temporary, target)
    except OutputError:
        raise
    except OSError as error:
        raise _output_error(os.fspath(path), error, what) from error


def check_output(path: str | os.PathLike[str], what: str = "report") -> None:
    """Raise now what write_report would raise later, as far as it can be known: call it before long work."""
    target = os.fspath(path)
    if target in _STDOUT:
        _check_stdout()
        return
    try:
        if not _is_special(target):
            with _temporary_beside(os.path.realpath(target)):
                pass
    except OSError as error:
        raise _output_error(target, error, what) from error


def _check_stdout() -> None:
    """Raise OutputError if standard output was closed when the command started."""
    import fcntl  # commands only: a library's caller writes files

    if fcntl.fcntl(1, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise OutputError("the output could not be written: standard output is closed")


def _write_beside(target: str, pieces: Iterable[str]) -> None:
    target = os.path.realpath(target)  # replace the file that a link leads to, not the link
    with _temporary_beside(target) as temporary:
        with open(temporary, "w", encoding="utf-8", newline="\n") as stream:
            _write_pieces(stream, pieces)
        _replace(temporary, target)


def _replace(temporary: str, target: str) -> None:
    """Put the temporary file in the target's place, with the target's permissions if it exists."""
    if os.path.exists(target):
        os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
    if not temporary.startswith(_DESCRIPTORS):
        os.replace(temporary, target)
        return
    named = _temporary_name(target)
    folder = os.open("/", os.O_RDONLY)  # without a folder, Python calls link(), which doesn't follow links
    try:
        os.link(temporary, named, src_dir_fd=folder, follow_symlinks=True)
        os.replace(named, target)
    finally:
        os.close(folder)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(named)


def _temporary_name(target: str) -> str:
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{name[:100]}.{os.urandom(4).hex()}.tmp")


@contextlib.contextmanager
def _temporary_beside(target: str) -> Iterator[str]:
    """The path of a temporary file in the target's folder, because os.replace needs the same file system.

    Where the file system can, it is a file without a name, so that a process that is killed leaves nothing.
    Not tempfile, whose files are private to the user: a report should follow the umask.
    """
    if os.path.exists(target) and not os.access(target, os.W_OK):
        raise PermissionError("it is write-protected")
    nameless = _nameless(os.path.dirname(target))
    if nameless is not None:
        try:
            yield f"{_DESCRIPTORS}{nameless}"
        finally:
            os.close(nameless)
        return
    temporary = _temporary_name(target)
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


def _write_pieces(stream: TextIO, pieces: Iterable[str]) -> None:
    for piece in pieces:
        stream.write(piece)
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
    folder = Path(target).parent
    reason = error.strerror or str(error)
    if isinstance(error, FileNotFoundError) and not folder.is_dir():
        reason = f"the folder {str(folder)!r} does not exist, so create it first"
    return OutputError(f"the {what} {target!r} could not be written: {reason}")
