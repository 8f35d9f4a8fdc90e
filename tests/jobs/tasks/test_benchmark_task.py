"""The benchmark's arithmetic: spread, verdicts, progress. Its clips, and the task that probes a backend."""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pytest

from acuity.devices import Backend
from acuity.errors import JobFailed
from acuity.jobs.service import Jobs
from acuity.jobs.tasks import benchmark as benchmark_task
from acuity.jobs.tasks import engines
from acuity.jobs.tasks.benchmark import BenchmarkProgress, Spread
from acuity.jobs.tasks.engines import ClipPair, ExternalEngine, OwnEngine, Run, Runner
from longwire.work import JobSpec, Progress

CLIP = ClipPair(64, 64, 3)
SCORES = [90.0, 80.0, 70.0]


def rounds(*scores: list[float]) -> list[Run]:
    return [Run(seconds, given) for seconds, given in zip((1.0, 4.0, 2.0), scores, strict=False)]


def test_the_spread_of_several_rounds() -> None:
    row = benchmark_task.measured(CLIP, OwnEngine("cpu"), rounds(SCORES, SCORES, SCORES), None)
    assert (row.verdict, row.reason, row.max_diff, row.vmaf) == ("BASE", None, None, 80.0)
    assert row.seconds == Spread(median=2.0, min=1.0, max=4.0)
    assert row.fps == Spread(median=1.5, min=0.75, max=3.0)


@pytest.mark.parametrize(
    ("off", "verdict"),
    [(0.0, "PASS"), (0.0099, "PASS"), (0.0101, "WARN"), (-0.099, "WARN"), (0.101, "FAIL"), (-50.0, "FAIL")],
)
def test_the_largest_difference_decides(off: float, verdict: str) -> None:
    other = [90.0, 80.0 + off, 70.0]
    row = benchmark_task.measured(CLIP, OwnEngine("cuda"), rounds(SCORES, other), SCORES)
    assert row.verdict == verdict
    assert row.max_diff == pytest.approx(abs(off))
    if verdict == "PASS":
        assert row.reason is None
    else:
        assert row.max_diff_frame == 1
        assert row.reason == f"frame 1 scores {80 + off:.6f}, and on the CPU 80.000000"


@pytest.mark.parametrize("scores", [[90.0, math.nan, 70.0], [90.0, 80.0], []])
def test_frames_without_a_score_fail(scores: list[float]) -> None:
    row = benchmark_task.measured(CLIP, OwnEngine("cuda"), rounds(SCORES, scores), SCORES)
    assert row.verdict == "FAIL"
    assert "have no score" in row.reason


def test_progress_and_time_left() -> None:
    told: list[Progress] = []
    clock = iter(range(0, 1000, 5))
    meter = BenchmarkProgress(told.append, total=100.0, now=lambda: float(next(clock)))
    with meter.step("small", 20.0, rounds=2, frames=10) as tell:
        tell(0, 0)
        tell(0, 5)
        tell(1, 10)
    with contextlib.suppress(JobFailed), meter.step("broken", 40.0, rounds=1, frames=4) as tell:
        tell(0, 1)
        raise JobFailed("no device")
    with meter.step("large", 40.0, rounds=1, frames=4) as tell:
        tell(0, 0)  # what the broken one left undone is over all the same
        tell(0, 4)
    assert [word.done for word in told] == [0.0, 5.0, 20.0, 30.0, 60.0, 100.0]
    assert all(word.total == 100.0 for word in told)
    assert told[0].details == {"fps": None, "eta_seconds": None}
    assert told[1].message.startswith("small, round 1 of 2, frame 5 of 10, ")
    assert told[1].details["eta_seconds"] > told[-1].details["eta_seconds"] == 0.0
    assert told[-1].details["fps"] > 0


def test_an_external_binary_gets_files_of_bounded_size() -> None:
    engine = ExternalEngine("vmaf", "cpu", ())
    large = ClipPair(3840, 2160, 60)
    assert engine.frames(ClipPair(576, 324, 48)) == 48
    assert 2 * engine.frames(large) * large.raw_bytes <= 256 << 20
    assert engine.frames(large) >= 5


