"""Frames of the worker contract: whole whatever the pieces, and never longer than they may be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.contract.frames import (
    LONGEST,
    MOST_VALUES,
    FrameDecoder,
    FrameError,
    check_values,
    decode,
    frame,
)
from longwire.contract.writing import encode

_VALUES = st.dictionaries(
    st.text(), st.none() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False)
)


@given(st.lists(_VALUES), st.data())
def test_frames_come_back_whatever_the_pieces(values: list[dict[str, object]], data: st.DataObject) -> None:
    stream = b"".join(encode(value) for value in values)
    decoder, found = FrameDecoder(), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += decoder.texts(stream[:size])
        stream = stream[size:]
    assert [decode(text) for text in found] == values
    assert not decoder.partial


@given(st.binary(max_size=200))
def test_garbage_is_refused_or_is_frames(data: bytes) -> None:
    decoder = FrameDecoder()
    try:
        for text in decoder.texts(data):
            decode(text)
    except FrameError:
        return  # and nothing else is ever raised
    assert not data or decoder.partial


@pytest.mark.parametrize("length", [0, LONGEST + 1, 0xFFFFFFFF])
def test_a_wrong_length_is_refused_by_the_head_alone(length: int) -> None:
    with pytest.raises(FrameError, match=f"a frame of {length} bytes: it should have 1 to 16777216"):
        FrameDecoder().texts(length.to_bytes(4, "big"))


def test_a_frame_at_the_limit_passes_and_one_beyond_it_does_not() -> None:
    (text,) = FrameDecoder().texts(frame(b"x" * LONGEST))
    assert len(text) == LONGEST
    with pytest.raises(FrameError, match=f"a frame of {LONGEST + 1} bytes, more than"):
        frame(b"x" * (LONGEST + 1))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"[]", "holds an array"),
        (b'"a"', "holds a string"),
        (b"null", "holds a value"),
        (b"{", "isn't JSON"),
        (b"\xff", "isn't JSON"),
        (b'{"a":NaN}', "isn't JSON"),
        (b"[" * 60_000, "isn't JSON"),
    ],
)
def test_a_text_that_is_no_object_is_refused(text: bytes, problem: str) -> None:
    with pytest.raises(FrameError, match=problem):
        decode(text)


def test_what_json_cant_hold_is_refused() -> None:
    with pytest.raises(FrameError, match="JSON can't hold"):
        encode({"a": object()})


@pytest.mark.parametrize(
    ("text", "many"),
    [
        (b"[" + b"0," * MOST_VALUES + b"0]", True),
        (b"[" + b"{}," * MOST_VALUES + b"{}]", True),
        (b"[" + b'"",' * MOST_VALUES + b'""]', True),
        (b"[" * (2 * MOST_VALUES + 1), True),
        (b"[" + b"0.1," * (MOST_VALUES - 2) + b"0]", False),
        (b'["' + b",[{" * MOST_VALUES + b'"]', False),  # in a string these are letters
        (b'["' + rb"\",\\" * MOST_VALUES + b'"]', False),  # as are quotes with a backslash
        (rb'["\\"' + b",0" * MOST_VALUES + b"]", True),
    ],
)
def test_a_frame_with_too_many_values_is_known_before_it_is_parsed(text: bytes, many: bool) -> None:
    if many:
        with pytest.raises(FrameError, match=f"more than {MOST_VALUES} values"):
            check_values(text)
    else:
        check_values(text)
