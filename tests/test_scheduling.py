"""Tests run with the usual scheduling, also behind one that has left real-time threads."""

from __future__ import annotations

import os

import pytest


@pytest.fixture
def real_time() -> None:
    """Make this thread a real-time one, as SVT-AV1 does where it may."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        pytest.skip("only root makes real-time threads")


@pytest.mark.usefixtures("real_time")
def test_a_fixture_leaves_no_real_time_thread() -> None:
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


def test_no_thread_is_a_real_time_one() -> None:
    threads = [int(name) for name in os.listdir("/proc/self/task")]
    assert {os.sched_getscheduler(thread) for thread in threads} <= {os.SCHED_OTHER, os.SCHED_BATCH}
