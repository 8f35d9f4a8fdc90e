"""Bits that a quality for each shot saves against one quality for all, at equal VMAF, on the stitched file.

    python bench/tune_shots.py [--encoders libx264,libx265,libsvtav1] [--target 92] [--preset medium]

The clip is made of unlike shots: a still, grain, fast motion, text that scrolls, a dark fade, a slow zoom;
with golden clips (ACUITY_GOLDEN, or ../shared/golden) real ones too. The file is written, decoded from its
container, and scored. One quality for all is measured on both sides of that score, and its bits interpolated.
Where each shot meets the target, the one quality for all is the largest with which each does, too.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import acuity
from acuity.tune.clip import Clip, open_clip
from acuity.tune.encoders import find_encoder
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.points.point import Point, PointScoring
from acuity.tune.points.workbench import Workbench
from acuity.tune.search.target import Target
from acuity.tune.shots.per_shot import plan_per_shot
from acuity.tune.shots.plan import Division, ShotPlan
from acuity.tune.shots.stitch import encode_shots

WIDTH, HEIGHT, RATE = 320, 180, 24
FRAMES = 36  # of a shot
LEAST_SAVED = 5.0  # percent

Plane = NDArray[np.float64]


def texture(seed: int, width: int, height: int, scales: Sequence[tuple[int, float]]) -> Plane:
    """Noise of several sizes, smoothed."""
    rng = np.random.default_rng(seed)
    total = np.full((height, width), 120.0)
    for cell, strength in scales:
        coarse = rng.normal(size=(height // cell + 2, width // cell + 2))
        block = np.kron(coarse, np.ones((cell, cell)))[:height, :width]
        total += strength * (block + np.roll(block, cell // 2, 0) + np.roll(block, cell // 2, 1)) / 3
    return total


def still() -> Iterator[Plane]:
    picture = texture(1, WIDTH, HEIGHT, ((64, 40), (24, 20)))
    rng = np.random.default_rng(1)
    for _ in range(FRAMES):
        yield picture + rng.normal(0, 0.7, picture.shape)


def grain() -> Iterator[Plane]:
    picture = texture(2, WIDTH, HEIGHT, ((48, 40), (12, 15)))
    rng = np.random.default_rng(2)
    for _ in range(FRAMES):
        yield picture + rng.normal(0, 9, picture.shape)


def fast() -> Iterator[Plane]:
    wide = texture(3, WIDTH + 12 * FRAMES, HEIGHT, ((32, 35), (8, 25), (3, 20)))
    for frame in range(FRAMES):
        yield wide[:, 12 * frame : 12 * frame + WIDTH]


def text() -> Iterator[Plane]:
    rng = np.random.default_rng(4)
    page = np.full((HEIGHT + 3 * FRAMES, WIDTH), 230.0)
    for top in range(6, len(page) - 10, 14):
        for left in range(10, WIDTH - 16, 7):
            if rng.random() < 0.85:
                page[top : top + 8, left : left + 5] = np.where(rng.random((8, 5)) < 0.5, 25, 230)
    for frame in range(FRAMES):
        yield page[2 * frame : 2 * frame + HEIGHT]


def dark() -> Iterator[Plane]:
    picture = texture(5, WIDTH, HEIGHT, ((48, 30), (8, 12), (2, 6)))
    rng = np.random.default_rng(5)
    for frame in range(FRAMES):
        light = 0.35 * (1 - frame / (FRAMES + 6))
        yield 16 + light * (picture - 16) + rng.normal(0, 1.2, picture.shape)


def zoom() -> Iterator[Plane]:
    picture = texture(6, 2 * WIDTH, 2 * HEIGHT, ((96, 40), (16, 20), (4, 12)))
    for frame in range(FRAMES):
        scale = 1.0 + 0.008 * frame
        rows = (HEIGHT + (np.arange(HEIGHT) - HEIGHT / 2) * 1.4 / scale).astype(int)
        columns = (WIDTH + (np.arange(WIDTH) - WIDTH / 2) * 1.4 / scale).astype(int)
        yield picture[rows][:, columns]


def golden() -> Iterator[Iterator[Plane]]:
    """Real shots, scaled to the clip's size, forwards and backwards if they are short."""
    folder = (
        Path(os.environ.get("ACUITY_GOLDEN") or Path(__file__).parents[2] / "shared" / "golden") / "clips"
    )
    raw = {"width": 160, "height": 90, "pixel_format": "420", "bitdepth": 8}
    for name, geometry in (("park_joy_420_720p50_frm0to9_480x270.y4m", {}), ("src01_hrc00_160x90.yuv", raw)):
        if (folder / name).exists():
            with acuity.open_video(folder / name, **geometry) as video:  # type: ignore[arg-type]
                planes = [np.array(picture.luma, float) for picture in video]
            there_and_back = planes + planes[-2:0:-1]
            yield (scaled(there_and_back[i % len(there_and_back)]) for i in range(FRAMES))


