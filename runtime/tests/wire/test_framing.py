"""Frames found in bytes, however those are cut, and bytes that are none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.wire.framing import FRAMINGS, Auto, ContentLength, Frame, Framing, FramingFault, LineFraming

LIMIT = 64


def fed(framing: Framing, data: bytes, cuts: list[int] | None = None) -> list[Frame]:
    """What comes out when the bytes arrive in these pieces, and then end."""
    found: list[Frame] = []
    start = 0
    for cut in [*sorted(cuts or []), len(data)]:
        found += framing.feed(data[start:cut])
        start = max(start, cut)
    return found + framing.end()


def head(payload: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n" % len(payload) + payload


TEXTS = st.lists(st.binary(min_size=1, max_size=LIMIT).map(lambda b: b"{" + b.hex().encode()[:60] + b"}"))
CUTS = st.lists(st.integers(0, 400), max_size=12)


@given(TEXTS, CUTS)
def test_lines_however_they_are_cut(texts: list[bytes], cuts: list[int]) -> None:
    assert fed(LineFraming(LIMIT), b"".join(text + b"\n" for text in texts), cuts) == texts


@given(TEXTS, CUTS)
def test_lengths_however_they_are_cut(texts: list[bytes], cuts: list[int]) -> None:
    assert fed(ContentLength(LIMIT), b"".join(map(head, texts)), cuts) == texts


@given(TEXTS, CUTS, st.sampled_from(["lines", "content-length"]))
def test_auto_does_as_the_client_does(texts: list[bytes], cuts: list[int], spoken: str) -> None:
    wrap = FRAMINGS[spoken](LIMIT).wrap
    auto = Auto(LIMIT)
    assert fed(auto, b"\n" + b"".join(map(wrap, texts)), cuts) == texts
    if texts:
        assert auto.wrap(b"{}") == wrap(b"{}")


@given(st.binary(max_size=500), CUTS, st.sampled_from(list(FRAMINGS)))
def test_no_bytes_break_it(data: bytes, cuts: list[int], name: str) -> None:
    for frame in fed(FRAMINGS[name](LIMIT), data, cuts):
        assert isinstance(frame, FramingFault) or len(frame) <= LIMIT


@pytest.mark.parametrize("cuts", [[], [10], list(range(0, 400, 7))])
def test_a_long_line_is_skipped_once_and_the_next_one_read(cuts: list[int]) -> None:
    frames = fed(LineFraming(LIMIT), b"x" * 300 + b"\n{}\n", cuts)
    assert frames == [FramingFault(f"the message is longer than {LIMIT} bytes"), b"{}"]


def test_long_lines_take_no_memory() -> None:
    lines = LineFraming(LIMIT)
    for _ in range(1000):
        lines.feed(b"x" * 64)
    assert len(lines._buffer) <= 2 * LIMIT


@pytest.mark.parametrize("cuts", [[], [25], list(range(0, 400, 7))])
def test_a_long_message_with_a_length_is_skipped(cuts: list[int]) -> None:
    frames = fed(ContentLength(LIMIT), head(b"x" * 300) + head(b"{}"), cuts)
    assert frames == [FramingFault(f"the message is longer than {LIMIT} bytes"), b"{}"]


@pytest.mark.parametrize(
    "text",
    [b"Content-Type: a\r\nCONTENT-LENGTH:2\r\n\r\n{}", b"content-length : 2\n\n{}", b"\r\n" + head(b"{}")],
)
def test_heads_as_others_write_them(text: bytes) -> None:
    assert fed(ContentLength(LIMIT), text) == [b"{}"]


@pytest.mark.parametrize(
    "text",
    [
        b"{}\n\n",
        b"Content-Length: -2\r\n\r\n{}",
        b"Content-Length: two\r\n\r\n{}",
        b"Content-Length: 99999999999999999999\r\n\r\n",
        b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"Content-Type: a\r\n\r\n{}",
        b"x" * 9000,
    ],
)
def test_without_a_length_nothing_more_can_be_read(text: bytes) -> None:
    framing = ContentLength(LIMIT)
    (fault,) = framing.feed(text)
    assert isinstance(fault, FramingFault)
    assert fault.lost
    assert framing.feed(head(b"{}")) == []
    assert framing.end() == []


def test_a_length_that_lies_loses_the_way() -> None:
    frames = fed(ContentLength(LIMIT), b'Content-Length: 3\r\n\r\n{"a":1}\r\n\r\n' + head(b"{}"))
    assert frames[0] == b'{"a'
    assert isinstance(frames[1], FramingFault)
    assert frames[1].lost
    assert len(frames) == 2


@pytest.mark.parametrize("text", [b"Content-Length: 5\r\n\r\n{}", b"Content-Len"])
def test_the_end_in_the_middle_of_a_message_is_noticed(text: bytes) -> None:
    (fault,) = fed(ContentLength(LIMIT), text)
    assert fault == FramingFault("the stream ended in the middle of a message", lost=True)
