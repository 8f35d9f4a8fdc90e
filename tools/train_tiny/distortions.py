"""What is done to each content: encodes by four encoders at many qualities, smaller sizes, blur and noise."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.tune.clip import open_clip
from acuity.tune.encoders import find_encoder
from acuity.tune.encoders.encoded_reader import EncodedReader
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.video.pairs.convert import Fit
from acuity.video.picture import Picture, PixelFormat
from scenes import blurred

Bytes = NDArray[np.uint8]

_SALT: Final = 77
_GRAY: Final = PixelFormat("400", 8)
# The CRFs of each encoder, from where loss begins to be seen to where pictures fall apart.
RANGES: Final = {
    "libx264": (16, 48),
    "libx265": (16, 48),
    "libsvtav1": (18, 63),
    "libvpx-vp9": (14, 63),
}
PRESETS: Final = ("superfast", "veryfast", "veryfast", "medium")
RUNGS: Final = (1.0, 1.0, 1.0, 1.0, 0.75, 0.5)  # of the width and the height
PER_ENCODER: Final = 2


class Distortion(NamedTuple):
    """One way to distort a clip."""

    kind: str  # an encoder, or 'none', 'blur', 'noise', 'scale'
    amount: float  # the CRF, or how much
    preset: str = ""
    rung: float = 1.0

    @property
    def label(self) -> str:
        size = "" if self.rung == 1 else f" at {self.rung:.2f}"
        return f"{self.kind} {self.preset} {self.amount:g}{size}".replace("  ", " ")


def distortions_of(name: str) -> list[Distortion]:
    """Ten of them, drawn by the content's name."""
    random = np.random.default_rng((_SALT, zlib.crc32(name.encode())))
    drawn = [Distortion("none", 0)]
    for encoder, (best, worst) in RANGES.items():
        for n in range(PER_ENCODER):
            part = (worst - best) / PER_ENCODER
            crf = int(random.integers(best + int(n * part), best + int((n + 1) * part) + 1))
            preset, rung = random.choice(PRESETS), float(random.choice(RUNGS))
            drawn.append(Distortion(encoder, crf, str(preset), rung))
    other = str(random.choice(["blur", "noise", "scale"]))
    ranges = {"blur": (0.4, 3.0), "noise": (1.0, 14.0), "scale": (0.25, 0.85)}
    return [*drawn, Distortion(other, round(float(random.uniform(*ranges[other])), 2))]


def distorted(path: Path, frames: list[Bytes], distortion: Distortion) -> Iterator[Bytes]:
    """The luma of the distorted frames, at the size of the source, which is at `path` too."""
    if distortion.kind in RANGES:
        yield from _encoded(path, frames, distortion)
        return
    height, width = frames[0].shape
    random = np.random.default_rng((_SALT, width, height))
    for frame in frames:
        if distortion.kind == "blur":
            yield _bytes(blurred(frame.astype(np.float64), distortion.amount))
        elif distortion.kind == "noise":
            yield _bytes(frame + random.normal(0, distortion.amount, frame.shape))
        elif distortion.kind == "scale":
            small = _fit(
                Picture((frame,), _GRAY), _even(width, distortion.amount), _even(height, distortion.amount)
            )
            yield np.array(_fit(small, width, height).luma)
        else:
            yield frame


def _encoded(path: Path, frames: list[Bytes], distortion: Distortion) -> Iterator[Bytes]:
    height, width = frames[0].shape
    size = None if distortion.rung == 1 else (_even(width, distortion.rung), _even(height, distortion.rung))
    settings = EncoderSettings(find_encoder(distortion.kind), preset=distortion.preset, size=size, threads=2)
    with EncodedReader(open_clip(path), settings, int(distortion.amount), luma_only=True) as reader:
        for picture in reader:
            shown = picture if size is None else _fit(picture, width, height)
            yield np.array(shown.luma)


def _even(side: int, factor: float) -> int:
    return max(int(side * factor) // 2 * 2, 32)


def _fit(picture: Picture, width: int, height: int) -> Picture:
    """The picture at another size, with the filter that scoring uses."""
    return Fit(width, height, _GRAY, from_full=False, to_full=False)(picture)


def _bytes(picture: NDArray[np.float64]) -> Bytes:
    return np.clip(np.rint(picture), 0, 255).astype(np.uint8)
