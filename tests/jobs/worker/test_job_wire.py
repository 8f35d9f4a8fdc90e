"""Frames: whole whatever the pieces, and never longer than they may be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.jobs.worker.wire import LIMITS, Kind, MessageDecoder, WireError, encode, wrap

_VALUES = st.dictionaries(
    st.text(), st.none() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False)
)


@given(st.lists(st.tuples(st.sampled_from([Kind.JOB, Kind.RESULT]), _VALUES)), st.data())
def test_messages_come_back_whatever_the_pieces(
    values: list[tuple[Kind, dict[str, object]]], data: st.DataObject
) -> None:
    stream = b"".join(encode(kind, value) for kind, value in values)
    decoder, found = MessageDecoder(), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += decoder.feed(stream[:size])
        stream = stream[size:]
    assert [(message.kind, message.value()) for message in found] == values
    assert not decoder.partial


@given(st.binary(max_size=200))
def test_garbage_is_refused_or_is_messages(data: bytes) -> None:
    decoder = MessageDecoder()
    try:
        for message in decoder.feed(data):
            message.value()
    except WireError:
        return  # and nothing else is ever raised
    assert len(data) < 5 or data[0] in set(Kind)


@pytest.mark.parametrize("kind", Kind)
def test_a_message_beyond_its_limit_is_refused_by_its_header_alone(kind: Kind) -> None:
    header = bytes([kind]) + (LIMITS[kind] + 1).to_bytes(4, "big")
    with pytest.raises(WireError, match=f"{kind.name} message of {LIMITS[kind] + 1} bytes, more than"):
        MessageDecoder().feed(header)


def test_a_message_at_its_limit_passes() -> None:
    body = b'{"a":"' + b"x" * (LIMITS[Kind.PROGRESS] - 8) + b'"}'
    (message,) = MessageDecoder().feed(wrap(Kind.PROGRESS, body))
    assert len(message.value()["a"]) == LIMITS[Kind.PROGRESS] - 8


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b"[" * 60_000])
def test_a_body_that_is_no_object_is_refused(body: bytes) -> None:
    (message,) = MessageDecoder().feed(wrap(Kind.PROGRESS, body))
    with pytest.raises(WireError, match="a PROGRESS message that"):
        message.value()
