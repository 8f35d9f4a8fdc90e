"""Turns of several processes: slots, the fair line, its limits, and processes that die."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from acuity.errors import JobError, QueueFull
from acuity.jobs.shared_turns import SharedTurns

_HOLDER: Final = """
import sys, pathlib
from acuity.jobs.shared_turns import SharedTurns
turns = SharedTurns(pathlib.Path(sys.argv[1]), 1, 8, None)
turns.open()
print(turns.enter("x", "runs"), turns.enter("x", "waits"), flush=True)
sys.stdin.read()
"""


def _turns(folder: Path, slots: int = 1, limit: int = 8, each: int | None = None) -> SharedTurns[str]:
    turns: SharedTurns[str] = SharedTurns(folder, slots, limit, each)
    turns.open()
    return turns


def test_slots_count_for_all(tmp_path: Path) -> None:
    one, two = _turns(tmp_path, slots=2), _turns(tmp_path, slots=2)
    assert one.enter("a", "a1")
    assert two.enter("b", "b1")
    assert not one.enter("a", "a2")
    assert not two.enter("b", "b2")
    assert (one.next(), two.next()) == (None, None)
    one.leave("a1")
    assert two.next() is None  # a2 came first
    assert one.next() == "a2"
    two.leave("b1")
    assert two.next() == "b2"
    assert len(one) == len(two) == 0


def test_clients_are_served_in_turn_over_all_processes(tmp_path: Path) -> None:
    one, two = _turns(tmp_path), _turns(tmp_path)
    assert one.enter("a", "a0")
    for number in range(1, 4):
        assert not one.enter("a", f"a{number}")
    assert not two.enter("b", "b1")
    assert not two.enter("a", "a4")  # the client is the same in every process
    assert list(one.positions()) == [("a1", 2), ("a2", 3), ("a3", 4)]
    assert list(two.positions()) == [("b1", 1), ("a4", 5)]
    order = []
    running, of = "a0", one
    for _ in range(5):
        of.leave(running)
        of = one if (found := one.next()) is not None else two
        running = found or two.next() or "nobody"
        order.append(running)
    assert order == ["b1", "a1", "a2", "a3", "a4"]


def test_running_jobs_and_the_place_for_short_work_count_for_all(tmp_path: Path) -> None:
    one, two = _turns(tmp_path, slots=3), _turns(tmp_path, slots=3)
    assert one.enter("a", "a0")
    assert two.enter("a", "a1")
    assert not one.enter("a", "a2")  # the last place is for others
    assert two.enter("a", "look", short=True)
    assert not one.enter("a", "look2", short=True)
    assert one.enter("b", "b0")
    two.leave("look")
    assert one.next() == "look2"
    assert one.is_short("look2")
    one.leave("a0")
    assert (one.next(), one.next()) == ("a2", None)


def test_a_newcomer_does_not_overtake_one_that_waits(tmp_path: Path) -> None:
    one, two = _turns(tmp_path), _turns(tmp_path)
    assert one.enter("a", "a0")
    assert not two.enter("b", "b1")
    one.leave("a0")
    assert not one.enter("a", "a1")
    assert one.next() is None
    assert two.next() == "b1"


def test_limits_count_for_all(tmp_path: Path) -> None:
    one, two = _turns(tmp_path, limit=3, each=2), _turns(tmp_path, limit=3, each=2)
    assert one.enter("a", "a0")
    assert not one.enter("a", "a1")
    assert not two.enter("a", "a2")
    with pytest.raises(QueueFull, match=r"your share of the queue is full \(2 waiting\)"):
        two.enter("a", "a3")
    assert not two.enter("b", "b1")
    with pytest.raises(QueueFull, match=r"the queue is full \(3 waiting\)"):
        one.enter("c", "c1")
    assert two.remove("b1")
    assert not two.remove("b1")
    assert not one.enter("c", "c1")


def test_what_a_killed_process_had_is_free(tmp_path: Path) -> None:
    program = [sys.executable, "-c", _HOLDER, str(tmp_path)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True False\n"
        turns = _turns(tmp_path)
        assert not turns.enter("y", "y1")
        assert turns.next() is None
        other.kill()
        other.wait()
        assert list(turns.positions()) == [("y1", 1)]
        assert turns.next() == "y1"
    assert list((tmp_path / "line").iterdir()) == []


def test_closing_leaves_nothing(tmp_path: Path) -> None:
    one, two = _turns(tmp_path), _turns(tmp_path)
    assert one.enter("a", "a0")
    assert not one.enter("a", "a1")
    one.close()
    one.close()
    assert two.enter("b", "b1")
    with pytest.raises(JobError, match="the server is stopping"):
        one.enter("a", "a2")
    two.close()
    assert list((tmp_path / "line").iterdir()) == list((tmp_path / "processes").iterdir()) == []


def test_strange_files_and_missing_tickets_disturb_nobody(tmp_path: Path) -> None:
    turns = _turns(tmp_path)
    assert turns.enter("a", "a0")
    assert not turns.enter("a", "a1")
    for ticket in (tmp_path / "line").iterdir():
        ticket.unlink()
    (tmp_path / "line" / "README").write_text("")
    turns.leave("a0")
    assert turns.next() == "a1"


def test_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JobError, match=r"the folder '.*/file', by which the server's processes take turns"):
        _turns(tmp_path / "file")