@dataclass(frozen=True)
class PretendEngine:
    """Scores what it is told to, or fails."""

    backend: str
    off: float = 0.0
    shorter: int | None = None
    maker: Literal["acuity", "external"] = field(default="external")

    def frames(self, clip: ClipPair) -> int:
        return clip.frames if self.shorter is None else self.shorter

    @contextlib.contextmanager
    def open(self, clip: ClipPair) -> Iterator[Runner]:
        if self.off:
            raise JobFailed("no device")
        with OwnEngine("cpu").open(clip, self.frames(clip)) as score:
            yield score


def run(monkeypatch: pytest.MonkeyPatch, *candidates: benchmark_task._Candidate) -> dict[str, Any]:
    monkeypatch.setattr(benchmark_task, "_external", lambda _: list(candidates))
    fixtures = [{"width": 64, "height": 64, "frames": 4, "rounds": 2}]
    return benchmark_task.run({"fixtures": fixtures, "external": None}, lambda _: None)


def test_a_shorter_clip_is_compared_with_the_cpu_on_as_many_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(monkeypatch, (PretendEngine("cpu", shorter=2), None))
    row = found["rows"][-1]
    assert (row["verdict"], row["frames"], row["max_diff"]) == ("PASS", 2, 0.0)
    assert "PASS, 2 frames" in found["stdout"]


def test_a_broken_engine_costs_only_its_own_row(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(
        monkeypatch,
        (PretendEngine("cuda", off=1.0), None),
        (PretendEngine("sycl"), None),
        (PretendEngine("hip"), "no driver"),
    )
    verdicts = {f"{row['engine']} {row['backend']}": row["verdict"] for row in found["rows"]}
    assert verdicts["acuity cpu"] == "BASE"
    others = {"external cuda": "FAIL", "external sycl": "PASS", "external hip": "SKIP"}
    assert verdicts | others == verdicts
    assert found["exit_code"] == 1
    assert "64x64 external hip: SKIP: no driver" in found["stderr"]


def test_a_backend_that_does_not_start_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [Backend("cpu", True, True, "ok"), Backend("cuda", True, False, "no driver")]
    monkeypatch.setattr(benchmark_task, "list_backends", lambda: listed)
    found = run(monkeypatch)
    assert [(row["backend"], row["verdict"], row["reason"]) for row in found["rows"]] == [
        ("cpu", "BASE", None),
        ("cuda", "SKIP", "no driver"),
    ]


def test_a_report_without_scores_says_so() -> None:
    with pytest.raises(JobFailed, match="no 'vmaf'"):
        engines._scores_of({"frames": [{"metrics": {}}]})
    assert math.isnan(engines._scores_of({"frames": [{"metrics": {"vmaf": None}}]})[0])


def test_a_clip_is_the_same_every_time_and_moves() -> None:
    for index in (0, 7, 100_000):
        for once, again in zip(ClipPair(70, 52, 9).pair(index), ClipPair(70, 52, 9).pair(index), strict=True):
            assert np.array_equal(once.luma, again.luma)
            assert once.luma.shape == (52, 70)
    pairs = list(ClipPair(70, 52, 9).pairs())
    assert len(pairs) == 9
    assert not np.array_equal(pairs[3][0].luma, pairs[4][0].luma)
    assert not np.array_equal(pairs[3][0].luma, pairs[3][1].luma)


@pytest.mark.parametrize(("width", "height"), [(64, 48), (65, 49)])
def test_as_files_for_other_programs(width: int, height: int) -> None:
    clip, reference, distorted = ClipPair(width, height, 5), io.BytesIO(), io.BytesIO()
    clip.write(reference, distorted, 3)
    chroma = ((width + 1) // 2) * ((height + 1) // 2)
    assert clip.raw_bytes == width * height + 2 * chroma
    assert len(reference.getvalue()) == len(distorted.getvalue()) == 3 * clip.raw_bytes
    second = np.frombuffer(distorted.getvalue(), np.uint8)[clip.raw_bytes : 2 * clip.raw_bytes]
    assert np.array_equal(second[: width * height].reshape(height, width), clip.pair(1)[1].luma)
    assert set(second[width * height :]) == {128}


async def test_in_a_worker(jobs: Jobs) -> None:
    good = JobSpec("probe", {"backend": "cpu"}, "probe_backend", "probe of cpu")
    outcome = await jobs.run(good, client="test")
    assert outcome.document["score"] == pytest.approx(97.428, abs=0.001)
    bad = JobSpec("probe", {"backend": "cuda"}, "probe_backend", "probe of cuda")
    with pytest.raises(JobFailed, match="the backend 'cuda' can't start"):
        await jobs.run(bad, client="test")
