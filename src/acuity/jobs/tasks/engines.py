"""Engines that score a fixture clip: a backend of Acuity, or another vmaf binary.

Clips are generated: no files, little memory, always the same. A clip is a window that moves over a tall
texture, so each frame is a view and costs nothing. The distorted frames come from worse copies of the texture
in turn, so that scores differ from frame to frame.
"""

from __future__ import annotations

import contextlib
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, BinaryIO, ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from acuity.devices import start_backend
from acuity.errors import JobFailed
from acuity.jobs.tasks.external import score_opened
from acuity.video.picture import Picture, PixelFormat

Plane: TypeAlias = NDArray[np.uint8]
Pair: TypeAlias = tuple[Picture, Picture]

GREY: Final = 128
_LUMA: Final = PixelFormat("400", 8)
_TRAVEL: Final = 128  # rows that the window moves over
_PACE: Final = 0.09  # up to six rows a frame
_CELLS: Final = ((1, 6), (3, 12), (16, 26), (64, 40))  # size and strength of the texture's layers
_COARSER: Final = (6, 10, 18)  # steps of grey that the worse copies are left with


@dataclass(frozen=True)
class ClipPair:
    """A reference and a distorted video of one size, 8 bit, with access to any frame."""

    width: int
    height: int
    frames: int

    @property
    def name(self) -> str:
        return f"{self.width}x{self.height}"

    @property
    def raw_bytes(self) -> int:
        """The bytes of one frame in a 4:2:0 file."""
        return PixelFormat("420", 8).frame_bytes(self.width, self.height)

    def pairs(self, frames: int | None = None) -> Iterator[Pair]:
        for index in range(self.frames if frames is None else frames):
            yield self.pair(index)

    def pair(self, index: int) -> Pair:
        row = round(_TRAVEL / 2 * (1 - math.cos(index * _PACE)))
        worse = self._worse[index % len(self._worse)]
        reference, distorted = (plane[row : row + self.height] for plane in (self._texture, worse))
        return Picture((reference,), _LUMA), Picture((distorted,), _LUMA)

    def write(self, reference: BinaryIO, distorted: BinaryIO, frames: int) -> None:
        """Write the first frames as raw 4:2:0, for programs that read files."""
        chroma = bytes([GREY]) * (self.raw_bytes - self.width * self.height)
        for pair in self.pairs(frames):
            for file, picture in zip((reference, distorted), pair, strict=True):
                file.write(picture.luma.tobytes())
                file.write(chroma)

    @cached_property
    def _texture(self) -> Plane:
        """Noise at several scales, almost flat at the left edge and busy at the right."""
        rows, columns = self.height + _TRAVEL, self.width
        random = np.random.default_rng(columns)
        total = np.full((rows, columns), GREY, np.int16)
        busy = np.linspace(1, 16, columns).astype(np.int16)
        for cell, strength in _CELLS:
            shape = (-(-rows // cell), -(-columns // cell))
            layer = random.integers(-strength, strength + 1, shape, np.int16)
            total += (layer.repeat(cell, 0).repeat(cell, 1)[:rows, :columns] * busy) >> 4
        return np.clip(total, 0, 255).astype(np.uint8)

    @cached_property
    def _worse(self) -> tuple[Plane, ...]:
        """The texture, softened and with fewer steps of grey, as encoding leaves it."""
        soft = self._texture.astype(np.uint16)
        soft[:, 1:-1] = (soft[:, :-2] + 2 * soft[:, 1:-1] + soft[:, 2:]) >> 2
        soft[1:-1] = (soft[:-2] + 2 * soft[1:-1] + soft[2:]) >> 2
        return tuple((soft // step * step + step // 2).clip(0, 255).astype(np.uint8) for step in _COARSER)


class GreyClip(ClipPair):
    """A clip whose pictures are all mid-grey, for the quickest possible score."""

    def pair(self, index: int) -> Pair:
        return self._grey, self._grey

    @cached_property
    def _grey(self) -> Picture:
        return Picture((np.full((self.height, self.width), GREY, np.uint8),), _LUMA)


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


@dataclass(frozen=True, slots=True)
class OwnEngine:
    """A backend of Acuity. Pictures stay in memory."""

    backend: str
    maker: ClassVar = "acuity"

    def frames(self, clip: ClipPair) -> int:
        """How many frames of the clip this engine scores."""
        return clip.frames

    @contextlib.contextmanager
    def open(self, clip: ClipPair, frames: int | None = None) -> Iterator[Runner]:
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
    maker: ClassVar = "external"

    def frames(self, clip: ClipPair) -> int:
        return max(1, min(clip.frames, _MOST_RAW_BYTES // (2 * clip.raw_bytes)))

    @contextlib.contextmanager
    def open(self, clip: ClipPair) -> Iterator[Runner]:
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


# Scores clips: open() prepares what is not timed, and its result scores the clip at every call.
Engine: TypeAlias = OwnEngine | ExternalEngine
