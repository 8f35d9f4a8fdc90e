"""How many encodes a ladder takes, beside a sweep for each target, and whether its hull is as good.

    python bench/tune_ladder.py                        # made and golden contents, x264 and SVT-AV1
    python bench/tune_ladder.py --encoders libx265 --contents park-joy,snow

The sweep for each target is vmaf-tune's rule: every size, every target, the whole grid. Its samples are
those of one sweep of the grid, which is made here to compare with.

    grid     samples of the grid that we made; the others were ruled out by their neighbours
    same     whether these alone give the very rungs that the whole grid gives
    ours     all samples that we made, those between the values of the grid included
    part     ours, of the sweep for each target; what is left of the limit may be used for better rungs
    hull     the most that our hull is under that of the whole grid, from the lowest target to the highest, in
             VMAF (0 or less: as good or better)
    rungs    chosen from the whole grid, and from ours

Golden clips are those of the folder that ACUITY_GOLDEN names.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from acuity.tune.clip import Clip, open_clip
from acuity.tune.encoders import find_encoder
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.ladder import ladder
from acuity.tune.ladder.ladder import Ladder, LadderSample, build_ladder, default_grid
from acuity.tune.ladder.rungs import RungChoice, choose_rungs, ends, score_at
from acuity.tune.ladder.sweep import Sweep, Wish
from acuity.tune.points.point import PointScoring
from acuity.tune.points.workbench import Workbench
from tune_contents import TESTING, TRAINING, write

CONTENTS = "park-joy,photo-1012576,photo-100007,blue-sky,balls-fast,slow-waves,snow"
TARGETS = ((95.0, 90.0, 85.0), (96.0, 92.0, 88.0, 80.0, 70.0), (93.0, 75.0))
FRACTIONS = (1.0, 2 / 3, 1 / 2, 1 / 3)
MOST = 0.6


class Row(NamedTuple):
    """What a ladder took, beside the sweep for each target."""

    sweep: int
    grid: int
    same: bool
    ours: int
    under: float
    rungs: int
    rungs_ours: int

    @property
    def part(self) -> float:
        return self.ours / self.sweep


def sizes_of(clip: Clip) -> list[tuple[int, int]]:
    width, height = clip.info.width, clip.info.height
    return [(2 * round(width * part / 2), 2 * round(height * part / 2)) for part in FRACTIONS]


class WholeGrid(Sweep):
    """Asks for the whole grid and no more."""

    def next(self) -> list[Wish]:
        found = [Wish(size, step) for size in self._sizes for step in self._grid]
        wishes = [wish for wish in found if wish not in self._tried]
        self._tried.update(wishes)
        return wishes


def measured(found: Ladder) -> list[LadderSample]:
    return [sample for sample in found.samples if sample.point is not None]


def names(rungs: list[LadderSample]) -> list[tuple[int, int | None]]:
    return [(rung.width, rung.crf) for rung in rungs]


def compare(bench: Workbench, clip: Clip, settings: EncoderSettings, targets: tuple[float, ...]) -> Row:
    """Build a ladder both ways; points are shared, and counted by the samples that each way asks for."""
    sizes = sizes_of(clip)
    ours = build_ladder(bench, clip, settings, sizes, RungChoice(targets))
    with patch.object(ladder, "Sweep", WholeGrid):
        whole = build_ladder(bench, clip, settings, sizes, RungChoice(targets))
    bottom, top = ends(whole.hull, targets)
    under = max(
        min(sample.vmaf, max(targets)) - (score_at(ours.hull, sample.bitrate_kbps) or 0.0)
        for sample in whole.hull[bottom : top + 1]
    )
    grid = default_grid(settings.encoder)
    of_grid = [sample for sample in measured(ours) if sample.crf in grid]
    return Row(
        sweep=len(sizes) * len(grid) * len(targets),
        grid=len(of_grid),
        same=names(choose_rungs(of_grid, RungChoice(targets)).rungs) == names(whole.renditions),
        ours=len(measured(ours)),
        under=under,
        rungs=len(whole.renditions),
        rungs_ours=len(ours.renditions),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--contents", default=CONTENTS)
    parser.add_argument("--encoders", default="libx264,libsvtav1")
    parser.add_argument("--preset", default="veryfast")
    parser.add_argument("--folder", type=Path, help="where contents are written, and kept")
    options = parser.parse_args()
    known = {content.name: content for content in (*TRAINING, *TESTING)}
    rows: list[Row] = []
    print("content         encoder    targets        sweep  grid same  ours  part    hull  rungs")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        for name in options.contents.split(","):
            if not known[name].available:
                print(f"{name:15} left out: {known[name].needs} is not in ACUITY_GOLDEN")
                continue
            clip = open_clip(write(known[name], folder))
            for encoder in options.encoders.split(","):
                settings = EncoderSettings(find_encoder(encoder), preset=options.preset)
                bench = Workbench(PointScoring())
                for targets in TARGETS:
                    row = compare(bench, clip, settings, targets)
                    rows.append(row)
                    said = ",".join(f"{target:g}" for target in targets)
                    print(
                        f"{name:15} {encoder:10} {said:14} {row.sweep:5} {row.grid:5} "
                        f"{'yes' if row.same else 'no':>4} {row.ours:5} {row.part:5.0%} {row.under:+7.3f}  "
                        f"{row.rungs} and {row.rungs_ours}",
                        flush=True,
                    )
    if rows:
        sweep, grid, ours = (sum(row[at] for row in rows) for at in (0, 1, 3))
        print(
            f"{len(rows)} ladders: {grid / sweep:.0%} of the encodes of a sweep for each target give its "
            f"rungs in {sum(row.same for row in rows)} of them; with better rungs {ours / sweep:.0%}, "
            f"at most {max(row.part for row in rows):.0%} (limit {MOST:.0%}); hull under the whole grid's by "
            f"{max(row.under for row in rows):+.3f} VMAF at most"
        )


if __name__ == "__main__":
    main()