def scaled(plane: Plane) -> Plane:
    """Bilinear, which is enough here."""
    y, x = np.linspace(0, plane.shape[0] - 1.001, HEIGHT), np.linspace(0, plane.shape[1] - 1.001, WIDTH)
    iy, ix = y.astype(int), x.astype(int)
    fy, fx = (y - iy)[:, None], (x - ix)[None, :]
    top = plane[iy][:, ix] * (1 - fx) + plane[iy][:, ix + 1] * fx
    return top * (1 - fy) + (plane[iy + 1][:, ix] * (1 - fx) + plane[iy + 1][:, ix + 1] * fx) * fy


def make_clip(path: Path, *, mild: bool = False) -> Clip:
    colour = bytes([128]) * (WIDTH * HEIGHT // 2)
    with path.open("wb") as file:
        file.write(f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F{RATE}:1 Ip A1:1 C420\n".encode())
        shots = [still(), fast(), *golden(), zoom(), *(() if mild else (text(), dark(), grain()))]
        for planes in shots:
            for plane in planes:
                file.write(b"FRAME\n" + np.clip(np.rint(plane), 16, 235).astype(np.uint8).tobytes() + colour)
    return open_clip(path)


def around(
    bench: Workbench, clip: Clip, settings: EncoderSettings, good: Callable[[Point], bool]
) -> tuple[Point, Point]:
    """The last quality for all that is good, and the next one."""
    low, high = 0, settings.encoder.last_step
    while high - low > 1:
        step = (low + high) // 2
        if good(bench.point(clip, settings, settings.encoder.quality(step))):
            low = step
        else:
            high = step
    one, other = (bench.point(clip, settings, settings.encoder.quality(step)) for step in (low, high))
    return one, other


def at_equal_vmaf(bench: Workbench, clip: Clip, settings: EncoderSettings, vmaf: float) -> tuple[float, str]:
    """Bytes of one quality for all at that VMAF, between the two values around it."""
    one, other = around(bench, clip, settings, lambda point: point.pool() >= vmaf)
    share = (one.pool() - vmaf) / (one.pool() - other.pool())
    logs = math.log(one.bytes) * (1 - share) + math.log(other.bytes) * share
    return math.exp(logs), f"between {settings.encoder.knob} {one.quality} and {other.quality}"


def with_every_shot(
    bench: Workbench, clip: Clip, settings: EncoderSettings, plan: ShotPlan
) -> tuple[float, str]:
    """Bytes of the one quality for all with which every shot meets the target, too."""

    def good(point: Point) -> bool:
        means = [point.scores["vmaf"][shot.part.start : shot.part.end].mean() for shot in plan.shots]
        return bool(min(means) >= plan.target.value)

    one, _ = around(bench, clip, settings, good)
    return one.bytes, f"{settings.encoder.knob} {one.quality}, every shot at the target"


def report(
    bench: Workbench, clip: Clip, plan: ShotPlan, folder: Path, settings: EncoderSettings, seconds: float
) -> float:
    out = folder / f"{settings.encoder.name}-{plan.division}.mkv"
    plan = encode_shots(plan, out)
    assert plan.stitched is not None
    score = acuity.score(clip.path, out).score  # of the file, decoded from its container
    before, where = (
        with_every_shot(bench, clip, settings, plan)
        if plan.division == "each"
        else at_equal_vmaf(bench, clip, settings, score)
    )
    saved = 100 * (1 - plan.stitched.video_bytes / before)
    qualities = " ".join(str(shot.quality) for shot in plan.shots)
    print(
        f"{settings.encoder.name:11} {plan.division:8} predicted {plan.predicted:7.3f} measured {score:7.3f} "
        f"{plan.stitched.video_bytes:9,} bytes; one for all {before:11,.0f} ({where}); saved {saved:5.1f} %; "
        f"{plan.points} points, {seconds:.0f} s; {settings.encoder.knob} {qualities}",
        flush=True,
    )
    return saved


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoders", default="libx264,libx265")
    parser.add_argument("--target", type=float, default=92.0)
    parser.add_argument("--preset", default="medium")
    parser.add_argument("--mild", action="store_true", help="leave out grain, text and the dark fade")
    arguments = parser.parse_args()
    worst = math.inf
    with tempfile.TemporaryDirectory() as folder:
        clip = make_clip(Path(folder) / "clip.y4m", mild=arguments.mild)
        bench = Workbench(PointScoring())
        for name in arguments.encoders.split(","):
            settings = EncoderSettings(find_encoder(name), preset=arguments.preset)
            kbps = None
            divisions: list[Division] = ["mean", "each", "bitrate"]
            for division in divisions:
                begin = time.perf_counter()
                plan = plan_per_shot(
                    bench,
                    clip,
                    settings,
                    target=Target(arguments.target),
                    bitrate_kbps=kbps if division == "bitrate" else None,
                    division=division,
                )
                kbps = kbps or plan.bitrate_kbps
                saved = report(bench, clip, plan, Path(folder), settings, time.perf_counter() - begin)
                worst = min(worst, saved) if division == "mean" else worst
    print(f"equal slope saves at least {worst:.1f} % of the bits at equal VMAF; it must be {LEAST_SAVED:g} %")
    raise SystemExit(worst < LEAST_SAVED)


if __name__ == "__main__":
    main()
