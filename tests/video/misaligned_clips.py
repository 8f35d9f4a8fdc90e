"""Clips of eight kinds of content, and the ways in which an encode shows other frames than its source."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import av
import numpy as np
from numpy.typing import NDArray

from acuity.video.alignment.aligner import Aligner
from acuity.video.alignment.faults import Finding
from acuity.video.alignment.signature import sign
from acuity.video.pairs.convert import Fit
from acuity.video.picture import Picture, PixelFormat, Signature
from acuity.video.readers.open import open_video

WIDTH, HEIGHT = 320, 180
FRAMES = 100
PERIOD = 16  # frames after which the repeating content is the same again

Luma = NDArray[np.uint8]
Values = NDArray[np.float32]


def texture(rng: np.random.Generator, height: int = HEIGHT, width: int = WIDTH) -> Values:
    """Smooth random shapes of several sizes; mean 0, standard deviation 1."""
    total = np.zeros((height, width), np.float32)
    for size in (3, 8, 24, 64):
        grid = rng.standard_normal((height // size + 3, width // size + 3)).astype(np.float32)
        y, x = np.arange(height) / size, np.arange(width) / size
        row, column = y.astype(int), x.astype(int)
        down, right = ((3 - 2 * f) * f * f for f in ((y - row)[:, None], (x - column)[None]))
        upper = grid[row][:, column] * (1 - right) + grid[row][:, column + 1] * right
        lower = grid[row + 1][:, column] * (1 - right) + grid[row + 1][:, column + 1] * right
        total += (upper * (1 - down) + lower * down) * np.sqrt(size)
    return (total - total.mean()) / total.std()


def still(rng: np.random.Generator) -> Iterator[Values]:
    scene, item = texture(rng) * 40 + 120, texture(rng, 30, 30) * 50 + 130
    for t in range(FRAMES):
        y, x = int(80 + 25 * np.sin(t * 0.21)), int(200 + 30 * np.sin(t * 0.13 + 1))
        frame = scene.copy()
        frame[y : y + 30, x : x + 30] = item
        yield frame + rng.standard_normal(frame.shape) * 0.7


def dark(rng: np.random.Generator) -> Iterator[Values]:
    scene = np.exp(texture(rng, HEIGHT + 100, WIDTH + 200)) * 12 + 18  # with a few lights
    for t in range(FRAMES):
        y, x = int(20 + t * 0.3), int(t * 0.8)
        yield scene[y : y + HEIGHT, x : x + WIDTH] + rng.standard_normal((HEIGHT, WIDTH))


def repeating(rng: np.random.Generator) -> Iterator[Values]:
    scene = texture(rng) * 20 + 110
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    angle = np.arctan2(y - HEIGHT / 2, x - WIDTH / 2) * 3
    for t in range(FRAMES):
        yield scene + 40 * np.sin(angle + 2 * np.pi * (t % PERIOD) / PERIOD)


def noise(rng: np.random.Generator) -> Iterator[Values]:
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    for t in range(FRAMES):
        wave = 60 + 100 * x / WIDTH + 20 * np.sin(y / 40 + t / 15)
        yield wave + rng.standard_normal(wave.shape) * 20


def cuts(rng: np.random.Generator) -> Iterator[Values]:
    for t in range(FRAMES):
        if t % 20 == 0:
            scene = texture(rng, HEIGHT + 80, WIDTH + 80) * 45 + rng.uniform(80, 160)
            speed = rng.uniform(0.5, 1.5, 2) * rng.choice((-1, 1), 2)
        y, x = (40 + speed * (t % 20)).astype(int)
        yield scene[y : y + HEIGHT, x : x + WIDTH]


def fades(rng: np.random.Generator) -> Iterator[Values]:
    scenes = [texture(rng) * 45 + 120, texture(rng) * 45 + 100]
    for t in range(FRAMES):
        part = t % 60
        light = min(1.0, part / 25) if part < 40 else (60 - part) / 20
        yield 16 + (scenes[t // 60 % 2] - 16) * light


def screen(rng: np.random.Generator) -> Iterator[Values]:
    page = np.full((1200, WIDTH), 235, np.float32)
    for line in range(0, 1200, 14):
        x = 16
        while x < WIDTH - 60:
            width = int(rng.integers(8, 50))
            page[line : line + 8, x : x + width] = np.where(rng.random((8, width)) < 0.45, 30, 235)
            x += width + 6
    top = 0
    for t in range(FRAMES):
        top += 4 if 10 <= t % 30 < 22 else 0
        frame = page[top : top + HEIGHT].copy()
        moved = t if t // 15 % 2 else t // 15 * 15
        y, x = 40 + moved * 2 % 100, 50 + moved * 3 % 200
        frame[y : y + 16, x : x + 10] = 16
        yield frame


def grain(rng: np.random.Generator) -> Iterator[Values]:
    scene = texture(rng, HEIGHT + 120, WIDTH + 300) * 45 + 115
    for t in range(FRAMES):
        y, x = int(60 + 40 * np.sin(t * 0.05)), int(150 + 120 * np.sin(t * 0.04))
        yield scene[y : y + HEIGHT, x : x + WIDTH] + rng.standard_normal((HEIGHT, WIDTH)) * 7


CONTENTS: Final[dict[str, Callable[[np.random.Generator], Iterator[Values]]]] = {
    content.__name__: content for content in (still, dark, repeating, noise, cuts, fades, screen, grain)
}


def frames_of(content: str, seed: int = 0) -> list[Luma]:
    rng = np.random.default_rng([*CONTENTS].index(content) + 100 * seed)
    return [np.clip(np.rint(frame), 16, 235).astype(np.uint8) for frame in CONTENTS[content](rng)]


@dataclass(frozen=True)
class Fault:
    """What went wrong: which frames of the source the encode shows, and how that is called."""

    shown: Callable[[int], list[int]]
    kind: str
    frame: int = 0
    lag: int = 0


FAULTS: Final[dict[str, Fault]] = {
    "head1": Fault(lambda n: [*range(1, n)], "shift", lag=1),
    "head3": Fault(lambda n: [*range(3, n)], "shift", lag=3),
    "head30": Fault(lambda n: [*range(30, n)], "shift", lag=30),
    "delay1": Fault(lambda n: [0, *range(n - 1)], "shift", lag=-1),
    "drop1": Fault(lambda n: [*range(47), *range(48, n)], "lost", 47, 1),
    "drop1pad": Fault(lambda n: [*range(47), *range(48, n), n - 1], "lost", 47, 1),
    "dup1": Fault(lambda n: [*range(48), *range(47, n - 1)], "doubled", 48, -1),
    "cut10": Fault(lambda n: [*range(45), *range(55, n)], "lost", 45, 10),
    "swap": Fault(lambda n: [*range(46), 47, 46, *range(48, n)], "swapped", 46),
    "freeze": Fault(lambda n: [*range(46), *[46] * 12, *range(58, n)], "frozen", 47),
    "twice": Fault(lambda n: [i // 2 for i in range(n)], "twice"),
    "half": Fault(lambda n: [*range(0, n, 2)], "half"),
}


def encode_luma(
    path: Path,
    frames: Sequence[Luma],
    *,
    codec: str = "libx264",
    pix_fmt: str = "yuv420p",
    size: tuple[int, int] = (WIDTH, HEIGHT),
    rate: int = 25,
    first: int = 0,
    **options: str,
) -> Path:
    """Encode pictures of gray chroma; the first is shown at frame `first`."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate)
        stream.width, stream.height, stream.pix_fmt = *size, pix_fmt
        stream.options = {"preset": "veryfast", **options} if codec == "libx264" else options
        stream.thread_count = 1
        for index, luma in enumerate(frames):
            planes = np.vstack([luma, np.full((HEIGHT // 2, WIDTH), 128, np.uint8)])
            frame = av.VideoFrame.from_ndarray(planes, "yuv420p").reformat(*size, pix_fmt)
            frame.pts = first + index
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def signatures(path: Path) -> Iterator[Signature]:
    """Signatures of the pictures of a file, at the size of the clips; decoded as they are asked for."""
    step = Fit(WIDTH, HEIGHT, PixelFormat("420", 8), from_full=False, to_full=False)
    with open_video(path) as reader:
        fits = (reader.info.width, reader.info.height, reader.info.format.depth) == (WIDTH, HEIGHT, 8)
        yield from (sign(picture if fits else step(picture)) for picture in reader)


def reference_signatures(frames: Sequence[Luma]) -> list[Signature]:
    return [sign(Picture((luma,), PixelFormat("400", 8))) for luma in frames]


def found(ref: Sequence[Signature], dis: Iterable[Signature]) -> Finding | None:
    """What an aligner makes of two videos; it takes no more frames than it needs."""
    aligner = Aligner()
    pairs = 0
    rest = iter(dis)
    for other in rest:
        if pairs == len(ref):
            return aligner.end((), itertools.chain([other], rest))
        if (finding := aligner.add(ref[pairs], other)) is not None:
            return finding
        pairs += 1
    return aligner.end(ref[pairs:], ())


def is_named_rightly(content: str, fault: Fault, finding: Finding | None) -> bool:
    """Whether the finding is the fault; where the content repeats, any lag that shows the same is right."""
    if finding is None:
        return False
    if content == "repeating" and finding.lag:
        jumps = ("lost", "doubled")
        same = finding.kind == fault.kind or (finding.kind in jumps and fault.kind in jumps)
        return same and (finding.lag - fault.lag) % PERIOD == 0
    return (finding.kind, finding.lag) == (fault.kind, fault.lag)
