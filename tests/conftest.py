"""Fixtures and settings that all tests share."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator

import pytest

import prepared_programs
from acuity.agents.standalone.acuity_product import declare_acuity
from acuity.jobs.tasks import WARM

pytest_plugins = ["prepared_workers", "shared_fixtures"]

prepared_programs.PRELOADED += [
    *("acuity.cli.score", "acuity.cli.serve", "acuity.cli.vmaf", "acuity.agents.embedded.server"),
    *("acuity.agents.standalone.method_worker", "acuity.jobs.worker.main", "acuity.agents.tools.video_probe"),
    *("acuity.api", "acuity.frames.worst", "acuity.tune.encoders.process", *WARM),
]

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # tests that import ONNX Runtime themselves are offline too
# As commands and workers have it: on small arrays, threads of BLAS mostly wait, and that by spinning.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Cards are for the tests that are about them, in processes that a test starts too; make test-cuda shows them.
if "ACUITY_TEST_CUDA" not in os.environ:
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"


def _leave_real_time() -> None:
    """Give all threads of this process the usual scheduling.

    For root, SVT-AV1 makes its threads and its caller real-time ones. A test that encodes in its own process
    would leave all later ones so, and two such threads that wait for a third by spinning wait for ever.
    """
    for thread in map(int, os.listdir("/proc/self/task")):
        with contextlib.suppress(OSError):  # it has ended
            if os.sched_getscheduler(thread) in (os.SCHED_FIFO, os.SCHED_RR):
                os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, None, None]:
    """Fixtures that encode leave no real-time threads to their test."""
    yield
    _leave_real_time()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, None, None]:
    """Nor does a test to the next one."""
    _leave_real_time()
    yield


def pytest_collectstart() -> None:
    """Acuity is the product here, also where the runtime's own tests run in this process."""
    declare_acuity()


@pytest.fixture(autouse=True, scope="module")
def _acuity() -> None:
    """And the one that they serve."""
    declare_acuity()


def instruction_sets() -> list[str]:
    """Those this machine runs."""
    from acuity import _native

    return [name for name, runs in _native.instruction_sets() if runs]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `instruction_set` runs once for each that this machine has."""
    if "instruction_set" in metafunc.fixturenames:
        metafunc.parametrize("instruction_set", instruction_sets())


@pytest.fixture
def without_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without CuPy and without a card, whatever this one has."""
    from acuity.devices.cuda.hardware.cards import Cards

    monkeypatch.setattr("acuity.devices.signs.is_installed", lambda: False)
    monkeypatch.setattr("acuity.devices.signs.has_traces", lambda: False)
    monkeypatch.setattr(
        "acuity.devices.cuda.hardware.cards.CARDS", Cards()
    )  # those of an earlier test are open
