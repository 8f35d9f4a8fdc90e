"""How well frames that are not the same are found: the tests' corpus, many more clean pairs; and the cost.

    python bench/alignment.py            # the table of faults, and 400 clean pairs
    python bench/alignment.py --auto     # how far align=auto is from the score of the right pairs
    python bench/alignment.py --cost     # frames a second at 1080p, with and without

Needs the tests' folder beside it, which has the clips.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "video"))

import acuity
from acuity.video.readers.open import open_video
from clips import make_clip
from misaligned_clips import (
    CONTENTS,
    FAULTS,
    FRAMES,
    encode_luma,
    found,
    frames_of,
    is_named_rightly,
    reference_signatures,
    signatures,
)

QUALITIES = (20, 28)
CRFS = (18, 24, 30, 36, 40, 45)
WAYS: dict[str, dict[str, Any]] = {
    "x264": {},
    "no B-frames": {"preset": "superfast", "bf": "0"},
    "scaled": {"size": (160, 90)},
    "10 bit": {"pix_fmt": "yuv420p10le", "preset": "ultrafast"},
}
SEEDS = 2
MPEG4 = (30_000, 80_000, 250_000)  # bits a second


def clean_ways() -> Iterator[dict[str, Any]]:
    for way, crf in itertools.product(WAYS.values(), CRFS):
        yield {**way, "crf": str(crf)}
    for bits in MPEG4:
        yield {"codec": "mpeg4", "b": str(bits)}


def faults(folder: Path, content: str) -> dict[str, list[str]]:
    """The faults that were missed or misnamed, by fault."""
    frames = frames_of(content)
    ref, path = reference_signatures(frames), folder / f"{content}.mkv"
    wrong: dict[str, list[str]] = {name: [] for name in FAULTS}
    for quality, (name, fault) in itertools.product(QUALITIES, FAULTS.items()):
        shown = [frames[n] for n in fault.shown(FRAMES)]
        finding = found(ref, signatures(encode_luma(path, shown, crf=str(quality))))
        if not is_named_rightly(content, fault, finding):
            wrong[name].append(f"crf {quality}: {finding}")
    return wrong


def clean(folder: Path, job: tuple[str, int]) -> tuple[int, list[str]]:
    """How many clean pairs there were, and the false alarms."""
    content, seed = job
    frames = frames_of(content, seed)
    ref, path = reference_signatures(frames), folder / f"{content}{seed}.mkv"
    ways = list(clean_ways())
    findings = [(how, found(ref, signatures(encode_luma(path, frames, **how)))) for how in ways]
    return len(ways), [f"{content}, {how}: {finding}" for how, finding in findings if finding is not None]


def print_quality(folder: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        tables = list(pool.map(lambda content: faults(folder, content), CONTENTS))
        alarms = list(
            pool.map(lambda job: clean(folder, job), itertools.product(CONTENTS, range(1, SEEDS + 1)))
        )
    print(f"found and named rightly, of {len(QUALITIES)} qualities (crf {QUALITIES[0]} and {QUALITIES[1]})")
    print(f"{'':10s}" + "".join(f"{content:>11s}" for content in CONTENTS))
    for name in FAULTS:
        row = "".join(f"{len(QUALITIES) - len(table[name]):11d}" for table in tables)
        print(f"{name:10s}{row}")
    total = len(FAULTS) * len(CONTENTS) * len(QUALITIES)
    missed = [
        f"{content}, {name}, {told}"
        for content, table in zip(CONTENTS, tables, strict=True)
        for name, all_told in table.items()
        for told in all_told
    ]
    print(f"{total - len(missed)} of {total} ({(1 - len(missed) / total):.1%})")
    print(*missed, sep="\n")
    false = [told for _, alarm in alarms for told in alarm]
    print(f"{len(false)} false alarms in {sum(count for count, _ in alarms)} clean pairs")
    print(*false, sep="\n")


def recovered(folder: Path, content: str) -> dict[str, list[float | str]]:
    """What align=auto scores less what the right pairs score, by fault and quality; or why it refuses."""
    frames = frames_of(content)
    paths = [folder / f"{content}-{name}.mkv" for name in ("source", "encode", "ref", "dis")]
    encode_luma(paths[0], frames, codec="ffv1")
    found: dict[str, list[float | str]] = {}
    for (name, fault), quality in itertools.product(FAULTS.items(), QUALITIES):
        if fault.kind not in ("shift", "lost", "doubled"):  # leaving out frames doesn't help the others
            continue
        shown = fault.shown(FRAMES)
        encode_luma(paths[1], [frames[n] for n in shown], crf=str(quality))
        with open_video(paths[1]) as reader:
            lumas = [picture.luma.copy() for picture in reader]
        truths = []
        for other in (-1, 1):  # of two copies of a frame, either may be left out
            kept = [i for i, n in enumerate(shown) if shown[i + other : i + other + 1] != [n]]
            encode_luma(paths[2], [frames[shown[i]] for i in kept], codec="ffv1")
            encode_luma(paths[3], [lumas[i] for i in kept], codec="ffv1")
            truths.append(acuity.score(paths[2], paths[3], align="off").score)
        try:
            score = acuity.score(*paths[:2], align="auto").score
            found.setdefault(name, []).append(min((score - truth for truth in truths), key=abs))
        except acuity.AcuityError as error:
            found.setdefault(name, []).append(str(error))
    return found


def print_recovered(folder: Path) -> None:
    tables = [recovered(folder, content) for content in CONTENTS]
    print("score of align=auto less that of the right pairs, the worse of both qualities")
    print(f"{'':10s}" + "".join(f"{content:>11s}" for content in CONTENTS))
    for name in tables[0]:
        cells = [max(table[name], key=lambda d: 1e9 if isinstance(d, str) else abs(d)) for table in tables]
        row = "".join(
            f"{'refused' if isinstance(cell, str) else format(cell, '+.4f'):>11s}" for cell in cells
        )
        print(f"{name:10s}{row}")
    figures = [figure for table in tables for figures in table.values() for figure in figures]
    print(*(figure for figure in figures if isinstance(figure, str)), sep="\n")
    near = sum(not isinstance(figure, str) and abs(figure) <= 0.01 for figure in figures)
    print(f"{near} of {len(figures)} within 0.01")


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--auto", action="store_true")
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.cost:
            print_cost(Path(folder), arguments.rounds)
        elif arguments.auto:
            print_recovered(Path(folder))
        else:
            print_quality(Path(folder))


if __name__ == "__main__":
    main()
