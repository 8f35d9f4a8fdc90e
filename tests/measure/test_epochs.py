"""Epochs and subsampling: the same as a value written down for every single frame."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.errors import InputError
from acuity.measure.epochs import FOREVER, Epochs, check_step, counted, is_counted, last_counted, next_counted

LENGTH = 24
assignments = st.lists(
    st.tuples(st.integers(1, 5), st.integers(0, LENGTH), st.one_of(st.none(), st.integers(0, LENGTH))),
    max_size=8,
)
Assignments = list[tuple[int, int, int | None]]


def both(several: Assignments) -> tuple[Epochs[int], list[int]]:
    epochs, values = Epochs(1), [1] * (LENGTH + 1)
    for value, first, stop in several:
        before = list(epochs.spans())
        changed = epochs.assign(value, first, FOREVER if stop is None else stop)
        assert list(epochs.spans()) == before
        epochs = changed
        for index in range(first, LENGTH + 1 if stop is None else stop):
            values[index] = value
    return epochs, values


@given(assignments)
def test_assigning_equals_writing_every_frame(several: Assignments) -> None:
    epochs, values = both(several)
    assert [epochs.at(index) for index in range(LENGTH + 1)] == values
    spans = list(epochs.spans())
    assert len(spans) == len(epochs)
    assert [first for first, _, _ in spans] == [0, *(stop for _, stop, _ in spans[:-1])]
    assert spans[-1][1] == FOREVER
    assert all(left[2] != right[2] for left, right in itertools.pairwise(spans))


@given(assignments, st.integers(0, LENGTH))
def test_counted_frames_are_those_their_step_divides(several: Assignments, length: int) -> None:
    steps, values = both(several)
    expected = [index for index in range(LENGTH + 1) if index % values[index] == 0]
    found = [index for span in counted(steps, length) for index in span]
    assert found == [index for index in expected if index < length]
    assert [index for index in range(LENGTH + 1) if is_counted(steps, index)] == expected
    for index in range(LENGTH + 1):
        following = [frame for frame in expected if frame >= index]
        assert not following or next_counted(steps, index) == following[0]
        assert last_counted(steps, index) == max(frame for frame in expected if frame <= index)
    assert not is_counted(steps, -1)
    assert last_counted(steps, -1) == -1


def test_a_step_is_at_least_one() -> None:
    with pytest.raises(InputError, match="subsample 0 must be at least 1"):
        check_step(0)
