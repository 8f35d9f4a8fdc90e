"""What it costs to look whether frames are the same: time at 1080p, and memory for a long film."""

from __future__ import annotations

import itertools
import resource
import statistics
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np

import acuity
from acuity.video.alignment.signature import sign
from acuity.video.made_up import moving_pairs
from acuity.video.pairs.pair_options import PairOptions
from acuity.video.pairs.pairing import pair_videos
from acuity.video.picture import Picture, PixelFormat
from acuity.video.readers.reader import VideoInfo
from clips import make_clip
from misaligned_clips import found, frames_of, reference_signatures, texture

TWO_HOURS: Final = 172_800  # frames
LOSES: Final = 7_001  # of so many frames the film's copy has lost one
WIDTH, HEIGHT = 64, 36


def print_cost(folder: Path, rounds: int) -> None:
    clip = make_clip(folder, "1080p", 1920, 1080, 8, 96)
    raw = {"width": clip.width, "height": clip.height, "pixel_format": "420", "bitdepth": clip.depth}
    taken: dict[str, list[tuple[float, float]]] = {"off": [], "refuse": []}
    for _, align in itertools.product(range(rounds), taken):  # in turn: the machine may have other work too
        start, cpu = time.perf_counter(), time.process_time()
        acuity.score(clip.ref, clip.dis, align=align, **raw)  # type: ignore[arg-type]
        taken[align].append((time.perf_counter() - start, time.process_time() - cpu))
    for unit, which in (("frames a second", 0), ("CPU", 1)):
        least = {align: min(times[which] for times in all_times) for align, all_times in taken.items()}
        pairs = zip(taken["off"], taken["refuse"], strict=True)
        slower = statistics.median(watched[which] / plain[which] for plain, watched in pairs) - 1
        rates = " ".join(f"{align} {clip.frames / best:.1f}" for align, best in least.items())
        print(f"1080p, {unit}: {rates} (best); {slower:+.2%} (median of {rounds} in turn)")
    pictures = [picture for pair in moving_pairs(1920, 1080, 8, 12) for picture in pair]
    signed = reference_signatures(frames_of("dark"))
    for what, unit, count, work in (
        ("a signature", "picture", len(pictures), lambda: [sign(picture) for picture in pictures]),
        ("the aligner", "pair", len(signed), lambda: found(signed, signed)),
    ):
        cpu = time.process_time()
        for _ in range(rounds):
            work()
        spent = (time.process_time() - cpu) / (rounds * count)
        print(f"1080p, {what}: {spent * 1e3:.3f} ms of CPU a {unit}")


class Film:
    """A reader of two hours of small pictures, which are made as they are read."""

    def __init__(self, name: str, *, loses: bool) -> None:
        self._scene = texture(np.random.default_rng(1), HEIGHT + 200, WIDTH + 900) * 40 + 120
        self._loses = loses
        self._next = 0
        frames = sum(1 for _ in self._numbers(0))
        at = Fraction(24)
        self.info = VideoInfo(
            name, "raw", WIDTH, HEIGHT, PixelFormat("400", 8), frames, True, at, seekable=True
        )

    def _numbers(self, start: int) -> Iterator[int]:
        kept = (n for n in range(TWO_HOURS) if not (self._loses and n % LOSES == LOSES - 1))
        return itertools.islice(kept, start, None)

    def __iter__(self) -> Iterator[Picture]:
        for n in self._numbers(self._next):
            y, x = n // 800 % 200, n % 800  # a pan, and another one
            luma = np.clip(self._scene[y : y + HEIGHT, x : x + WIDTH] + n % 7 - self._loses, 16, 235)
            yield Picture((luma.astype(np.uint8),), self.info.format)

    def seek(self, frame: int) -> None:
        self._next = frame

    def close(self) -> None:
        pass


def print_film() -> None:
    """Pair two hours without scoring them: what is left out, CPU and memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    films = Film("film", loses=False), Film("copy", loses=True)
    for align, pair in (("refuse", (films[0], films[0])), ("auto", films)):
        cpu = time.process_time()
        for film in films:
            film.seek(0)
        with pair_videos(*pair, options=PairOptions(align=align)) as pairing:  # type: ignore[arg-type]
            count = sum(1 for _ in pairing)
        spent = (time.process_time() - cpu) / count
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        left = (
            f"{len(pairing.decisions)} decisions for {TWO_HOURS // LOSES} losses" if align == "auto" else ""
        )
        grown = (peak - before) / 1024
        print(f"two hours, {align}: {count} pairs, {spent * 1e6:.0f} us of CPU each, +{grown:.0f} MiB {left}")
