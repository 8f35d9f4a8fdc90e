"""The ring between two threads: what goes in comes out, once, in order, or is refused."""

from __future__ import annotations

import threading
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity import _native

Envelope = tuple[int, int, bytes]

envelopes = st.tuples(
    st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1), st.binary(max_size=_native.PAYLOAD_BYTES)
)


@given(st.sampled_from([2, 4, 8]), st.lists(st.one_of(st.none(), envelopes), max_size=60))
def test_a_ring_is_a_bounded_queue(depth: int, steps: list[Envelope | None]) -> None:
    ring = _native.Ring(depth)
    expected: deque[Envelope] = deque()
    for step in steps:
        if step is None:
            assert ring.pop() == (expected.popleft() if expected else None)
        else:
            fits = len(expected) < depth
            assert ring.push(*step) is fits
            if fits:
                expected.append(step)
        assert len(ring) == len(expected)
    assert [ring.pop() for _ in expected] == list(expected)
    assert ring.pop() is None


@pytest.mark.parametrize("depth", [-64, -1, 0, 1, 3, 48, 65535, 65537, 131072, 2**62])
@pytest.mark.parametrize("make", [_native.Ring, _native.Bridge])
def test_depths_that_are_refused(make: type[_native.Ring] | type[_native.Bridge], depth: int) -> None:
    with pytest.raises(ValueError, match=f"queue depth {depth} must be a power of two from 2 to 65536"):
        make(depth)


def test_a_payload_has_a_length_limit() -> None:
    ring = _native.Ring(2)
    with pytest.raises(ValueError, match="a payload of 513 bytes is too long: 512 fit"):
        ring.push(1, 1, bytes(513))
    assert len(ring) == 0
    assert ring.push(1, 1, bytes(512))
    assert ring.pop() == (1, 1, bytes(512))


@pytest.mark.usefixtures("quick_switches")
def test_two_threads_keep_the_order() -> None:
    ring = _native.Ring(16)
    count = 3_000
    got: list[Envelope] = []

    def pop_all() -> None:
        while len(got) < count:
            if (envelope := ring.pop()) is not None:
                got.append(envelope)

    thread = threading.Thread(target=pop_all)
    thread.start()
    for number in range(count):
        while not ring.push(number, number % 7, b"%d" % number):
            pass
    thread.join()
    assert got == [(number, number % 7, b"%d" % number) for number in range(count)]
