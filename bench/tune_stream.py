"""Times encoding with scoring alongside, against encoding alone and scoring alone.

    python bench/tune_stream.py [--frames 96] [--size 1280x720] [--preset medium] [--rounds 3]

For each encoder: the seconds of an encode whose packets are thrown away, of scoring the file that they make,
and of measure(), which does both at once. The ratio is that of measure() to the longer of the two. Beside it
is the least that this machine allows: where an encoder alone keeps all cores busy, scoring can only come on
top. The clip is made: textures that move over each other, with grain. Run it on a machine that does nothing
else.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import acuity
from acuity.tune.clip import Clip, open_clip
from acuity.tune.encoders import ENCODERS, Encoder
from acuity.tune.encoders.encode import PictureForm, open_encoding
from acuity.tune.encoders.encoded_reader import Feeder
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.encoders.encoding import Encoding, end_idle_processes
from acuity.tune.encoders.output import video_file
from acuity.tune.points.point import Point, measure

NAMES = ("libx264", "libx265", "libsvtav1", "libvpx-vp9")


def make_clip(path: Path, frames: int, width: int, height: int) -> Clip:
    """A Y4M of a texture that moves over another, both with grain that changes."""
    random = np.random.default_rng(7)
    rows, columns = np.mgrid[0:height, 0:width]
    far = 90 + 50 * np.sin(columns / 23) * np.cos(rows / 31) + random.normal(0, 6, (height, width))
    near = 120 + 60 * np.sin((columns + rows) / 9) + random.normal(0, 10, (height, width))
    with open(path, "wb") as file:
        file.write(f"YUV4MPEG2 W{width} H{height} F25:1 Ip C420\n".encode())
        for frame in range(frames):
            luma = np.roll(far, 2 * frame, 1)
            inside = (columns - width / 2) ** 2 + (rows - height / 2 - 60 * np.sin(frame / 12)) ** 2 < (
                height / 4
            ) ** 2
            luma = np.where(inside, np.roll(near, -3 * frame, 0), luma) + random.normal(0, 2, luma.shape)
            file.write(b"FRAME\n" + luma.clip(16, 235).astype(np.uint8).tobytes())
            chroma = 128 + 30 * np.sin((columns[::2, ::2] + 4 * frame) / 70)
            file.write(chroma.astype(np.uint8).tobytes() * 2)
    return open_clip(path)


def encode_alone(clip: Clip, settings: EncoderSettings, quality: int) -> None:
    """Encode, and throw the packets away."""
    target = PictureForm.of(clip, settings)
    encoding: Encoding = open_encoding(settings, quality, target)
    feeder = Feeder(clip, target)
    feeder.start(encoding)
    while encoding.receive() is not None:
        pass
    feeder.close()
    encoding.close()
    encoding.dispose()


def cpu_seconds() -> float:
    """The processor time of this process and of the encoders that have ended."""
    end_idle_processes()
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def seconds(action: Callable[[], object], rounds: int) -> tuple[float, float]:
    """The medians of several runs: by the clock, and of processors."""
    times, used = [], []
    for _ in range(rounds):
        before, begin = cpu_seconds(), time.perf_counter()
        action()
        times.append(time.perf_counter() - begin)
        used.append(cpu_seconds() - before)
    return statistics.median(times), statistics.median(used)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=96)
    parser.add_argument("--size", default="1280x720")
    parser.add_argument("--preset", default="medium")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--encoders", default=",".join(NAMES))
    options = parser.parse_args()
    width, height = map(int, options.size.split("x"))
    cores = len(os.sched_getaffinity(0))
    print(f"{options.frames} frames of {options.size}, preset {options.preset}, {cores} cores,"
          f" load {os.getloadavg()[0]:.1f}, median of {options.rounds}")  # fmt: skip
    print("encoder      encode s (CPU)  score s (CPU)  both s (CPU)   ratio (least)  VMAF of file and stream")
    with tempfile.TemporaryDirectory() as folder:
        clip = make_clip(Path(folder) / "made.y4m", options.frames, width, height)
        for name in options.encoders.split(","):
            row(clip, ENCODERS[name], options.preset, options.rounds, Path(folder))


def row(clip: Clip, encoder: Encoder, preset: str, rounds: int, folder: Path) -> None:
    settings = EncoderSettings(encoder, preset=preset)
    file = folder / f"{encoder.name}.mkv"
    with video_file(file, clip, encoder) as sink:  # warms up, too
        points: list[Point] = [measure(clip, settings, encoder.default, sink=sink)]
    scores: list[float] = []
    encode = seconds(lambda: encode_alone(clip, settings, encoder.default), rounds)
    score = seconds(lambda: scores.append(acuity.score(clip.path, file).score), rounds)
    both = seconds(lambda: points.append(measure(clip, settings, encoder.default)), rounds)
    longer = max(encode[0], score[0])
    least = max(longer, (encode[1] + score[1]) / len(os.sched_getaffinity(0))) / longer
    figures = "".join(f"{clock:9.2f} {used:6.2f}" for clock, used in (encode, score, both))
    print(
        f"{encoder.name:12}{figures}  {both[0] / longer:6.3f} {least:6.3f}"
        f"  {scores[-1]:.6f} {points[-1].pool():.6f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
