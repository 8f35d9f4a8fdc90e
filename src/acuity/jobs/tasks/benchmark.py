"""The task of run_benchmark: times every engine on every fixture size and compares its scores with the CPU's.

Those of probe_backend, whether a backend scores at all, and of list_backends, the cards, are here, too.

`BenchmarkProgress` turns steps of different length into one measure of progress. `BenchmarkRow` is one
engine's speed with its spread, and how far its scores are from the CPU's. `to_text` is the table for people.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from typing import Any, Final, Literal, TypeAlias

from acuity.devices import describe_backend, describe_engine, list_backends
from acuity.errors import AcuityError, OutputError
from acuity.jobs.tasks.engines import ClipPair, Engine, ExternalEngine, GreyClip, OwnEngine, Run
from acuity.report.document import plain
from acuity.report.tables import Table
from acuity.report.write import write_document
from longwire.work import Progress


class BenchmarkProgress:
    """Reports progress in megapixels scored, because time is proportional to them."""

    def __init__(
        self,
        report: Callable[[Progress], None],
        total: float = 0.0,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._report, self.total, self._now = report, total, now
        self._start = now()
        self._base = 0.0  # work of the finished steps

    @contextlib.contextmanager
    def step(self, label: str, work: float, rounds: int, frames: int) -> Iterator[Callable[[int, int], None]]:
        """A part of the work. Yields a function to call with a round (from 0) and its frames done."""
        begun: dict[int, float] = {}  # when each round began

        def report_frames(number: int, done: int) -> None:
            passed = self._now() - begun.setdefault(number, self._now())
            reached = self._base + work * (number + done / frames) / rounds
            fps = done / passed if done and passed > 0 else None
            elapsed = self._now() - self._start
            left = elapsed * (self.total - reached) / reached if reached > 0 else None
            message = f"{label}, round {number + 1} of {rounds}, frame {done} of {frames}"
            message += f", {fps:.1f} fps" if fps is not None else ""
            message += f", {left:.0f} s left" if left is not None else ""
            details = {
                "fps": None if fps is None else round(fps, 1),
                "eta_seconds": None if left is None else round(left, 1),
            }
            self._report(Progress(round(reached, 3), round(self.total, 3), message, details))

        try:
            yield report_frames
        finally:
            self._base += work


Verdict: TypeAlias = Literal["BASE", "PASS", "WARN", "FAIL", "SKIP"]

# The first entry whose limit is above the largest difference; NaN is below none and has failed.
_VERDICTS: Final[tuple[tuple[float, Verdict], ...]] = ((0.01, "PASS"), (0.1, "WARN"), (math.inf, "FAIL"))


@dataclass(frozen=True, slots=True)
class Spread:
    """Median, minimum and maximum of several rounds."""

    median: float
    min: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(*(round(f(values), 6) for f in (statistics.median, min, max)))


@dataclass(frozen=True, slots=True)
class BenchmarkRow:
    """The result of one engine on one fixture. None stands for "not measured"."""

    fixture: str
    width: int
    height: int
    frames: int
    engine: str  # 'acuity' or 'external'
    backend: str
    verdict: Verdict
    reason: str | None = None  # why it was skipped, failed or is suspicious
    rounds: int = 0
    seconds: Spread | None = None
    fps: Spread | None = None
    vmaf: float | None = None  # the mean of all frames
    max_diff: float | None = None  # largest difference of a frame's score to the CPU's
    max_diff_frame: int | None = None


def measured(
    clip: ClipPair, engine: Engine, runs: Sequence[Run], expected: Sequence[float] | None
) -> BenchmarkRow:
    """A row from its rounds; `expected` are the CPU's scores, or None for the CPU's own row."""
    frames, scores = engine.frames(clip), runs[0].scores
    for run in runs:
        if len(run.scores) != frames or not all(map(math.isfinite, run.scores)):
            missing = frames - sum(map(math.isfinite, run.scores))
            return _row(clip, engine, "FAIL", reason=f"{missing} of {frames} frames have no score")
    # The largest difference of any frame in any round.
    largest, frame, score, wanted = max(
        (abs(score - wanted), frame, score, wanted)
        for run in runs
        for frame, (score, wanted) in enumerate(
            zip(run.scores, scores if expected is None else expected, strict=True)
        )
    )
    verdict: Verdict = next((word for limit, word in _VERDICTS if largest < limit), "FAIL")
    other = "in another round" if expected is None else "on the CPU"
    reason = f"frame {frame} scores {score:.6f}, and {other} {wanted:.6f}"
    if expected is None and largest == 0.0:
        verdict = "BASE"
    return _row(
        clip,
        engine,
        verdict,
        reason=None if verdict in ("BASE", "PASS") else reason,
        rounds=len(runs),
        seconds=Spread.of([run.seconds for run in runs]),
        fps=Spread.of([frames / run.seconds for run in runs]),
        vmaf=statistics.fmean(scores),
        max_diff=None if verdict == "BASE" else largest,
        max_diff_frame=None if verdict == "BASE" else frame,
    )


def _row(clip: ClipPair, engine: Engine, verdict: Verdict, **known: Any) -> BenchmarkRow:
    about = clip.name, clip.width, clip.height, engine.frames(clip), engine.maker, engine.backend
    return BenchmarkRow(*about, verdict, **known)


_HEADINGS: Final = ("engine", "backend", "fps", "seconds", "VMAF", "max diff", "verdict")


def to_text(rows: Sequence[BenchmarkRow], engine: Mapping[str, Any]) -> str:
    """The table for people: median, slowest and fastest round; differences are from Acuity's CPU backend."""
    lines = [
        f"{engine['name']} {engine['version']}, {engine['threads']} threads, {engine['instruction_set']}, "
        f"{engine['system']}, Python {engine['python']}"
    ]
    for fixture, found in groupby(rows, key=lambda row: row.fixture):
        block = list(found)
        lines += ["", f"{fixture}, {block[0].frames} frames, 8 bit"]
        cells = [_cells(row, block[0].frames) for row in block]
        lines += Table(_HEADINGS, cells, [False] * len(_HEADINGS)).text()
    return "\n".join([*lines, ""])


