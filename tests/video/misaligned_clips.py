"""Clips of many kinds of content, and the ways in which an encode shows other frames than its source."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import av
import numpy as np
from numpy.typing import NDArray

from acuity.video.alignment.aligner import Aligner
from acuity.video.alignment.faults import Misalignment
from acuity.video.alignment.signature import grid
from acuity.video.pairs.convert import Fit
from acuity.video.pairs.pairing import Pairing
from acuity.video.picture import Picture, PixelFormat, Signature
from acuity.video.readers.open import open_video

WIDTH, HEIGHT = 320, 180
FRAMES = 100
COUNT = 60  # frames of clips that are paired
PERIOD = 16  # frames after which the repeating content is the same again

Luma = NDArray[np.uint8]
Values = NDArray[np.float32]
Make = Callable[..., Path]  # an encode of these frames, made once


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


def view(scene: Values, top: float, left: float, scale: float = 1.0) -> Values:
    """The part of a scene that a camera sees from a place between its samples, by cubic interpolation."""
    for length, start in ((HEIGHT, top), (WIDTH, left)):  # rows; then, turned, columns
        places = start + np.arange(length) * scale
        whole = np.floor(places).astype(int)
        f = (places - whole)[:, None].astype(np.float32)
        taps = (
            ((-f + 2) * f - 1) * f / 2,
            ((3 * f - 5) * f * f + 2) / 2,
            ((-3 * f + 4) * f + 1) * f / 2,
            (f - 1) * f * f / 2,
        )
        scene = sum(tap * scene[whole + k - 1] for k, tap in enumerate(taps)).T  # type: ignore[union-attr]
    return scene


def held(rng: np.random.Generator, counts: Sequence[int]) -> Iterator[Values]:
    """A smooth pan of which each picture is shown as often as the counts say, over and over."""
    scene = texture(rng, HEIGHT + 60, WIDTH + 260) * 40 + 118
    shown = itertools.chain.from_iterable([n] * count for n, count in enumerate(itertools.cycle(counts)))
    for picture, repeated in itertools.groupby(itertools.islice(shown, FRAMES)):
        frame = view(scene, 10 + picture * 0.4, 10 + picture * 2.3)
        yield from (frame for _ in repeated)


def twos(rng: np.random.Generator) -> Iterator[Values]:
    return held(rng, (2,))


def threes(rng: np.random.Generator) -> Iterator[Values]:
    return held(rng, (3,))


def pulldown(rng: np.random.Generator) -> Iterator[Values]:
    return held(rng, (3, 2))


def slowdark(rng: np.random.Generator) -> Iterator[Values]:
    scene = texture(rng, HEIGHT + 60, WIDTH + 80) * 3 + 30
    for t in range(FRAMES):
        yield view(scene, 10 + t * 0.12, 10 + t * 0.31) + rng.standard_normal((HEIGHT, WIDTH)) * 0.5


def zoom(rng: np.random.Generator) -> Iterator[Values]:
    scene = texture(rng, HEIGHT + 80, WIDTH + 120) * 40 + 115
    for t in range(FRAMES):
        scale = 1.3 * 0.997**t
        top, left = (HEIGHT + 80 - HEIGHT * scale) / 2, (WIDTH + 120 - WIDTH * scale) / 2
        yield view(scene, max(top, 1), max(left, 1), scale)


def fast(rng: np.random.Generator) -> Iterator[Values]:
    scene = texture(rng, HEIGHT + 60, WIDTH + 11 * FRAMES + 60) * 42 + 118
    for t in range(FRAMES):
        yield view(scene, 30 + 20 * np.sin(t * 0.1), 10 + t * 10.7)


def dim(rng: np.random.Generator) -> Iterator[Values]:
    scene = texture(rng, HEIGHT + 80, WIDTH + 120) * 8 + 36
    for t in range(FRAMES):
        yield view(scene, 10 + t * 0.2, 10 + t * 0.5) + rng.standard_normal((HEIGHT, WIDTH)) * 0.4


# Pictures that are held, and motion that is hard to see or to follow.
HARD_CONTENTS: Final[dict[str, Callable[[np.random.Generator], Iterator[Values]]]] = {
    content.__name__: content for content in (twos, threes, pulldown, slowdark, zoom, fast, dim)
}


@functools.lru_cache(maxsize=16)
def frames_of(content: str, seed: int = 0) -> list[Luma]:
    """The frames of a content, which no test changes."""
    made = CONTENTS | HARD_CONTENTS
    rng = np.random.default_rng([*made].index(content) + 100 * seed)
    return [np.clip(np.rint(frame), 16, 235).astype(np.uint8, order="C") for frame in made[content](rng)]


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


class Shown(NamedTuple):
    """One frame of an encode: the source's frame in it, and those at whose place and time it is shown."""

    frame: int
    place: int
    time: int


@dataclass(frozen=True)
class Pattern:
    """Several faults of one encode, by the source's frames; those below 0 are counted from the end."""

    lost: tuple[int, ...] = ()
    every: int = 0  # of so many frames, the last is lost
    doubled: tuple[int, ...] = ()
    frozen: range = range(0)  # frames instead of which the one before them is shown

    def shown(self, n: int) -> list[Shown]:
        """What the encode shows; a doubled frame delays those after it, a lost one leaves a gap in time."""
        lost = {frame % n for frame in self.lost}
        lost |= set(range(self.every - 1, n, self.every)) if self.every else set()
        frames: list[Shown] = []
        for place in range(n):
            if place in lost:
                continue
            frame = frames[-1].frame if place in self.frozen else place
            for _ in range(1 + self.doubled.count(place)):
                late = frames[-1].time - frames[-1].place if frames else 0
                late += bool(frames) and frames[-1].place == place
                frames.append(Shown(frame, place, place + late))
        return frames


