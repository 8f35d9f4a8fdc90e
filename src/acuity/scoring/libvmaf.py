"""libvmaf itself, where this machine has it: its figures of pictures, beside which ours are shown.

It is the program that VMAF_REFERENCE_BIN names, or else FFmpeg's filter in PyAV, which has it from release
19 on. The program is told to use its C code; the filter can't be told, and libvmaf's SIMD differs from its
C code. Both print six decimals.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final

from acuity.errors import BackendError

if TYPE_CHECKING:
    import av

    from acuity.video.picture import Picture

PROGRAM_VARIABLE: Final = "VMAF_REFERENCE_BIN"
FILTER: Final = "libvmaf"
_QUIET: Final = -8  # AV_LOG_QUIET
_C_CODE: Final = "4294967295"  # masks every instruction set off

Pairs = Sequence[tuple["Picture", "Picture"]]
Wanted = Sequence[str]  # 'model=NAME', or an extractor as 'NAME' or 'NAME=OPTION=VALUE:…'
Ask = Callable[[Pairs, Wanted, Path], bool]  # writes a report, unless libvmaf refuses


class Libvmaf:
    """A libvmaf of this machine: the program, or FFmpeg's filter."""

    def __init__(self, where: str, code: str, ask: Ask) -> None:
        self.where = where  # the program, or the package that has the filter
        self.code = code  # which of its code computes
        self.version: str | None = None  # known from its first report
        self._ask = ask

    def figures(
        self, pairs: Pairs, features: Mapping[str, Mapping[str, bool]], models: Sequence[str]
    ) -> dict[str, float]:
        """Pooled figures by name, of extractors with options and of models; what it lacks is missing."""
        written = []
        for name, options in features.items():
            given = ":".join(f"{option}={str(value).lower()}" for option, value in options.items())
            written.append(f"{name}={given}" if given else name)
        return {**self._found(pairs, written), **self._found(pairs, [f"model={name}" for name in models])}

    def _found(self, pairs: Pairs, wanted: Wanted) -> dict[str, float]:
        if not wanted:
            return {}
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            if self._ask(pairs, wanted, report):
                return self._read(report)
        if len(wanted) == 1:
            return {}
        middle = len(wanted) // 2  # one of them is unknown to it: all others are found by halving
        return {**self._found(pairs, wanted[:middle]), **self._found(pairs, wanted[middle:])}

    def _read(self, path: Path) -> dict[str, float]:
        report = json.loads(path.read_text())
        self.version = str(report["version"])
        found = {name: pooled["mean"] for name, pooled in report["pooled_metrics"].items()}
        found |= report.get("aggregate_metrics", {})
        return {name: float(value) for name, value in found.items() if value is not None}


def find_libvmaf() -> Libvmaf | None:
    """The libvmaf of this machine, if it has one; raises BackendError if the named program doesn't run."""
    program = os.environ.get(PROGRAM_VARIABLE)
    if program:
        try:
            subprocess.run([program, "--version"], capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise BackendError(
                f"{PROGRAM_VARIABLE} names '{program}', which doesn't run as libvmaf's vmaf ({error}): "
                "name another program, or unset it"
            ) from error
        return Libvmaf(program, "C", lambda *given: _ask_program(program, *given))
    import av.filter

    return (
        Libvmaf(f"PyAV {av.__version__}", "SIMD", _ask_filter)
        if FILTER in av.filter.filters_available
        else None
    )


def _ask_program(program: str, pairs: Pairs, wanted: Wanted, report: Path) -> bool:
    first = pairs[0][0]
    command = [program, "--quiet", "--cpumask", _C_CODE, "--json", "-o", str(report)]
    for side, option in enumerate(("-r", "-d")):
        path = report.with_name(f"video{option}.yuv")
        path.write_bytes(b"".join(plane.tobytes() for pair in pairs for plane in pair[side].planes))
        command += [option, str(path)]
    command += ["-w", str(first.width), "-h", str(first.height)]
    command += ["-p", first.format.layout, "-b", str(first.format.depth)]
    for one in wanted:
        model = one.removeprefix("model=")
        command += ["--feature", one] if model == one else ["--model", f"version={model}:name={model}"]
    command += [] if "--model" in command else ["--no_prediction"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _ask_filter(pairs: Pairs, wanted: Wanted, report: Path) -> bool:
    import av.logging

    models = [one.removeprefix("model=") for one in wanted if one.startswith("model=")]
    features = [f"name={one.replace('=', ':', 1)}" for one in wanted if not one.startswith("model=")]
    options = {"log_path": str(report), "log_fmt": "json"}
    options |= {"model": "|".join(f"version={name}:name={name}" for name in models)} if models else {}
    options |= {"feature": "|".join(features)} if features else {}
    av.logging.set_libav_level(_QUIET)  # libvmaf takes it over, and would print warnings
    try:
        _filter(pairs, options)
    except av.FFmpegError:
        return False
    finally:
        gc.collect()  # the report is written when the graph is freed
        av.logging.set_libav_level(av.logging.INFO)
    return report.exists()


def _filter(pairs: Pairs, options: Mapping[str, str]) -> None:
    from av.filter import Graph

    graph, first = Graph(), _frame(pairs[0][0])
    sources = [  # of the distorted pictures first
        graph.add_buffer(None, first.width, first.height, first.format, time_base=first.time_base)
        for _ in range(2)
    ]
    judge, sink = graph.add(FILTER, **options), graph.add("buffersink")
    for number, source in enumerate(sources):
        source.link_to(judge, 0, number)
    judge.link_to(sink)
    graph.configure()
    for index, pair in enumerate(pairs):
        for source, picture in zip(sources, reversed(pair), strict=True):
            source.push(_frame(picture, index))
        sink.pull()


def _frame(picture: Picture, index: int = 0) -> av.VideoFrame:
    from acuity.video.readers.avframes import to_frame

    frame = to_frame(picture)
    frame.pts, frame.time_base = index, Fraction(1, 25)
    return frame
