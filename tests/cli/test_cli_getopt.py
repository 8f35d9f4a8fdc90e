"""The option parser: GNU getopt's rules over one table."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.cli.getopt import Flag, UsageError, one_of, parse_flags, unsigned, wrapped

TABLE = (
    Flag("reference", "", "r", "PATH"),
    Flag("height", "", "h", "N", unsigned),
    Flag("frame_skip_ref", "", "", "N", unsigned),
    Flag("frame_skip_dist", "", "", "N", unsigned),
    Flag("quiet", "", "q"),
    Flag("no_prediction", "", "n"),
    Flag("backend", "", "", "NAME", one_of("auto", "cpu")),
)


def parsed(*argv: str) -> list[tuple[str, object]]:
    return [(flag.long, value) for flag, value in parse_flags(TABLE, argv)]


@pytest.mark.parametrize(
    "argv",
    [["--reference", "a.yuv"], ["--reference=a.yuv"], ["-r", "a.yuv"], ["-ra.yuv"], ["--ref", "a.yuv"]],
)
def test_spellings_of_a_value(argv: list[str]) -> None:
    assert parsed(*argv) == [("reference", "a.yuv")]


@pytest.mark.parametrize("name", ["--frame_skip_ref", "--frame-skip-ref", "--frame-skip_ref=3"])
def test_dashes_and_underscores_are_the_same(name: str) -> None:
    assert parsed(*([name] if "=" in name else [name, "3"])) == [("frame_skip_ref", 3)]


def test_switches_run_together_with_a_value_last() -> None:
    assert parsed("-nqh", "18") == [("no_prediction", True), ("quiet", True), ("height", 18)]


def test_a_value_may_look_like_an_option() -> None:
    assert parsed("-r", "-q") == [("reference", "-q")]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--refrence", "a"], ["--refrence", "--reference"]),
        (["-x"], ["-x"]),
        (["--frame_skip", "1"], ["--frame_skip_ref", "--frame_skip_dist"]),
        (["--reference"], ["-r/--reference", "PATH"]),
        (["-h"], ["-h/--height", "needs a value"]),
        (["--quiet=1"], ["--quiet", "no value"]),
        (["-h", "tall"], ["tall", "--height", "whole number"]),
        (["--backend", "abacus"], ["abacus", "auto, cpu"]),
        (["a.yuv"], ["a.yuv", "-r"]),
        (["--", "a.yuv"], ["a.yuv"]),
        (["-"], ["'-'"]),
    ],
)
def test_a_wrong_line_is_told_what_is_wrong(argv: list[str], words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parsed(*argv)
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize(
    ("text", "number"), [("0", 0), ("12", 12), ("0x1f", 31), ("010", 8), ("4294967295", 2**32 - 1)]
)
def test_unsigned_reads_as_strtoul(text: str, number: int) -> None:
    assert unsigned(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("-1", 0xFFFFFFFF),
        ("-2", 0xFFFFFFFE),
        (" +3", 3),
        ("99999999999", 99999999999 & 0xFFFFFFFF),
        ("-0x10", 0xFFFFFFF0),
        ("010", 8),
        ("9" * 30, 0xFFFFFFFF),
        ("-" + "9" * 30, 0xFFFFFFFF),
    ],
)
def test_masks_wrap_as_in_c(text: str, number: int) -> None:
    assert wrapped(text) == number


@pytest.mark.parametrize("text", ["", "-1", "1.5", "0x", "1_000", "4294967296", "08", "ten", " "])
def test_unsigned_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="whole number"):
        unsigned(text)


@given(st.lists(st.text(alphabet="-=_rhqnx019 ", max_size=8), max_size=6))
def test_any_line_is_parsed_or_refused_in_words(argv: list[str]) -> None:
    with contextlib.suppress(UsageError):
        parsed(*argv)
