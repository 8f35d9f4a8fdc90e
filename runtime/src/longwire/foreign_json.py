"""JSON that somebody else wrote: every way in which it can be bad is a ValueError."""

from __future__ import annotations

import json
from collections import Counter
from itertools import accumulate, count
from operator import sub
from typing import Any, Final

_SHOWN: Final = 80  # characters of a member's name in an error
# Lists and objects inside each other. Python's stack has room for about twice as many, which leaves some to
# finalizers that the garbage collector may run at the bottom of a document.
_DEEPEST: Final = 500
_DIGITS: Final = b"0123456789"
_BRACKETS: Final = bytes.maketrans(b"[{]}", b"\2\2\0\0")
_OTHERS: Final = bytes(set(range(256)) - set(b'[{]}"'))


class NestedTooDeeply(ValueError):
    """JSON with more lists and objects inside each other than are followed."""

    def __init__(self) -> None:
        super().__init__("lists or objects are nested too deeply")


def parse_json(text: str | bytes, **hooks: Any) -> Any:
    """The document in a text; raises ValueError. `hooks` are those of json.loads()."""
    if _is_too_deep(text):
        raise NestedTooDeeply
    try:
        return json.loads(text, **hooks)
    except RecursionError:
        raise NestedTooDeeply from None


def parse_strictly(text: bytes) -> Any:
    """The document in a text that all readers take alike; raises ValueError.

    It is in UTF-8, has no name twice in an object, and no numbers that JSON doesn't have.
    """
    return parse_json(text.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):  # readers could differ on which one counts
        doubled = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the member {doubled[:_SHOWN]!r} comes twice in one object")
    return found


def members(text: bytes) -> int:
    """How many members the objects of a JSON text have, those that come twice included."""
    return _without_strings(_without_escapes(text)).count(b":")


def has_more_values(text: bytes, most: int) -> bool:
    """Whether a text has more values than that, told without building them, which would take long.

    Of a text that is no JSON, the part before its fault is counted.
    """
    if len(text) <= 2 * most or _at_most(text) <= most:
        return False  # the first holds for nearly all texts: a value takes a character and a comma
    bare = _without_escapes(text)
    if bare.count(b'"') > 4 * most + 2:  # quotes of a name and a string for each value
        return True
    return _at_most(_without_strings(bare)) > most


def has_longer_number(text: bytes, most: int) -> bool:
    """Whether a text has a number with more digits in a row than that, told without building any.

    The time for building an integer goes with the square of its digits.
    """
    return _has_longer_run(text, most) and _has_longer_run(_without_strings(_without_escapes(text)), most)


def _has_longer_run(text: bytes, most: int) -> bool:
    for at in range(most, len(text), most):  # one of these bytes is in any longer run
        if text[at] in _DIGITS:
            before, after = text[at - most : at], text[at : at + most + 1]
            rest = len(before.rstrip(_DIGITS)) + len(after.lstrip(_DIGITS))
            if len(before) + len(after) - rest > most:
                return True
    return False


def _is_too_deep(text: str | bytes) -> bool:
    """Whether lists and objects are nested deeper than is followed, told without building them."""
    few = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    if few <= _DEEPEST:  # true of nearly all texts
        return False
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    bare = _without_escapes(data).translate(None, _OTHERS).replace(b'""', b"")
    brackets = _without_strings(bare).translate(_BRACKETS)
    return max(map(sub, accumulate(brackets), count(1)), default=0) > _DEEPEST


def _without_escapes(text: bytes) -> bytes:
    """The text without escaped quotes: each quote left begins or ends a string."""
    return text.replace(b"\\\\", b"").replace(b'\\"', b"")


def _without_strings(bare: bytes) -> bytes:
    return b"".join(bare.split(b'"')[::2])


def _at_most(text: bytes) -> int:
    """How many values a text can have at most: one after each of these characters."""
    return text.count(b",") + text.count(b"[") + text.count(b"{") + 1


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")
