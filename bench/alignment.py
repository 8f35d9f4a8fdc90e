"""How well frames that are not the same are found and followed: by fault and content, and the cost.

    python bench/alignment.py                  # single faults found and named; false alarms
    python bench/alignment.py --auto           # several faults: how far align=auto is from the true score
    python bench/alignment.py --auto --frames  # the same, by the pairs alone: quicker
    python bench/alignment.py --auto --held-out  # the same with contents on which nothing was tuned
    python bench/alignment.py --cost           # at 1080p, with and without; memory for two hours

The clips are made once for each folder given by --keep. --content, --pattern, --crf and --timing choose some.
Needs the tests' folder beside it, which makes the clips.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import acuity
from acuity.video.pairs.pair_options import PairOptions
from acuity.video.pairs.pairing import pair_videos
from acuity.video.picture import Picture
from acuity.video.readers.open import open_video
from alignment_corpus import (
    HELD_OUT,
    MODEL,
    OTHER_CONTENTS,
    RATE,
    Source,
    Truth,
    least_pairs,
    remembered_truths,
)
from alignment_cost import print_cost, print_film
from misaligned_clips import (
    CONTENTS,
    FAULTS,
    HARD_CONTENTS,
    PATTERNS,
    Fault,
    Shown,
    found,
    is_named_rightly,
    reference_signatures,
    signatures,
)

ALL: Final = (*CONTENTS, *HARD_CONTENTS, *OTHER_CONTENTS)
# Of these, several faults can be told apart: not of noise, and not where the content repeats.
SEVERAL: Final = tuple(content for content in ALL if content not in ("repeating", "noise", "fades"))
NEAR: Final = 0.1  # how far from the truth a score may be
DOUBTS: Final = ("alignment", "frame-count")  # codes of warnings that the frames may not be the same

FAULT_CRFS: Final = (20, 28, 32, 36)
PATTERN_CRFS: Final = (20, 28, 36)
CLEAN_CRFS: Final = (18, 24, 30, 36, 40, 45)
WAYS: Final[dict[str, dict[str, Any]]] = {
    "x264": {},
    "no B-frames": {"preset": "superfast", "bf": "0"},
    "scaled": {"size": (160, 90)},
    "10 bit": {"pix_fmt": "yuv420p10le", "preset": "ultrafast"},
}
SEEDS: Final = 2
MPEG4: Final = (30_000, 80_000, 250_000)  # bits a second
MORE_FAULTS: Final[dict[str, Fault]] = {
    "delay2": Fault(lambda n: [0, 0, *range(n - 2)], "shift", lag=-2),
    "delay3": Fault(lambda n: [0, 0, 0, *range(n - 3)], "shift", lag=-3),
}
# Other parts of the source's picture, by top, left and scale: the frames are the same all the same.
PARTS: Final = {"cropped": (5.0, 9.0, 0.944), "moved": (2.0, 2.0, 1.0)}
PART_CRFS: Final = (20, 32)
TIME: Final = re.compile("ahead of|behind|lost|twice|too many|stands still|order|every|backwards")

Job = TypeVar("Job")
Answer = TypeVar("Answer")


class Choice(NamedTuple):
    """What is asked for."""

    folder: Path
    jobs: int
    contents: tuple[str, ...]
    patterns: tuple[str, ...]
    crfs: tuple[int, ...]
    timings: tuple[str, ...]
    by_frames: bool

    def spread(self, work: Callable[[Choice, Job], Answer], jobs: Iterable[Job]) -> Iterator[Answer]:
        """Do the work for each job, in so many processes."""
        asked = list(jobs)
        if self.jobs == 1:
            yield from (work(self, job) for job in asked)
            return
        with ProcessPoolExecutor(self.jobs, multiprocessing.get_context("spawn")) as pool:
            yield from pool.map(work, [self] * len(asked), asked)


class Cell(NamedTuple):
    """What became of one encode."""

    content: str
    pattern: str
    crf: int
    timing: str
    mark: str  # one of MARKS
    told: str


MARKS: Final = {
    ".": "right",
    "i": "right, the frozen frames compared with those at their place",
    "f": "right, but fewer pairs than there are",
    "r": "refused",
    "w": "wrong with a warning",
    "X": "WRONG WITHOUT A WORD",
}
RIGHT: Final = ".if"


def several(choice: Choice, job: tuple[str, int, str]) -> list[Cell]:
    """What align=auto makes of every pattern, of one content, quality and timing."""
    content, crf, timing = job
    source = Source(choice.folder, content)
    cells = []
    for pattern in choice.patterns:
        shown = PATTERNS[pattern].shown(len(source.frames))
        encode = source.encode(f"{pattern} {crf}", [each.frame for each in shown], crf=str(crf))
        times = [each.time for each in shown] if timing == "vfr" else range(len(shown))
        path = source.retimed(encode, times) if timing == "vfr" else encode
        if choice.by_frames:
            answer = by_frames(source, shown, path, times)
        else:
            answer = by_score(source, path, remembered_truths(source, shown, encode))
        cells.append(Cell(content, pattern, crf, timing, *answer))
    return cells


def by_score(source: Source, path: Path, right: Sequence[Truth]) -> tuple[str, str]:
    """The mark of what is scored, and what was told."""
    try:
        report = acuity.score(source.path, path, align="auto", model=MODEL, display="native", threads=1)
    except acuity.AcuityError as error:
        return "r", str(error)
    nearest = min(right, key=lambda truth: (abs(truth.off(report.score)), truth.pairs != report.pairs))
    warned = [note.code for note in report.warnings if note.code in DOUBTS]
    told = (
        f"{report.score:.3f} of {report.pairs} pairs for {nearest.least:.3f} of {nearest.pairs}; "
        f"{_decisions(report.input['alignment']['decisions'])} {' '.join(warned)}"
    )
    if abs(nearest.off(report.score)) <= NEAR:
        return "i" if nearest.way == "in place" else ".", told
    return "w" if warned else "X", told


def by_frames(source: Source, shown: Sequence[Shown], path: Path, times: Sequence[int]) -> tuple[str, str]:
    """The mark of the pairs that are made, told by their times; they are right if all are."""
    order = {time: index for index, time in enumerate(times)}
    try:
        with pair_videos(
            open_video(source.path), open_video(path), options=PairOptions(align="auto")
        ) as made:
            pairs = [(order[_frame(dis)], _frame(ref)) for ref, dis in made]
    except acuity.AcuityError as error:
        return "r", str(error)
    same = source.pictures
    moved = [same[ref] != same[shown[dis].frame] for dis, ref in pairs]
    wrong = sum(same[ref] not in (same[shown[dis].frame], same[shown[dis].place]) for dis, ref in pairs)
    least = least_pairs(source, shown)
    most = len(shown) if any(frame != place for frame, place, _ in shown) else least
    warned = [note.code for note in made.notes if note.level == "warning" and note.code in DOUBTS]
    decisions = _decisions(decision.to_dict() for decision in made.decisions)
    told = f"{wrong} of {len(pairs)} pairs are wrong, {least} should be made; {decisions} {' '.join(warned)}"
    if wrong or len(pairs) > most:
        return "w" if warned else "X", told
    return "f" if len(pairs) < least else "i" if any(moved) else ".", told


def _frame(picture: Picture) -> int:
    assert picture.pts is not None
    return round(picture.pts * RATE)


def _decisions(decisions: Iterable[dict[str, Any]]) -> str:
    """The decisions in short: pair, reason, and the frames left out of the reference and of the other."""
    return " ".join(
        f"({each['pair']} {each['reason']} {each['leave_out_ref']}/{each['leave_out_dis']})"
        for each in decisions
    )


def print_several(choice: Choice) -> None:
    crfs = choice.crfs or PATTERN_CRFS
    jobs = itertools.product(choice.contents, crfs, choice.timings)
    cells = [cell for answer in choice.spread(several, jobs) for cell in answer]
    print(*(f"{mark} {meaning}" for mark, meaning in MARKS.items()), sep="\n")
    for timing in choice.timings:
        words = "times kept" if timing == "vfr" else "times renumbered"
        print(f"\n{words}; crf {', '.join(map(str, crfs))}")
        print(f"{'':14s}" + "".join(f"{content:>11s}" for content in choice.contents))
        for pattern in choice.patterns:
            row = [
                "".join(
                    c.mark for c in cells if (c.content, c.pattern, c.timing) == (content, pattern, timing)
                )
                for content in choice.contents
            ]
            print(f"{pattern:14s}" + "".join(f"{marks:>11s}" for marks in row))
        for crf in (*crfs, None):
            some = [cell.mark for cell in cells if cell.timing == timing and crf in (cell.crf, None)]
            right, counts = sum(mark in RIGHT for mark in some), Counter(some)
            named = "all" if crf is None else f"crf {crf}"
            wrong = ", ".join(f"{counts[mark]} {MARKS[mark]}" for mark in "rwX")
            print(f"{named}: {right} of {len(some)} right ({right / len(some):.1%}), {wrong}")
    print()
    for cell in cells:
        if cell.mark not in RIGHT:
            where = f"{cell.content}, {cell.pattern}, crf {cell.crf}, {cell.timing}"
            print(f"{cell.mark} {where}: {cell.told}")


def single(choice: Choice, job: tuple[str, int]) -> dict[str, str]:
    """What is wrong with the answer to each fault of one content and quality; empty where it is right."""
    content, crf = job
    source = Source(choice.folder, content)
    ref, same = reference_signatures(source.frames), source.pictures
    answers = {}
    for name, fault in (FAULTS | MORE_FAULTS).items():
        shown = fault.shown(len(source.frames))
        path = source.encode(f"{name} {crf}", shown, crf=str(crf))
        finding = found(ref, signatures(path))
        if [same[n] for n in shown] == same:  # two frames of one picture are swapped
            right = finding is None
        else:
            right = is_named_rightly(content, fault, finding)
        answers[name] = "" if right else str(finding)
    return answers


def clean_ways() -> Iterator[dict[str, Any]]:
    for way, crf in itertools.product(WAYS.values(), CLEAN_CRFS):
        yield {**way, "crf": str(crf)}
    for bits in MPEG4:
        yield {"codec": "mpeg4", "b": str(bits)}


def clean(choice: Choice, job: tuple[str, int]) -> tuple[int, list[str]]:
    """How many clean pairs there were, and the false alarms."""
    content, seed = job
    source = Source(choice.folder, content, seed)
    ref, alarms = reference_signatures(source.frames), []
    ways = list(clean_ways())
    for how in ways:
        path = source.encode("clean", range(len(source.frames)), **how)
        if (finding := found(ref, signatures(path))) is not None:
            alarms.append(f"{source.name}, {how}: {finding}")
    return len(ways), alarms


def parts(choice: Choice, content: str) -> tuple[int, list[str]]:
    """How many encodes show a part of the picture, and those of which it is told that time is the fault."""
    source = Source(choice.folder, content)
    alarms = []
    for (name, part), crf in itertools.product(PARTS.items(), PART_CRFS):
        path = source.encode(f"{name} {crf}", range(len(source.frames)), part=part, crf=str(crf))
        try:
            with pair_videos(open_video(source.path), open_video(path)) as pairing:
                for _ in pairing:
                    pass
        except acuity.AcuityError as error:
            if TIME.search(str(error)):
                alarms.append(f"{content}, {name}, crf {crf}: {error}")
    return len(PARTS) * len(PART_CRFS), alarms


def print_single(choice: Choice) -> None:
    crfs = choice.crfs or FAULT_CRFS
    contents = [content for content in choice.contents if content not in ("real", "dimmed")]  # too short
    jobs = list(itertools.product(contents, crfs))
    tables = dict(zip(jobs, choice.spread(single, jobs), strict=True))
    print(f"found and named rightly (.) or not (X), at crf {', '.join(map(str, crfs))}")
    print(f"{'':10s}" + "".join(f"{content:>11s}" for content in contents))
    for name in FAULTS | MORE_FAULTS:
        row = ["".join("X" if tables[content, crf][name] else "." for crf in crfs) for content in contents]
        print(f"{name:10s}" + "".join(f"{marks:>11s}" for marks in row))
    missed = {(*job, name): told for job, table in tables.items() for name, told in table.items() if told}
    total = len(jobs) * len(FAULTS | MORE_FAULTS)
    for crf in crfs:
        wrong = sum(key[1] == crf for key in missed)
        print(f"crf {crf}: {1 - wrong * len(crfs) / total:.1%}")
    print(f"{total - len(missed)} of {total} ({1 - len(missed) / total:.1%})")
    print(
        *(f"{content}, {name}, crf {crf}: {told}" for (content, crf, name), told in missed.items()), sep="\n"
    )


def print_clean(choice: Choice) -> None:
    seeded = [(content, seed) for content in choice.contents for seed in range(1, SEEDS + 1)]
    jobs = [job for job in seeded if job[1] == 1 or job[0] not in OTHER_CONTENTS | HELD_OUT]
    for answers, what in (
        (choice.spread(clean, jobs), "false alarms in {} clean pairs"),
        (choice.spread(parts, choice.contents), "of {} pairs of other parts of the picture are told as time"),
    ):
        counts, alarms = zip(*answers, strict=True)
        told = [each for alarm in alarms for each in alarm]
        print(len(told), what.format(sum(counts)))
        print(*told, sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--auto", action="store_true", help="several faults, followed by align=auto")
    parser.add_argument("--frames", action="store_true", help="with --auto: judge the pairs, score nothing")
    parser.add_argument("--clean", action="store_true", help="only the clean pairs")
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--rounds", type=int, default=15, help="of --cost")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where the clips are kept for the next run")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--content", nargs="+", choices=(*ALL, *HELD_OUT))
    parser.add_argument("--held-out", action="store_true", help="contents on which nothing was tuned")
    parser.add_argument("--pattern", nargs="+", choices=tuple(PATTERNS))
    parser.add_argument("--crf", nargs="+", type=int, default=[])
    parser.add_argument("--timing", nargs="+", choices=("cfr", "vfr"), default=["cfr", "vfr"])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        choice = Choice(
            asked.keep or Path(folder),
            asked.jobs,
            tuple(asked.content or (HELD_OUT if asked.held_out else SEVERAL if asked.auto else ALL)),
            tuple(asked.pattern or PATTERNS),
            tuple(asked.crf),
            tuple(asked.timing),
            asked.frames,
        )
        if "real" not in ALL:
            print("no real content: the golden clips are not here, name their folder in ACUITY_GOLDEN")
        if asked.cost:
            print_film()  # first: memory that was used once counts on
            print_cost(Path(folder), asked.rounds)
        elif asked.auto:
            print_several(choice)
        else:
            if not asked.clean:
                print_single(choice)
            print_clean(choice)


if __name__ == "__main__":
    main()
