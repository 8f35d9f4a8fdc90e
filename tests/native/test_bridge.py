"""The bridge between a measuring thread and a server: commands, replies, status, waking, closing."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from acuity import _native
from acuity.errors import ClosedError
from canary import open_descriptors

LONG = 30.0  # seconds; only a failing test takes them


@pytest.fixture
def bridge() -> Iterator[_native.Bridge]:
    made = _native.Bridge(4)
    yield made
    made.close()


def readable(bridge: _native.Bridge, seconds: float = 0.0) -> bool:
    return bool(select.select([bridge.fileno()], [], [], seconds)[0])


def test_a_command_gets_there_and_its_reply_comes_back(bridge: _native.Bridge) -> None:
    assert not bridge.publish(0)
    assert bridge.take() is None
    assert bridge.send(2**64 - 1, 7, b"name")
    assert bridge.waiting == 1
    assert bridge.publish(0)
    assert bridge.take() == (2**64 - 1, 7, b"name")
    assert bridge.waiting == 0
    assert bridge.replies() == []
    bridge.answer(2**64 - 1, 8, b"done")
    assert bridge.replies() == [(2**64 - 1, 8, b"done")]
    assert bridge.outstanding == 0


def test_a_command_is_accepted_only_while_its_reply_has_a_place(bridge: _native.Bridge) -> None:
    assert [bridge.send(n, 0, b"") for n in range(5)] == [True] * 4 + [False]
    for _ in range(4):
        bridge.take()
    assert not bridge.send(4, 0, b"")  # taken, not answered
    for n in range(4):
        bridge.answer(n, 0, b"")
    assert not bridge.send(4, 0, b"")  # answered, not collected
    assert (bridge.refused, bridge.outstanding) == (3, 4)
    assert [ticket for ticket, _, _ in bridge.replies()] == [0, 1, 2, 3]
    assert bridge.send(4, 0, b"")


def test_an_answer_needs_a_command(bridge: _native.Bridge) -> None:
    with pytest.raises(RuntimeError, match="answered already"):
        bridge.answer(1, 0, b"")
    bridge.send(1, 0, b"")
    with pytest.raises(RuntimeError, match="answered already"):
        bridge.answer(1, 0, b"")  # not taken yet
    bridge.take()
    bridge.answer(1, 0, b"")
    with pytest.raises(RuntimeError, match="answered already"):
        bridge.answer(1, 0, b"")
    assert len(bridge.replies()) == 1


def test_status_is_what_was_published_last(bridge: _native.Bridge) -> None:
    assert bridge.status() == (0, 0.0)
    before = time.monotonic()
    bridge.publish(10)
    done, when = bridge.status()
    assert done == 10
    assert before <= when <= time.monotonic()
    with pytest.raises(TypeError):
        bridge.publish("12")  # type: ignore[arg-type]
    assert bridge.status()[0] == 10


# ---- waking the server -----------------------------------------------------------------------


def test_replies_make_the_descriptor_readable_until_they_are_collected(bridge: _native.Bridge) -> None:
    for n in range(3):
        bridge.send(n, 0, b"")
        bridge.take()
    bridge.publish(0)
    assert not readable(bridge)
    for n in range(2):
        bridge.answer(n, 0, b"")
        assert readable(bridge)
    assert len(bridge.replies()) == 2
    assert not readable(bridge)
    bridge.answer(2, 0, b"")
    assert readable(bridge)


# ---- waiting for commands --------------------------------------------------------------------


def in_thread(work: Callable[[], object]) -> Callable[[], object]:
    """Start work; the result waits for it and gives what it returned or raised."""
    outcome: list[object] = []

    def run() -> None:
        try:
            outcome.append(work())
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def finish() -> object:
        thread.join(LONG)
        assert not thread.is_alive()
        return outcome[0]

    return finish


def test_a_wait_ends_with_a_command(bridge: _native.Bridge) -> None:
    finish = in_thread(lambda: bridge.wait(2 * LONG))
    assert bridge.send(1, 0, b"")
    assert finish() is True
    assert bridge.wait(LONG) is True  # it is still there
    bridge.take()
    assert bridge.wait(0) is False
    assert bridge.wait(0.001) is False


def test_an_interruption_ends_one_wait_even_if_it_came_before(bridge: _native.Bridge) -> None:
    bridge.interrupt()
    assert bridge.wait(2 * LONG) is False
    finish = in_thread(lambda: bridge.wait(2 * LONG))
    bridge.interrupt()
    assert finish() is False


def test_a_signal_ends_a_wait(bridge: _native.Bridge) -> None:
    def ring(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ring)
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)  # again, should one come just before the sleep
            bridge.wait(LONG)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# ---- closing ---------------------------------------------------------------------------------

USES: dict[str, Callable[[_native.Bridge], object]] = {
    "send": lambda bridge: bridge.send(1, 0, b""),
    "replies": lambda bridge: bridge.replies(),
    "fileno": lambda bridge: bridge.fileno(),
    "publish": lambda bridge: bridge.publish(0),
    "take": lambda bridge: bridge.take(),
    "answer": lambda bridge: bridge.answer(1, 0, b""),
    "wait": lambda bridge: bridge.wait(0),
    "interrupt": lambda bridge: bridge.interrupt(),
}


@pytest.mark.parametrize("use", USES)
def test_a_closed_bridge_is_refused(bridge: _native.Bridge, use: str) -> None:
    bridge.publish(5)
    bridge.send(1, 0, b"")
    bridge.close()
    bridge.close()
    assert bridge.closed
    with pytest.raises(ClosedError, match="was closed"):
        USES[use](bridge)
    assert bridge.status()[0] == 5
    assert (bridge.depth, bridge.waiting, bridge.outstanding, bridge.refused) == (4, 1, 1, 0)


def test_closing_ends_a_wait(bridge: _native.Bridge) -> None:
    finish = in_thread(lambda: bridge.wait(2 * LONG))
    bridge.close()
    assert isinstance(finish(), ClosedError)


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def test_descriptors_are_closed_once() -> None:
    before = open_descriptors()
    bridge = _native.Bridge(4)
    number = bridge.fileno()
    assert not os.get_inheritable(number)
    bridge.close()
    assert open_descriptors() == before
    reused = os.open(os.devnull, os.O_RDONLY)
    try:
        assert reused <= number
        os.dup2(reused, number)  # what was the bridge's is somebody else's now
        bridge.close()
        del bridge
        assert is_open(number)
    finally:
        for mine in {reused, number}:
            os.close(mine)
    _native.Bridge(4)  # dropped without a close
    assert open_descriptors() == before


def succeeds_in_child(check: Callable[[], bool]) -> bool:
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if check() else 1)
        finally:
            os._exit(2)
    return os.waitpid(child, 0)[1] == 0


def test_a_child_may_not_use_its_parents_bridge(bridge: _native.Bridge) -> None:
    bridge.send(1, 0, b"")
    bridge.publish(5)
    number = bridge.fileno()

    def every_use_is_refused() -> bool:
        for use in USES.values():
            try:
                use(bridge)
            except ClosedError as error:
                if "forked" not in str(error):
                    return False
            else:
                return False
        return bridge.status()[0] == 5 and not bridge.closed

    def closing_gives_up_the_descriptors() -> bool:
        bridge.close()
        return bridge.closed and not is_open(number)

    def a_new_one_works() -> bool:
        mine = _native.Bridge(2)
        return mine.send(1, 0, b"") and mine.take() == (1, 0, b"")

    assert succeeds_in_child(every_use_is_refused)
    assert succeeds_in_child(closing_gives_up_the_descriptors)
    assert succeeds_in_child(a_new_one_works)
    assert not readable(bridge)
    assert bridge.take() == (1, 0, b"")
    bridge.answer(1, 0, b"")
    assert readable(bridge)


def test_a_child_that_forgets_a_bridge_closes_nothing() -> None:
    made = [_native.Bridge(4)]
    number = made[0].fileno()

    def the_number_is_left_alone() -> bool:
        with open(os.devnull) as file:
            os.dup2(file.fileno(), number)
        made.clear()
        return is_open(number)

    assert succeeds_in_child(the_number_is_left_alone)
