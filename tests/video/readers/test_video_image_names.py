"""Patterns of image names: what they write they read, and a folder's names fall into sequences."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.video.readers.image_names import Pattern, is_pattern, natural, sequences

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), max_size=12)
PATTERNS = st.builds(Pattern, TEXT, st.integers(1, 12), TEXT)


@given(pattern=PATTERNS, number=st.integers(0, 10**12))
def test_a_pattern_reads_what_it_writes(pattern: Pattern, number: int) -> None:
    assert Pattern.parse(str(pattern)) == pattern
    assert pattern.number(pattern.name(number)) == number
    assert str(pattern) % number == pattern.name(number)  # as printf does


@given(pattern=PATTERNS, name=TEXT)
def test_a_pattern_reads_nothing_else(pattern: Pattern, name: str) -> None:
    number = pattern.number(name)
    assert number is None or pattern.name(number) == name


@given(text=TEXT)
def test_any_text_is_a_pattern_or_none(text: str) -> None:
    pattern = Pattern.parse(text)
    assert pattern is None or Pattern.parse(str(pattern)) == pattern
    assert pattern is None or is_pattern(f"{text}.png")


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("shot.%04d.png", Pattern("shot.", 4, ".png")),
        ("%d.png", Pattern("", 1, ".png")),
        ("100%%_%d.png", Pattern("100%_", 1, ".png")),
        ("%5d.png", None),
        ("%s.png", None),
        ("%%d.png", None),
        ("%d_%d.png", None),
        ("shot.png", None),
    ],
)
def test_patterns_as_people_write_them(text: str, pattern: Pattern | None) -> None:
    assert Pattern.parse(text) == pattern


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["a1.png", "a2.png", "a10.png"], ["a%d.png"]),
        (["a01.png", "a02.png", "a10.png", "a100.png"], ["a%02d.png"]),
        (["v2_1080p_0001.png", "v2_1080p_0002.png"], ["v2_1080p_%04d.png"]),
        (["0001_left.png", "0002_left.png"], ["%04d_left.png"]),
        (["v1_1.png", "v1_2.png", "v2_1.png", "v2_2.png"], ["v1_%d.png", "v2_%d.png"]),
        (["a1.png", "a2.png", "a1.jpg", "a2.jpg"], ["a%d.png", "a%d.jpg"]),
        (["a1.png", "a01.png", "a2.png"], ["a%d.png", "a01.png"]),
        (["cover.png"], ["cover.png"]),
        (["one.png", "two.png"], ["one.png", "two.png"]),
        (["50%_1.png", "50%_2.png"], ["50%%_%d.png"]),
    ],
)
def test_the_sequences_of_a_folder(names: list[str], found: list[str]) -> None:
    assert sorted(str(sequence) for sequence in sequences(names)) == sorted(found)


@given(
    names=st.sets(st.from_regex(r"[ab]{0,2}[0-9]{0,3}[_.]?[0-9]{0,3}\.(png|jpg)", fullmatch=True), min_size=1)
)
def test_every_name_belongs_to_one_sequence(names: set[str]) -> None:
    found = sequences(names)
    for name in names:
        homes = [s for s in found if s == name or (isinstance(s, Pattern) and s.number(name) is not None)]
        assert len(homes) == 1, (name, homes)


@given(first=st.integers(0, 10**9), second=st.integers(0, 10**9))
def test_names_sort_by_number(first: int, second: int) -> None:
    names = [f"Shot{first}.png", f"Shot{second}.png"]
    assert sorted(names, key=natural) == [f"Shot{n}.png" for n in sorted((first, second))]


@given(names=st.lists(TEXT, unique=True))
def test_any_names_can_be_sorted(names: list[str]) -> None:
    assert sorted(sorted(names, key=natural)) == sorted(names)
    assert all(os.path.basename(str(s)) == str(s) for s in sequences(names))
