"""How many encodes a search takes to meet a target, beside plain bisection.

    ACUITY_GOLDEN=/path/to/golden python bench/tune_search.py
    python bench/tune_search.py --targets 85,93,95 --preset medium --only snow,hall

Each content of TESTING (bench/tune_contents.py), none of which the priors were fitted to, is encoded by four
encoders. Two ways are counted: every encoder searched alone, knowing nothing of the clip, and the four of a
comparison, where the points of one encoder show the others where to begin. A row is good if its answer meets
the target by at most 0.5 VMAF, or if the next value is measured and misses it.

Bisection is vmaf-tune's: the middle of all values, until one is left. Its second figure is the encodes until
it has a point that meets the target by at most 0.5, for those who would stop there.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from acuity.tune.clip import Clip, open_clip
from acuity.tune.encoders import ENCODERS, find_encoder
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.points.point import Point, PointScoring
from acuity.tune.points.workbench import Workbench
from acuity.tune.search.searching import SearchAnswer, search, search_rows
from acuity.tune.search.target import Target
from tune_contents import TESTING, write_all

NEAR = 0.5
ALL = ["libx264", "libx265", "libsvtav1", "libvpx-vp9"]


class Row(NamedTuple):
    """A content and an encoder: the encodes of each way, and what was found."""

    alone: int
    together: int
    bisection: int
    stopping: int
    good: bool


def is_good(found: SearchAnswer) -> bool:
    """Whether an answer is near the target, or the largest value that meets it."""
    spare = found.target.spare(found.figure)
    encoder = found.settings.encoder
    step = encoder.step(found.quality)
    if 0 <= spare <= NEAR or step == encoder.last_step:
        return True
    after = [point for point in found.points if encoder.step(point.quality) == step + 1]
    return spare > NEAR and bool(after) and not found.target.met(found.target.figure(after[0]))


def bisected(target: Target, last: int, point: Callable[[int], Point]) -> tuple[int, int]:
    """The encodes of plain bisection, and of one that stops near the target."""
    low, high, count, stopped = 0, last, 0, None
    while low <= high:
        middle = (low + high + 1) // 2
        spare = target.spare(target.figure(point(middle)))
        count += 1
        if stopped is None and 0 <= spare <= NEAR:
            stopped = count
        low, high = (middle + 1, high) if spare >= 0 else (low, middle - 1)
    return count, stopped or count


def row(
    clip: Clip, settings: EncoderSettings, target: Target, together: SearchAnswer, bench: Workbench
) -> Row:
    alone = search(Workbench(bench.scoring), clip, settings, target)
    encoder = settings.encoder
    counts = bisected(
        target, encoder.last_step, lambda step: bench.point(clip, settings, encoder.quality(step))
    )
    return Row(alone.encodes, together.encodes, *counts, is_good(alone) and is_good(together))


def summary(name: str, counts: list[int]) -> str:
    """Median and spread of the encodes a row."""
    parts = [sum(count <= most for count in counts) / len(counts) for most in (3, 4)]
    ninth = sorted(counts)[max(0, -(-len(counts) * 9 // 10) - 1)]
    return (
        f"{name:26} median {statistics.median(counts):.1f}, mean {statistics.mean(counts):.2f},"
        f" ninth decile {ninth}, at most 3: {parts[0]:.0%}, at most 4: {parts[1]:.0%}, most {max(counts)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--targets", default="93", help="VMAF, separated by commas (93)")
    parser.add_argument("--preset", default="faster")
    parser.add_argument("--only", default="", help="names of contents, separated by commas")
    parser.add_argument("--folder", help="where the contents are kept, to be made once")
    arguments = parser.parse_args()
    only = arguments.only.split(",") if arguments.only else [content.name for content in TESTING]
    every = [EncoderSettings(find_encoder(name), preset=arguments.preset) for name in ALL if name in ENCODERS]
    rows: list[Row] = []
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.folder or temporary)
        chosen = [content for content in TESTING if content.name in only]
        print(f"{'content':16}{'encoder':12}{'target':>7}{'crf':>5}{'VMAF':>8}{'kbit/s':>9}", end="")
        print(f"{'alone':>7}{'compare':>9}{'bisection':>11}")
        for path in write_all(chosen, folder):
            clip = open_clip(path)
            for value in map(float, arguments.targets.split(",")):
                target = Target(value)
                bench = Workbench(PointScoring())
                for found in search_rows(bench, clip, [(settings, target) for settings in every]):
                    if not isinstance(found, SearchAnswer):
                        print(f"{path.stem:16} {found}")
                        continue
                    made = row(clip, found.settings, target, found, bench)
                    rows.append(made)
                    print(
                        f"{path.stem:16}{found.settings.encoder.name:12}{value:7g}{found.quality:5}{found.figure:8.2f}"
                        f"{found.point.bitrate_kbps:9,.0f}{made.alone:7}{made.together:9}{made.bisection:8}"
                        f" ({made.stopping}){'' if made.good else '  not near'}",
                        flush=True,
                    )
    print(summary("alone", [each.alone for each in rows]))
    print(summary("in a comparison", [each.together for each in rows]))
    print(summary("bisection", [each.bisection for each in rows]))
    print(summary("bisection that stops near", [each.stopping for each in rows]))
    good = sum(each.good for each in rows)
    print(f"near the target, or proved to be the largest value: {good} of {len(rows)} rows", end="")
    print(f"; {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