def _cells(row: BenchmarkRow, usual_frames: int) -> tuple[str, ...]:
    shorter = f", {row.frames} frames" if row.frames != usual_frames and row.seconds is not None else ""
    return (
        row.engine,
        row.backend,
        _spread(row.fps, 1),
        _spread(row.seconds, 3),
        "-" if row.vmaf is None else f"{row.vmaf:.6f}",
        "-" if row.max_diff is None else f"{row.max_diff:.6f}",
        f"{row.verdict}{shorter}{f': {row.reason}' if row.reason else ''}",
    )


def _spread(spread: Spread | None, digits: int) -> str:
    if spread is None:
        return "-"
    return f"{spread.median:.{digits}f} ({spread.min:.{digits}f} to {spread.max:.{digits}f})"


_BASELINE: Final = "cpu"

# An engine, and the reason if it can't be used.
_Candidate: TypeAlias = tuple[Engine, str | None]


class _Fixture:
    """A clip, on which all engines run."""

    def __init__(self, given: Mapping[str, int], meter: BenchmarkProgress) -> None:
        self._clip = ClipPair(given["width"], given["height"], given["frames"])
        self._rounds = given["rounds"]
        self._meter = meter
        self._baselines: dict[int, list[float]] = {}  # the CPU's scores, by number of frames

    def work(self, candidate: _Candidate) -> float:
        """Megapixels that it will score."""
        engine, problem = candidate
        if problem is not None:
            return 0.0
        return self._rounds * engine.frames(self._clip) * self._clip.width * self._clip.height / 1e6

    def row(self, candidate: _Candidate) -> BenchmarkRow:
        clip, (engine, problem) = self._clip, candidate
        if problem is not None:
            return _row(clip, engine, "SKIP", reason=problem)
        try:
            runs, frames = self._runs(engine, self.work(candidate)), engine.frames(clip)
            if (engine.maker, engine.backend) == ("acuity", _BASELINE):
                self._baselines[frames] = runs[0].scores
                return measured(clip, engine, runs, None)
            return measured(clip, engine, runs, self._baseline(frames))
        except AcuityError as error:
            return _row(clip, engine, "FAIL", reason=str(error))

    def _runs(self, engine: Engine, work: float) -> list[Run]:
        frames, label = engine.frames(self._clip), f"{self._clip.name} on {engine.maker} {engine.backend}"
        with (
            self._meter.step(label, work, self._rounds, frames) as report_frames,
            engine.open(self._clip) as score,
        ):
            found: list[Run] = []
            for number in range(self._rounds):
                report_frames(number, 0)
                found.append(score(partial(report_frames, number)))
            return found

    def _baseline(self, frames: int) -> list[float]:
        """The CPU's scores of a clip of this length: the last frame's score depends on where a clip ends."""
        if frames not in self._baselines:
            with OwnEngine(_BASELINE).open(self._clip, frames) as score:
                self._baselines[frames] = score(lambda _: None).scores
        return self._baselines[frames]