# Every frame named is among the first 45, for short clips.
PATTERNS: Final[dict[str, Pattern]] = {
    "lost 7 22": Pattern(lost=(7, 22)),
    "lost 2 1 3": Pattern(lost=(7, 8, 22, 40, 41, 42)),
    "every 10th": Pattern(every=10),
    "every 5th": Pattern(every=5),
    "every 4th": Pattern(every=4),
    "at the end": Pattern(lost=(-3,)),
    "burst": Pattern(lost=(*range(14, 20), 33)),
    "freeze": Pattern(frozen=range(13, 18), lost=(30,)),
    "repeats": Pattern(frozen=range(10, 40, 12)),
    "doubles": Pattern(doubled=(15, 31)),
    "double, lost": Pattern(doubled=(14,), lost=(33,)),
    "head": Pattern(lost=(0, 1, 25)),
    "delay": Pattern(doubled=(0, 34), lost=(18,)),
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
    times: Sequence[int] = (),
    **options: str,
) -> Path:
    """Encode pictures of gray chroma; the first is shown at frame `first`, or all at their `times`."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate)
        stream.width, stream.height, stream.pix_fmt = *size, pix_fmt
        stream.options = {"preset": "veryfast", **options} if codec == "libx264" else options
        stream.thread_count = 1
        for index, luma in enumerate(frames):
            planes = np.vstack([luma, np.full((HEIGHT // 2, WIDTH), 128, np.uint8)])
            frame = av.VideoFrame.from_ndarray(planes, "yuv420p").reformat(*size, pix_fmt)
            frame.pts = times[index] if times else first + index
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def signatures(path: Path) -> Iterator[Signature]:
    """Signatures of the pictures of a file, at the size of the clips; decoded as they are asked for."""
    step = Fit(WIDTH, HEIGHT, PixelFormat("420", 8), from_full=False, to_full=False)
    with open_video(path) as reader:
        fits = (reader.info.width, reader.info.height, reader.info.format.depth) == (WIDTH, HEIGHT, 8)
        yield from (grid(picture if fits else step(picture)) for picture in reader)


def pan(
    places: Iterable[float],
    seed: int = 0,
    *,
    cells: tuple[int, int] = (12, 20),
    waves: int = 30,
    speed: float = 0.3,
) -> list[Signature]:
    """Made-up signatures that change from place to place, as a pan over a textured scene does."""
    rng = np.random.default_rng(seed)
    phases, rates = rng.uniform(0, 2 * np.pi, (waves, *cells)), rng.uniform(-speed, speed, waves)
    return [
        (12 * np.sin(phases + rates[:, None, None] * place).sum(axis=0) / 4).astype(np.float32)
        for place in places
    ]


def reference_signatures(frames: Sequence[Luma]) -> list[Signature]:
    return [grid(Picture((luma,), PixelFormat("400", 8))) for luma in frames]


def found(ref: Sequence[Signature], dis: Iterable[Signature]) -> Misalignment | None:
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


def is_named_rightly(content: str, fault: Fault, finding: Misalignment | None) -> bool:
    """Whether the finding is the fault; where the content repeats, any lag that shows the same is right."""
    if finding is None:
        return False
    if content == "repeating" and finding.lag:
        jumps = ("lost", "doubled")
        same = finding.kind == fault.kind or (finding.kind in jumps and fault.kind in jumps)
        return same and (finding.lag - fault.lag) % PERIOD == 0
    return (finding.kind, finding.lag) == (fault.kind, fault.lag)


def left_out(pairing: Pairing) -> list[tuple[int, int, int]]:
    """Before which pair frames were left out, and how many of each video."""
    return [(done.pair, done.leave_out_ref, done.leave_out_dis) for done in pairing.decisions]


# What an encode of COUNT frames shows, what is said of it, and what `auto` leaves out: before which pair, and
# where.
CASES: Final[dict[str, tuple[list[int], str, tuple[int, int, int] | None]]] = {
    "trim_head1": ([*range(1, 60)], r"is 1 frame ahead of .*pass skip_ref=1, or align='auto'", (0, 1, 0)),
    "trim_head3": ([*range(3, 60)], r"is 3 frames ahead of .*pass skip_ref=3, or align='auto'", (0, 3, 0)),
    "delay1": ([0, *range(59)], r"is 1 frame behind .*pass skip_dis=1, or align='auto'", (0, 0, 1)),
    "drop3rd": ([0, 1, 2, *range(4, 60)], r"lost 1 frame at frame 3 .*pass align='auto'", (3, 1, 0)),
    "drop1pad": ([*range(20), *range(21, 60), 59], r"lost 1 frame at frame 20 .*pass align='auto'", None),
    "drop1": ([*range(20), *range(21, 60)], r"lost 1 frame at frame 20 .*pass align='auto'", (20, 1, 0)),
    "dup1": (
        [*range(21), *range(20, 59)],
        r"shows a frame twice at frame 2[01] .*pass align='auto'",
        (21, 0, 1),
    ),
    "swap23": (
        [*range(23), 24, 23, *range(25, 60)],
        r"frames 23 and 24 of .* in the other order: .*off",
        None,
    ),
    "freeze": ([*range(20), *[20] * 10, *range(30, 60)], r"stands still from frame 21 to 29 while", None),
    "twice": ([n // 2 for n in range(60)], r"shows every frame of .* twice .*pass align='auto'", None),
    "half": ([*range(0, 60, 2)], r"only every second frame of .*pass align='auto'", None),
}
