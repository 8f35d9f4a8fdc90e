"""Progress: in order, ten a second at most, the last one always; and no listener holds up the work."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from itertools import chain, repeat
from typing import Any

import pytest

from acuity.jobs.progress import Forwarder, Pace
from acuity.jobs.service import Jobs
from acuity.jobs.worker.main import INTERVAL, Reporter
from acuity.jobs.worker.wire import MessageDecoder
from job_helpers import Heard, spec
from longwire.work import Progress


async def test_progress_comes_in_order_and_the_last_always(jobs: Jobs) -> None:
    heard = Heard()
    began = time.monotonic()
    await jobs.run(spec("count", to=50_000), client="a", progress=heard)
    seconds = time.monotonic() - began
    done = [progress.done for progress in heard.all]
    assert done == sorted(set(done))
    assert heard.all[-1] == Progress(50_000.0, 50_000.0, "at 50000", {"fps": 25.5})
    assert len(done) <= seconds / INTERVAL + 2
    (job,) = (await jobs.list())[0]
    assert job.progress == heard.all[-1]  # also remembered


async def test_a_slow_listener_holds_up_nothing(jobs: Jobs) -> None:
    called = 0

    async def stuck(_: Progress) -> None:
        nonlocal called
        called += 1
        await asyncio.Event().wait()

    outcome = await jobs.run(spec("count", to=1000), client="a", progress=stuck)
    assert outcome.document == {"counted": 1000}
    assert called == 1


async def test_a_listener_that_fails_is_not_asked_again_and_the_work_goes_on(jobs: Jobs) -> None:
    called = 0

    async def broken(_: Progress) -> None:
        nonlocal called
        called += 1
        raise ConnectionResetError("the client is gone")

    outcome = await jobs.run(spec("count", to=50_000), client="a", progress=broken)
    assert outcome.document == {"counted": 50_000}
    assert called == 1


async def test_several_may_listen_to_a_submitted_job(jobs: Jobs) -> None:
    job = await jobs.submit(spec("hold"), client="a")
    first, second = Heard(), Heard()
    waiting = asyncio.gather(jobs.wait(job.id, progress=first), jobs.wait(job.id, progress=second))
    await first.until("holding")
    await second.until("holding")
    late = Heard()
    waiting_late = asyncio.ensure_future(jobs.wait(job.id, progress=late))
    await late.until("holding")  # whoever comes later hears how far it is
    await jobs.cancel(job.id)
    assert {job.status for job in [*await waiting, await waiting_late]} == {"cancelled"}


async def test_the_newest_counts_when_the_listener_is_busy() -> None:
    told: list[float] = []
    release = asyncio.Event()
    entered = asyncio.Event()

    async def slow(progress: Progress) -> None:
        told.append(progress.done)
        entered.set()
        await release.wait()

    forwarder = Forwarder(slow)
    forwarder.send(Progress(0.0, None, ""))
    await entered.wait()
    for number in range(1, 1000):
        forwarder.send(Progress(float(number), None, ""))
    release.set()
    await forwarder.finish()
    assert told == [0.0, 999.0]


class _Sent:
    """What a reporter has sent, as it can be waited for."""

    def __init__(self) -> None:
        self._decoder = MessageDecoder()
        self.values: list[dict[str, Any]] = []
        self._more = threading.Condition()

    def __call__(self, frame: bytes) -> None:
        with self._more:
            self.values += [frame.value() for frame in self._decoder.feed(frame)]
            self._more.notify_all()

    def until(self, count: int) -> None:
        with self._more:
            assert self._more.wait_for(lambda: len(self.values) >= count, 10)


def test_a_task_that_falls_silent_is_heard_out() -> None:
    sent = _Sent()
    with Reporter(sent) as report:
        report(Progress(1.0, None, "first"))
        sent.until(1)
        report(Progress(2.0, None, "dropped"))
        report(Progress(3.0, None, "last before silence"))
        sent.until(2)  # without another report, and before the end
        assert [value["message"] for value in sent.values] == ["first", "last before silence"]


@pytest.mark.parametrize(
    ("progress", "expected"),
    [
        (Progress(1.0, None, "x" * 1000), {"message": "x" * 500}),
        (Progress(1.0, None, "a\nb"), {"message": "a\\nb"}),
        (Progress(1.0, 2.0, "", {"big": "x" * 100_000}), {"done": 1.0, "total": 2.0, "details": {}}),
        (Progress(1.0, None, "", {"mean": float("inf")}), {"details": {"mean": None}}),
    ],
)
def test_no_report_is_too_much_for_a_frame(progress: Progress, expected: dict[str, Any]) -> None:
    sent = _Sent()
    with Reporter(sent) as report:
        report(progress)
    (value,) = sent.values
    assert {key: value[key] for key in expected} == expected
    json.dumps(value, allow_nan=False)


def begun(seconds: float) -> Pace:
    """A pace that began so long ago."""
    times = chain([100.0], repeat(100.0 + seconds))
    return Pace(lambda: next(times))


def test_everything_known() -> None:
    told = begun(1.425).progress(120, 480, 93.4123)
    assert (told.done, told.total) == (120, 480)
    assert told.message == "120 of 480 frames, 84.2 fps, 4 s left, mean 93.41"
    assert told.details == {"fps": 84.2, "eta_seconds": 4.3, "mean": 93.4123}


def test_no_total_or_a_wrong_one() -> None:
    pace = begun(10)
    assert pace.progress(50, None, 90.0).message == "50 frames, 5.0 fps, mean 90.00"
    told = pace.progress(50, 40, 90.0)  # the container claimed fewer
    assert told.total is None
    assert told.message == "50 frames, 5.0 fps, mean 90.00"


@pytest.mark.parametrize(
    ("seconds", "done", "total", "expected"),
    [(1, 10, 20, "1 s left"), (1, 1, 100, "1 min 39 s left"), (100, 1, 101, "2 h 46 min left")],
)
def test_times_left(seconds: float, done: int, total: int, expected: str) -> None:
    assert begun(seconds).progress(done, total, None).message.endswith(f", {expected}")
