"""The threads that several measurements share: bounded, and the trouble of one stays its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from acuity.errors import ClosedError, InputError
from acuity.measure import Measurement
from acuity.measure.crew import Crew, CrewScheduler
from acuity.measure.scheduler import most_pending
from acuity.measure.worker import Lanes
from acuity.video.picture import ColourTags
from formula_pictures import pair as coloured_pair
from moving_pictures import equal, measure, measuring, pair

Job = Any  # a crew passes jobs on as they are


class Work:
    """Jobs of one measurement, which wait until they are let through."""

    def __init__(self, *, waits: bool = False, fails_at: int | None = None) -> None:
        self.done: list[int] = []
        self.open = threading.Event()
        self.entered = threading.Semaphore(0)
        self._fails_at = fails_at
        if not waits:
            self.open.set()

    def make_worker(self, _: Lanes) -> Callable[[Job], None]:
        def work(job: int) -> None:
            self.entered.release()
            assert self.open.wait(20)
            if job == self._fails_at:
                raise InputError(f"job {job} fails")
            self.done.append(job)

        return work


def _in_thread(work: Callable[[], object]) -> tuple[threading.Thread, list[BaseException]]:
    """A thread that does it, and the error that it ends with."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, errors


def _all(member: CrewScheduler, jobs: int) -> None:
    for job in range(jobs):
        member.submit(job)  # type: ignore[arg-type]
    member.drain()


def test_a_measurement_has_no_more_than_its_share_under_way() -> None:
    with Crew(2) as crew:
        slow, quick = Work(waits=True), Work()
        member, other = crew.join(slow.make_worker), crew.join(quick.make_worker)
        share = crew.share
        assert 2 * share >= most_pending(2) > 2 * (share - 1)
        submitted = threading.Semaphore(0)

        def submit() -> None:
            for job in range(share + 1):
                member.submit(job)  # type: ignore[arg-type]
                submitted.release()

        thread, errors = _in_thread(submit)
        for _ in range(share):
            assert submitted.acquire(timeout=20)
        assert slow.entered.acquire(timeout=20)
        assert not submitted.acquire(timeout=0.05)  # one more has to wait
        slow.open.set()
        thread.join(20)
        member.drain()
        assert not errors
        _all(other, 5)
        assert len(slow.done) == share + 1


def test_an_error_reaches_the_measurement_that_it_is_of_and_no_other() -> None:
    with Crew(2) as crew:
        bad, good = Work(fails_at=3), Work()
        one, other = crew.join(bad.make_worker), crew.join(good.make_worker)
        failing, errors = _in_thread(lambda: _all(one, 20))
        _all(other, 40)
        failing.join(20)
        assert [str(error) for error in errors] == ["job 3 fails"]
        with pytest.raises(InputError, match="job 3 fails"):
            one.drain()
        assert sorted(good.done) == list(range(40))
        assert 3 not in bad.done


def test_a_measurement_that_ends_early_does_not_stop_the_others() -> None:
    with Crew(2) as crew:
        gone, stays = Work(waits=True), Work()
        one, other = crew.join(gone.make_worker), crew.join(stays.make_worker)
        one.submit(0)  # type: ignore[arg-type]
        assert gone.entered.acquire(timeout=20)
        closing, _ = _in_thread(one.close)
        _all(other, 20)
        assert closing.is_alive()  # it waits for the job that runs
        gone.open.set()
        closing.join(20)
        with pytest.raises(ClosedError):
            one.submit(1)  # type: ignore[arg-type]
        one.close()
        _all(other, 20)
        assert crew.share == most_pending(2)


def test_closing_the_crew_joins_its_threads_and_wakes_who_waits() -> None:
    before = set(threading.enumerate())
    crew = Crew(1)
    work = Work(waits=True)
    member = crew.join(work.make_worker)
    member.submit(0)  # type: ignore[arg-type]
    member.submit(1)  # type: ignore[arg-type]
    draining, errors = _in_thread(member.drain)
    assert work.entered.acquire(timeout=20)
    closing, _ = _in_thread(crew.close)
    draining.join(20)
    assert [type(error) for error in errors] == [ClosedError]
    work.open.set()
    closing.join(20)
    assert set(threading.enumerate()) <= before
    with pytest.raises(ClosedError):
        crew.join(work.make_worker)
    crew.close()


def test_measurements_of_one_crew_have_their_own_digits() -> None:
    """Also of one that is closed in the middle, and of other features and depths on the same threads."""
    alone = [measure(12, "vmaf_v0.6.1"), measure(12, features=("psnr", "motion"))]
    with Crew(2) as crew, Measurement(crew=crew) as left, Measurement(crew=crew) as right:
        broken = Measurement(crew=crew)
        left.add_model("vmaf_v0.6.1")
        right.add_feature("psnr")
        right.add_feature("motion")
        broken.add_model("vmaf_v0.6.1neg")
        for index in range(12):
            for measurement in (left, right):
                measurement.add(*pair(index))
            if index < 5:
                broken.add(*pair(index, 10))
            elif index == 5:
                with pytest.raises(InputError):
                    broken.add(*pair(index))
                broken.close()
        left.flush()
        right.flush()
        assert equal(left.results(), alone[0])
        assert equal(right.results(), alone[1])
        assert np.isfinite(left.results().columns["vmaf"]).all()


def test_measurements_that_share_threads_keep_their_colours_apart() -> None:
    pictures = coloured_pair(64, 48, "420", 8)
    tags = ColourTags(), ColourTags("bt709", True, "iec61966-2-1")

    def figure(colour: ColourTags, crew: Crew | None) -> float:
        with measuring(features=("ssimulacra2",), crew=crew, threads=None if crew else 1) as measurement:
            measurement.tell_colour(colour)
            measurement.add(*pictures)
            measurement.flush()
            return float(measurement.results().columns["ssimulacra2"][0])

    with Crew(1) as crew:
        shared = [figure(colour, crew) for colour in tags]
    assert shared == [figure(colour, None) for colour in tags]
    assert shared[0] != shared[1]
