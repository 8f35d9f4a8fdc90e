"""The task that lets another `vmaf` binary score a pair of raw videos, and reads the report it writes.

The files are opened here and handed over as descriptors, so the binary reads what was checked, whatever
happens to the paths meanwhile. The report comes back through a pipe: there is no file to leave behind. The
binary stays in the worker's process group, which is ended as a whole on cancellation and at the time limit.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import IO, Any, Final, Self

from acuity.errors import AcuityError, BackendError, InputError, JobFailed
from acuity.jobs.report_summary import summarize
from acuity.jobs.spec import Progress
from acuity.models.fit import mismatch
from acuity.models.spec import ModelSpec, parse_spec
from acuity.video.local_file import open_local

_MOST_REPORT: Final = 512 << 20  # bytes
_MOST_STDERR: Final = 2000  # characters that are repeated, the last ones
_CHUNK: Final = 1 << 16
# What C prints for numbers that JSON doesn't have.
_NO_NUMBER: Final = re.compile(r"(?<=: )-?(?:nan|inf(?:inity)?)(?=\s*[,}\]\n])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ExternalPayload:
    """What to run, as plain values; `options` are the binary's, besides input, model and output."""

    binary: str
    reference: str
    distorted: str
    width: int
    height: int
    model: str
    options: list[str]
    backend: str = "auto"
    backend_used: str | None = None  # where it is certain beforehand
    echo: dict[str, Any] = field(default_factory=dict)  # entries of the document that are known before

    @classmethod
    def from_dict(cls, payload: dict[str, Any]) -> Self:
        return cls(**payload)

    def to_dict(self) -> dict[str, Any]:
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}


def run(payload: dict[str, Any], report: Callable[[Progress], None]) -> dict[str, Any]:
    """Score, and answer with the binary's JSON report and what a caller should know besides."""
    wanted = ExternalPayload.from_dict(payload)
    spec = parse_spec(wanted.model)
    report(Progress(0.0, 1.0, f"{wanted.binary} is scoring; it does not say how far it is"))
    document = _score(wanted, spec)
    report(Progress(1.0, 1.0, f"{wanted.binary} has finished"))
    said = document.get("backend_used")
    document["backend_requested"] = wanted.backend
    document["backend_used"] = wanted.backend_used or (said if isinstance(said, str) else "unknown")
    warning = mismatch(spec, wanted.width, wanted.height)
    return {
        **summarize(document, {spec.name: spec.label}),
        **document,
        **wanted.echo,
        **({"mismatched_model_warning": warning} if warning else {}),
    }


def score_opened(
    binary: str, inputs: tuple[int, int], arguments: Sequence[str], others: Sequence[int] = ()
) -> dict[str, Any]:
    """The JSON report that a binary makes of two open files, the reference first; raises AcuityError.

    `arguments` are all but input and output; `others` are further open files that they name.
    """
    ours, theirs = os.pipe()
    with os.fdopen(ours, "rb", buffering=0) as output:
        command = [
            *(binary, "-r", _shared(inputs[0]), "-d", _shared(inputs[1])),
            *arguments,
            *("-q", "--json", "-o", _shared(theirs)),
        ]
        try:
            child = _start(command, [*inputs, *others, theirs])
        finally:
            os.close(theirs)  # or the pipe would never end
        return _parsed(_finish(child, output))


def _score(wanted: ExternalPayload, spec: ModelSpec) -> dict[str, Any]:
    """Open every file and run the binary."""
    with contextlib.ExitStack() as stack:
        reference, distorted = (
            stack.enter_context(_opened(path)) for path in (wanted.reference, wanted.distorted)
        )
        others = []
        if spec.path is not None:
            others.append(stack.enter_context(_opened(spec.path)))
            spec = replace(spec, path=_shared(others[0]))
        arguments = [*wanted.options, "-m", spec.to_text()]
        return score_opened(wanted.binary, (reference, distorted), arguments, others)


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int]:
    try:
        descriptor = open_local(path)
    except AcuityError:
        raise  # PathError is a ValueError too
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"cannot open '{path}': {reason}") from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _shared(descriptor: int) -> str:
    return f"/dev/fd/{descriptor}"


def _start(command: list[str], descriptors: list[int]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=descriptors,
        )
    except OSError as error:
        raise BackendError(
            f"the vmaf binary {command[0]} can't be run: {error.strerror}; set VMAF_BIN"
        ) from error


def _finish(child: subprocess.Popen[bytes], output: IO[bytes]) -> bytes:
    """Read until the binary ends, so that it never waits for us."""
    assert child.stderr is not None
    with child, _Tail(child.stderr) as complaints:
        try:
            written = _read_all(output)
        except BaseException:
            child.kill()
            raise
        code = child.wait()
    if code != 0:
        raise JobFailed(f"vmaf exited {code}: {complaints.text or 'it said nothing'}")
    return written


def _read_all(output: IO[bytes]) -> bytes:
    found = bytearray()
    while chunk := output.read(_CHUNK):
        found += chunk
        if len(found) > _MOST_REPORT:
            raise JobFailed(f"the report is longer than {_MOST_REPORT >> 20} MB: score fewer frames at once")
    return bytes(found)


class _Tail:
    """The last of what comes through a pipe, read by a thread of its own."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._kept = bytearray()
        self._thread = threading.Thread(target=self._read, name="stderr", daemon=True)

    @property
    def text(self) -> str:
        """On one line: error messages are sentences."""
        said = self._kept.decode("utf-8", "replace")
        return " ".join(said.split())[-_MOST_STDERR:]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()

    def _read(self) -> None:
        while chunk := self._stream.read(_CHUNK):
            self._kept += chunk
            del self._kept[: -4 * _MOST_STDERR]


def _parsed(written: bytes) -> dict[str, Any]:
    text = _NO_NUMBER.sub("null", written.decode("utf-8", "replace"))
    try:
        document = json.loads(text)
    except ValueError as error:
        raise JobFailed(f"vmaf ended well but wrote no JSON report: {error}") from error
    if not isinstance(document, dict) or not all(
        isinstance(document.get(key), kind) for key, kind in (("frames", list), ("pooled_metrics", dict))
    ):
        raise JobFailed("vmaf ended well but its JSON is no report: set VMAF_BIN to a vmaf binary")
    return {"version": "unknown", **document}
