"""Who is next, and how many may wait, in one process and in several that share a folder."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.errors import JobError, QueueFull
from acuity.jobs.shared_turns import SharedTurns
from acuity.jobs.turns import Turns

_PUSHES = st.lists(st.sampled_from("abcd"), max_size=30)


def _filled(clients: list[str], places: int = 1, **limits: int) -> Turns[str]:
    """Turns whose places are taken by somebody else, and in which these clients wait."""
    turns: Turns[str] = Turns(places, 100, **limits)
    for number in range(places):
        assert turns.enter(f"taker{number}", f"taken{number}")
    for number, client in enumerate(clients):
        assert not turns.enter(client, f"{client}{number}")
    return turns


def _drained(turns: Turns[str], running: str = "taken0") -> list[str]:
    """The items in the order in which one place serves them."""
    served = []
    turns.leave(running)
    while (item := turns.next()) is not None:
        assert turns.next() is None
        served.append(item)
        turns.leave(item)
    return served


def _foretold(turns: Turns[str]) -> list[str]:
    return [item for item, _ in sorted(turns.positions(), key=lambda found: found[1])]


def test_a_client_with_many_jobs_holds_up_nobody() -> None:
    turns = _filled(["a", "a", "a", "a", "b", "c", "b"])
    assert _drained(turns) == ["a0", "b4", "c5", "a1", "b6", "a2", "a3"]


def test_whoever_has_fewer_running_is_next() -> None:
    turns: Turns[str] = Turns(3, 100, most=3)
    assert [turns.enter("a", f"a{number}") for number in range(5)] == [True, True, True, False, False]
    assert not turns.enter("b", "b0")
    assert _foretold(turns) == ["b0", "a3", "a4"]
    turns.leave("a0")
    assert turns.next() == "b0"


@given(_PUSHES)
def test_the_order_foretold_is_the_order_served(clients: list[str]) -> None:
    turns = _filled(clients)
    assert _foretold(turns) == _drained(turns)


@given(_PUSHES)
def test_nobody_is_served_twice_more_than_another_that_waits(clients: list[str]) -> None:
    served = [item[0] for item in _drained(_filled(clients))]
    for place in range(len(served)):
        counts = [served[:place].count(client) for client in set(served[place:])]
        assert max(counts) <= min(counts) + 1, served


@given(_PUSHES)
def test_each_client_is_served_in_its_own_order(clients: list[str]) -> None:
    served = _drained(_filled(clients))
    for client in "abcd":
        numbers = [int(item[1:]) for item in served if item[0] == client]
        assert numbers == sorted(numbers)


@given(_PUSHES.filter(bool), st.data())
def test_whoever_leaves_is_not_served(clients: list[str], data: st.DataObject) -> None:
    turns = _filled(clients)
    leaver = data.draw(st.sampled_from(_foretold(turns)))
    others = [item for item in _foretold(turns) if item != leaver]
    assert turns.remove(leaver)
    assert not turns.remove(leaver)
    assert len(turns) == len(others)
    assert sorted(_drained(turns)) == sorted(others)


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


@pytest.fixture(params=["one process", "two"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., tuple[Turns[str], Turns[str]]]:
    """Makes the turns of two processes that share a folder, or twice those of one that is alone."""
    if request.param == "two":
        return lambda *limits: (_turns(tmp_path, *limits), _turns(tmp_path, *limits))
    return lambda *limits: (Turns(*limits),) * 2


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


def test_one_client_takes_neither_the_last_place_nor_that_for_short_work(pair: Any) -> None:
    one, two = pair(3, 8)
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
    assert (one.next(), one.next()) == ("a2", None)  # although it waited longer than the short one


def test_a_newcomer_does_not_overtake_one_that_waits(tmp_path: Path) -> None:
    one, two = _turns(tmp_path), _turns(tmp_path)
    assert one.enter("a", "a0")
    assert not two.enter("b", "b1")
    one.leave("a0")
    assert not one.enter("a", "a1")
    assert one.next() is None
    assert two.next() == "b1"


def test_no_more_than_the_limits_may_wait(pair: Any) -> None:
    one, two = pair(1, 3, 2)
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
