"""Engines that score a fixture clip: a backend of Acuity, or another vmaf binary."""

from __future__ import annotations

import contextlib
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias

from acuity.devices import start_backend
from acuity.errors import JobFailed
from acuity.jobs.tasks.external import score_opened
from acuity.jobs.tasks.fixtures import Clip

MODEL: Final = "version=vmaf_v0.6.1"
_SCORES: Final = "vmaf"  # the column of a model without a name of its own
_EVERY: Final = 0.1  # seconds between two progress reports

# The most bytes of both temporary files for a binary, so that they don't fill a disk.
_MOST_RAW_BYTES: Final = 256 << 20

FramesDone: TypeAlias = Callable[[int], None]  # called with the number of frames done


@dataclass(frozen=True, slots=True)
class Run:
    """The time and the scores of one run over a clip."""

    seconds: float
    scores: list[float]  # of each frame; NaN if it has none


Runner: TypeAlias = Callable[[FramesDone], Run]


class Engine(Protocol):
    """Something that scores clips."""

    @property
    def maker(self) -> Literal["acuity", "external"]: ...

    @property
    def backend(self) -> str: ...

    def frames(self, clip: Clip) -> int:
        """How many frames of the clip this engine scores."""
        ...

    def open(self, clip: Clip) -> AbstractContextManager[Runner]:
        """Prepare what is not timed; the result scores the clip at every call. Raises AcuityError."""
        ...


@dataclass(frozen=True, slots=True)
class OwnEngine:
    """A backend of Acuity. Pictures stay in memory."""

    backend: str
    maker: Literal["acuity", "external"] = field(default="acuity", init=False)

    def frames(self, clip: Clip) -> int:
        return clip.frames

    @contextlib.contextmanager
    def open(self, clip: Clip, frames: int | None = None) -> Iterator[Runner]:
        from acuity.measure import Measurement
        from acuity.measure.feed import feed
        from acuity.models import load_model

        start_backend(self.backend)  # raises before the clip is generated
        model = load_model(MODEL)
        clip.pair(0)  # generates the textures

        def run(frames_done: FramesDone) -> Run:
            begin = time.perf_counter()
            with Measurement(backend=self.backend) as measurement:
                measurement.add_model(model)
                feed(
                    measurement,
                    clip.pairs(frames),
                    progress=lambda done, _total, _mean: frames_done(done),
                    running_mean=False,
                    every=_EVERY,
                )
                scores = measurement.results().columns[_SCORES]
            return Run(time.perf_counter() - begin, [float(score) for score in scores])

        yield run


@dataclass(frozen=True, slots=True)
class ExternalEngine:
    """A backend of another vmaf binary. It reads temporary files without names, so none is left behind."""

    binary: str
    backend: str
    options: tuple[str, ...]  # that choose the backend, and the digits of the report
    maker: Literal["acuity", "external"] = field(default="external", init=False)

    def frames(self, clip: Clip) -> int:
        return max(1, min(clip.frames, _MOST_RAW_BYTES // (2 * clip.raw_bytes)))

    @contextlib.contextmanager
    def open(self, clip: Clip) -> Iterator[Runner]:
        frames = self.frames(clip)
        with tempfile.TemporaryFile() as reference, tempfile.TemporaryFile() as distorted:
            try:
                clip.write(reference, distorted, frames)
                reference.flush()
                distorted.flush()
            except OSError as error:
                raise JobFailed(f"the clip for the binary can't be written: {error.strerror}") from error
            size = ["--width", str(clip.width), "--height", str(clip.height), "-p", "420", "-b", "8"]
            arguments = [*size, *self.options, "-m", MODEL]

            def run(frames_done: FramesDone) -> Run:
                begin = time.perf_counter()
                report = score_opened(self.binary, (reference.fileno(), distorted.fileno()), arguments)
                seconds = time.perf_counter() - begin
                frames_done(frames)
                return Run(seconds, _scores_of(report))

            yield run


def _scores_of(report: dict[str, Any]) -> list[float]:
    try:
        values = [frame["metrics"][_SCORES] for frame in report["frames"]]
    except (KeyError, TypeError):
        raise JobFailed(f"the report has no '{_SCORES}' for every frame") from None
    return [float(value) if isinstance(value, int | float) else math.nan for value in values]
