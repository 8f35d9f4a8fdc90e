"""The table of tasks: what is in it, and nothing else."""

from __future__ import annotations

import importlib

import pytest

from acuity.jobs.tasks import TASKS, WARM, load_task


@pytest.mark.parametrize("name", TASKS)
def test_every_task_of_the_table_is_there(name: str) -> None:
    assert callable(load_task(name, TASKS))


@pytest.mark.parametrize("name", ["nothing", "os:getpid", "acuity.jobs.tasks.score:run", ""])
def test_a_name_is_never_a_place_to_import_from(name: str) -> None:
    with pytest.raises(KeyError):
        load_task(name, TASKS)


@pytest.mark.parametrize("name", WARM)
def test_what_workers_import_first_is_there(name: str) -> None:
    assert importlib.import_module(name)
