"""The task behind run_benchmark: every engine on every fixture size, timed, and compared with the CPU."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from acuity.devices import describe_engine, list_backends
from acuity.errors import AcuityError, OutputError
from acuity.jobs import bench_rows
from acuity.jobs.bench_meter import Meter
from acuity.jobs.bench_rows import Row
from acuity.jobs.bench_table import to_text
from acuity.jobs.engines import Engine, ExternalEngine, OwnEngine, Run
from acuity.jobs.fixtures import Clip
from acuity.jobs.spec import Progress
from acuity.report.plain import plain
from acuity.report.write import write_document

_BASELINE: Final = "cpu"

# An engine, and why it can't be used if it can't.
_Candidate: TypeAlias = tuple[Engine, str | None]


@dataclass(frozen=True, slots=True)
class _Fixture:
    clip: Clip
    rounds: int

    @classmethod
    def from_dict(cls, given: dict[str, int]) -> _Fixture:
        return cls(Clip(given["width"], given["height"], given["frames"]), given["rounds"])

    def work(self, candidate: _Candidate) -> float:
        """Megapixels that it will score."""
        engine, problem = candidate
        if problem is not None:
            return 0.0
        return self.rounds * engine.frames(self.clip) * self.clip.width * self.clip.height / 1e6


def run(payload: dict[str, Any], report: Callable[[Progress], None]) -> dict[str, Any]:
    """Measure all `fixtures`; `external` may have the path of a vmaf binary and its backends' options.

    Where `output` names a folder, every row that was measured is written there as a file, too.
    """
    candidates = [*_own(), *_external(payload.get("external"))]
    fixtures = payload["fixtures"]
    total = sum(_Fixture.from_dict(f).work(candidate) for f in fixtures for candidate in candidates)
    meter = Meter(report, total)
    rows: list[Row] = []
    for given in fixtures:  # each made when its turn comes, and forgotten after it
        rows += _FixtureBench(_Fixture.from_dict(given), meter).rows(candidates)
    engine = describe_engine()
    problems = [f"{row.label}: {row.verdict}: {row.reason}" for row in rows if row.reason]
    problems += _write_rows(payload.get("output"), rows, engine)
    return {
        "exit_code": 1 if any(row.verdict == "FAIL" for row in rows) else 0,
        "stdout": to_text(rows, engine),
        "stderr": "".join(f"{problem}\n" for problem in problems),
        "rows": [row.to_dict() for row in rows],
        "machine": engine,
    }


def _write_rows(folder: str | None, rows: Sequence[Row], engine: dict[str, Any]) -> list[str]:
    """A JSON file for each row; what went wrong. Figures that were measured are not lost with a file."""
    if folder is None:
        return []
    if not os.path.isdir(folder):
        return [f"VMAF_BENCH_OUTDIR is '{folder}', which is no folder: create it; no files were written"]
    try:
        for row in rows:
            if row.verdict != "SKIP":
                name = f"{row.fixture}_{row.engine}_{row.backend}.json"
                document = plain({**row.to_dict(), "machine": engine})
                write_document(os.path.join(folder, name), f"{json.dumps(document, indent=2)}\n")
    except OutputError as error:
        return [str(error)]
    return []


def _own() -> list[_Candidate]:
    return [(OwnEngine(b.name), None if b.usable else b.init_status) for b in list_backends()]


def _external(external: dict[str, Any] | None) -> list[_Candidate]:
    if external is None:
        return []
    return [
        (ExternalEngine(external["path"], b["name"], tuple(b["options"])), b["problem"])
        for b in external["backends"]
    ]


class _FixtureBench:
    """All engines on one fixture."""

    def __init__(self, fixture: _Fixture, meter: Meter) -> None:
        self._fixture = fixture
        self._clip = fixture.clip
        self._meter = meter
        self._baselines: dict[int, list[float]] = {}  # the CPU's scores, by number of frames

    def rows(self, candidates: Sequence[_Candidate]) -> list[Row]:
        return [self._row(candidate) for candidate in candidates]

    def _row(self, candidate: _Candidate) -> Row:
        engine, problem = candidate
        if problem is not None:
            return bench_rows.skipped(self._clip, engine, problem)
        try:
            runs = self._runs(engine, self._fixture.work(candidate))
            if (engine.maker, engine.backend) == ("acuity", _BASELINE):
                self._baselines[engine.frames(self._clip)] = runs[0].scores
                return bench_rows.measured(self._clip, engine, runs, None)
            return bench_rows.measured(self._clip, engine, runs, self._baseline(engine.frames(self._clip)))
        except AcuityError as error:
            return bench_rows.failed(self._clip, engine, str(error))

    def _runs(self, engine: Engine, work: float) -> list[Run]:
        frames, rounds = engine.frames(self._clip), self._fixture.rounds
        label = f"{self._clip.name} on {engine.maker} {engine.backend}"
        with self._meter.step(label, work, rounds, frames) as tell, engine.open(self._clip) as score:
            found: list[Run] = []
            for number in range(rounds):
                tell(number, 0)
                found.append(score(partial(tell, number)))
            return found

    def _baseline(self, frames: int) -> list[float]:
        """The CPU's scores of the first frames: not those of the whole clip, as the last has no next one."""
        if frames not in self._baselines:
            with OwnEngine(_BASELINE).open(self._clip, frames) as score:
                self._baselines[frames] = score(lambda _: None).scores
        return self._baselines[frames]