def run(payload: dict[str, Any], report: Callable[[Progress], None]) -> dict[str, Any]:
    """Measure all `fixtures`; `external` may have the path of a vmaf binary and its backends' options.

    Where `output` names a folder, every row that was measured is written there as a file, too.
    """
    own = [(OwnEngine(b.name), None if b.usable else b.init_status) for b in list_backends()]
    candidates = [*own, *_external(payload.get("external"))]
    meter = BenchmarkProgress(report)
    for given in payload["fixtures"]:
        meter.total += sum(map(_Fixture(given, meter).work, candidates))
    rows: list[BenchmarkRow] = []
    for given in payload["fixtures"]:  # one at a time, to save memory
        rows += map(_Fixture(given, meter).row, candidates)
    engine = describe_engine()
    problems = [
        f"{row.fixture} {row.engine} {row.backend}: {row.verdict}: {row.reason}" for row in rows if row.reason
    ]
    problems += _write_rows(payload.get("output"), rows, engine)
    return {
        "exit_code": 1 if any(row.verdict == "FAIL" for row in rows) else 0,
        "stdout": to_text(rows, engine),
        "stderr": "".join(f"{problem}\n" for problem in problems),
        "rows": [asdict(row) for row in rows],
        "machine": engine,
    }


def _write_rows(folder: str | None, rows: Sequence[BenchmarkRow], engine: dict[str, Any]) -> list[str]:
    """Write a JSON file for each row; returns the problems, so that a failed write loses no figures."""
    if folder is None:
        return []
    if not os.path.isdir(folder):
        return [f"VMAF_BENCH_OUTDIR is '{folder}', which is no folder: create it; no files were written"]
    try:
        for row in rows:
            if row.verdict != "SKIP":
                name = f"{row.fixture}_{row.engine}_{row.backend}.json"
                document = plain({**asdict(row), "machine": engine})
                write_document(os.path.join(folder, name), f"{json.dumps(document, indent=2)}\n")
    except OutputError as error:
        return [str(error)]
    return []


def _external(external: dict[str, Any] | None) -> list[_Candidate]:
    if external is None:
        return []
    return [
        (ExternalEngine(external["path"], b["name"], tuple(b["options"])), b["problem"])
        for b in external["backends"]
    ]


# Large enough for every extractor on every backend: some need 36 samples and fail quietly with fewer.
_SIZE: Final = 64


def probe(payload: dict[str, Any], report: Callable[[Progress], None]) -> dict[str, Any]:
    """Score one mid-grey pair, with another vmaf if the payload has `binary` and `options`."""
    engine: Engine = OwnEngine(payload["backend"])
    if payload.get("binary") is not None:
        engine = ExternalEngine(payload["binary"], payload["backend"], tuple(payload["options"]))
    with engine.open(GreyClip(_SIZE, _SIZE, 1)) as score:
        done = score(lambda frames: report(Progress(frames, 1, f"probing {engine.backend}")))
    found = {"latency_ms": round(done.seconds * 1000, 3), "score": done.scores[0] if done.scores else None}
    cards = () if isinstance(engine, ExternalEngine) else describe_backend(engine.backend, probe=True).cards
    return {**found, "cards": list(cards)} if cards else found


def list_cards(payload: dict[str, Any], report: Callable[[Progress], None]) -> dict[str, Any]:
    """Describe all cards of a backend; one that doesn't work has its `problem`. `error`: there are none."""
    report(Progress(0, None, "looking for cards"))
    found = describe_backend(payload["backend"], probe=True)
    cards = [{"backend": found.name, **card} for card in found.cards]
    return {"cards": cards, "error": None if cards else found.init_status}
