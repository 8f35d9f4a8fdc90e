"""The example workers: every case of the contract, and their end with their parent."""

from __future__ import annotations

import asyncio
import subprocess

import pytest

from example_workers import PATIENCE, SERVED, listening, started
from longwire.contract.check.run import CASES, check_worker


@pytest.fixture(params=SERVED)
def command(request: pytest.FixtureRequest) -> list[str]:
    return SERVED[request.param]()


async def test_every_case_of_the_contract(command: list[str]) -> None:
    with started(command) as (_, path):
        await listening(path)
        reports = await check_worker(path)
    assert {report.name: report.reason for report in reports if report.outcome != "passed"} == {}
    assert len(reports) == len(CASES)


def test_the_worker_ends_with_its_parent(command: list[str]) -> None:
    parent = subprocess.Popen(["sleep", "60"])
    try:
        with started(command, LONGWIRE_PARENT_PID=str(parent.pid)) as (worker, path):
            asyncio.run(listening(path))
            parent.kill()
            parent.wait()
            assert worker.wait(PATIENCE) == 0
    finally:
        parent.kill()
