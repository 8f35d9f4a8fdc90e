"""Who is next: one of each client in turn, and never more waiting than may."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.errors import QueueFull
from acuity.jobs.queue import FairQueue

_PUSHES = st.lists(st.sampled_from("abcd"), max_size=30)


def _filled(clients: list[str]) -> FairQueue[str]:
    queue: FairQueue[str] = FairQueue(100)
    for number, client in enumerate(clients):
        queue.push(client, f"{client}{number}")
    return queue


def _drained(queue: FairQueue[str]) -> list[str]:
    return [queue.pop() for _ in range(len(queue))]


def test_a_client_with_many_jobs_holds_up_nobody() -> None:
    queue = _filled(["a", "a", "a", "a", "b", "c", "b"])
    assert _drained(queue) == ["a0", "b4", "c5", "a1", "b6", "a2", "a3"]


def test_whoever_was_served_waits_for_the_others() -> None:
    queue = _filled(["a", "a", "b"])
    assert queue.pop() == "a0"
    queue.push("c", "new")
    assert _drained(queue) == ["b2", "a1", "new"]


@given(_PUSHES)
def test_the_order_foretold_is_the_order_served(clients: list[str]) -> None:
    queue = _filled(clients)
    assert list(queue) == _drained(queue)


@given(_PUSHES)
def test_nobody_is_served_twice_while_another_waits(clients: list[str]) -> None:
    served = [item[0] for item in _drained(_filled(clients))]
    for place, client in enumerate(served):
        later = set(served[place:])
        turn = served[place : place + len(later)]
        assert len(set(turn)) == len(turn), (client, served)


@given(_PUSHES)
def test_each_client_is_served_in_its_own_order(clients: list[str]) -> None:
    served = _drained(_filled(clients))
    for client in "abcd":
        numbers = [int(item[1:]) for item in served if item[0] == client]
        assert numbers == sorted(numbers)


@given(_PUSHES.filter(bool), st.data())
def test_whoever_leaves_is_not_served(clients: list[str], data: st.DataObject) -> None:
    queue = _filled(clients)
    leaver = data.draw(st.sampled_from(list(queue)))
    others = [item for item in queue if item != leaver]
    assert queue.remove(leaver[0], leaver)
    assert not queue.remove(leaver[0], leaver)
    assert len(queue) == len(others)
    assert sorted(_drained(queue)) == sorted(others)


def test_more_than_the_limit_may_not_wait() -> None:
    queue: FairQueue[int] = FairQueue(2)
    queue.push("a", 1)
    queue.push("b", 2)
    with pytest.raises(QueueFull, match=r"the queue is full \(2 waiting\)"):
        queue.push("c", 3)
    assert queue.pop() == 1
    queue.push("c", 3)
    assert len(queue) == 2


def test_one_client_may_be_held_to_less() -> None:
    queue: FairQueue[int] = FairQueue(3, each=1)
    queue.push("a", 1)
    with pytest.raises(QueueFull, match=r"your share of the queue is full \(1 waiting\)"):
        queue.push("a", 2)
    queue.push("b", 2)


def test_an_empty_queue_says_so() -> None:
    queue: FairQueue[int] = FairQueue(3)
    with pytest.raises(IndexError):
        queue.pop()
    assert queue.clear() == []
