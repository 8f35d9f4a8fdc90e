"""Parses command lines as libvmaf does, from one table of options.

GNU getopt's rules: `--long value`, `--long=value`, unambiguous abbreviations of long names, `-x value`,
`-xvalue`, joined switches as in `-nq`, and `--` ends the options. Dashes and underscores in long names
are equal. argparse is not used because `-h` is the height here, and because the usage page, the
documentation test and the parser all read this table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

from acuity.records import NamedTuple
from acuity.text import shortened

_LARGEST: Final = (1 << 32) - 1
_DIGITS: Final = 18  # of a whole number
BARE: Final = "\0"  # stands for an omitted value; a command line can't contain it
_NUMBER: Final = r"[0-9]+(\.[0-9]*)?"


class UsageError(Exception):
    """A bad command line: the message names the part, `program` the command whose help to read."""

    program: str = ""


class Flag(NamedTuple):
    long: str  # in libvmaf's spelling, with underscores
    help: str
    short: str = ""
    value: str = ""  # the name of its value in the usage page; empty: a switch
    parse: Callable[[str], Any] = str  # raises ValueError("should be …")
    section: str = ""
    bare: Any = None  # the value if none is given; None: a value is required

    @property
    def spelling(self) -> str:
        return f"-{self.short}/--{self.long}" if self.short else f"--{self.long}"


def parse_flags(flags: Sequence[Flag], argv: Sequence[str]) -> Iterator[tuple[Flag, Any]]:
    """Each option in order, with its parsed value (True for a switch)."""
    words = iter(join_optional([f"--{flag.long}" for flag in flags if flag.bare is not None], argv))
    for word in words:
        if word == "--":
            for rest in words:
                raise UsageError(_unexpected(rest))
        elif word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            flag = _find_long(flags, name)
            if not flag.value:
                if equals:
                    raise UsageError(f"option {flag.spelling} takes no value, but got '{shortened(value)}'")
                yield flag, True
            else:
                yield flag, _value(flag, value if equals else _next(flag, words))
        elif word.startswith("-") and len(word) > 1:
            yield from _parse_short(flags, word[1:], words)
        else:
            raise UsageError(_unexpected(word))


def _parse_short(flags: Sequence[Flag], letters: str, words: Iterator[str]) -> Iterator[tuple[Flag, Any]]:
    for i, letter in enumerate(letters):
        flag = next((f for f in flags if f.short == letter), None)
        if flag is None:
            raise UsageError(f"unknown option '-{letter}'")
        if flag.value:
            yield flag, _value(flag, letters[i + 1 :] or _next(flag, words))
            return
        yield flag, True


def _find_long(flags: Sequence[Flag], name: str) -> Flag:
    wanted = name.replace("-", "_")
    exact = [f for f in flags if f.long.replace("-", "_") == wanted]
    if exact:
        return exact[0]
    starts = [f for f in flags if wanted and f.long.replace("-", "_").startswith(wanted)]
    if len(starts) == 1:
        return starts[0]
    if starts:
        raise UsageError(f"option '--{name}' could mean {' or '.join('--' + f.long for f in starts)}")
    raise UsageError(unknown_option(name, [f.long for f in flags]))


def unknown_option(name: str, known: Sequence[str]) -> str:
    """The sentence about an unknown long option; names come without their dashes."""
    import difflib  # only for this message

    near = difflib.get_close_matches(
        name.replace("-", "_"), [entry.replace("-", "_") for entry in known], n=1
    )
    meant = next((entry for entry in known if near and entry.replace("-", "_") == near[0]), None)
    return f"unknown option '--{shortened(name)}'" + (f"; did you mean '--{meant}'?" if meant else "")


def given_twice(name: str) -> str:
    """The sentence about an option that can be given once; its name comes without dashes."""
    return f"--{name} is given twice, and one of them counts: leave the other out"


def _next(flag: Flag, words: Iterator[str]) -> str:
    for word in words:
        return word
    raise UsageError(f"option {flag.spelling} needs a value ({flag.value})")


def join_optional(options: Collection[str], argv: Sequence[str]) -> list[str]:
    """The command line with '=VALUE' after every option whose value may be omitted.

    A number that follows is the value. Anything else may be a file name, so the value is then BARE.
    """
    known = {option.replace("_", "-") for option in options}
    joined: list[str] = []
    words = list(argv)
    while words:
        word = words.pop(0)
        if word == "--":
            return [*joined, word, *words]
        if word.replace("_", "-") in known:
            word += f"={words.pop(0) if words and re.fullmatch(_NUMBER, words[0]) else BARE}"
        joined.append(word)
    return joined


def _value(flag: Flag, text: str) -> Any:
    if text == BARE:
        return flag.bare
    try:
        return flag.parse(text)
    except ValueError as why:
        raise UsageError(f"'{shortened(text)}' is no value for option {flag.spelling}: it {why}") from None


def _unexpected(word: str) -> str:
    return f"unexpected argument '{shortened(word)}': name the videos with -r REFERENCE and -d DISTORTED"


def whole(least: int = 0, most: int | None = None, noun: str = "whole number") -> Callable[[str], int]:
    """A parser of whole numbers in these bounds, written with decimal digits."""
    bounds = f"of {least} or more" if most is None else f"from {least} to {most}"

    def parse(text: str) -> int:
        if text.isascii() and text.isdigit():
            if len(text) > _DIGITS:
                raise ValueError(f"is too large: {_DIGITS} digits are the most")
            if least <= int(text) <= (math.inf if most is None else most):
                return int(text)
        raise ValueError(f"should be a {noun} {bounds}")

    return parse


def amount(least: float, most: float = math.inf, noun: str = "number") -> Callable[[str], float]:
    """A parser of numbers in these bounds, which may have decimals."""
    bounds = f", {least:g} or more" if most == math.inf else f" from {least:g} to {most:g}"

    def parse(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and least <= number <= most):
            raise ValueError(f"should be a {noun}{bounds if math.isfinite(least) else ''}")
        return number

    return parse


def unsigned(text: str) -> int:
    """A whole number that fits into 32 bits: decimal, 0x hexadecimal or 0 octal."""
    number = _whole(text)
    if not 0 <= number <= _LARGEST:
        raise ValueError(f"should be a whole number from 0 to {_LARGEST}")
    return number


def wrapped(text: str) -> int:
    """A whole number as C's strtoul and a cast to 32 bits give it: -1 has all bits set."""
    number = _whole(text)
    return number & _LARGEST if abs(number) < 1 << 64 else _LARGEST


def _whole(text: str) -> int:
    digits = text.strip().lower()
    unsigned_digits = digits.lstrip("+-")
    base = 16 if unsigned_digits.startswith("0x") else 8 if unsigned_digits[:1] == "0" else 10
    try:
        if "_" in digits:
            raise ValueError
        return int(digits, base)
    except ValueError:
        raise ValueError("should be a whole number") from None


def one_of(*choices: str) -> Callable[[str], str]:

    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"should be one of {', '.join(choices)}")
        return text

    return parse
