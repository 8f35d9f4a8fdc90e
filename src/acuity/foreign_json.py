"""JSON that somebody else wrote: every way in which it can be bad is a ValueError."""

from __future__ import annotations

import gc
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

_SHOWN: Final = 80  # characters of a member's name in an error


class NestedTooDeeply(ValueError):
    """JSON with more lists and objects inside each other than Python can follow."""

    def __init__(self) -> None:
        super().__init__("lists or objects are nested too deeply")


def parse_json(
    text: str | bytes,
    *,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
    parse_int: Callable[[str], Any] | None = None,
    parse_constant: Callable[[str], Any] | None = None,
) -> Any:
    """The document in a text; raises ValueError."""
    try:
        with _no_collection():
            return json.loads(
                text, object_pairs_hook=object_pairs_hook, parse_int=parse_int, parse_constant=parse_constant
            )
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
        return False  # the first is so of nearly all texts: a value has a character and a comma at least
    bare = _without_escapes(text)
    if bare.count(b'"') > 4 * most + 2:  # a name and a string for each
        return True
    return _at_most(_without_strings(bare)) > most


def _without_escapes(text: bytes) -> bytes:
    """Every quote that is left begins or ends a string."""
    return text.replace(b"\\\\", b"").replace(b'\\"', b"")


def _without_strings(bare: bytes) -> bytes:
    return b"".join(bare.split(b'"')[::2])


def _at_most(text: bytes) -> int:
    """How many values a text can have at most: one after each of these characters."""
    return text.count(b",") + text.count(b"[") + text.count(b"{") + 1


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


_LOCK = threading.Lock()
_parsing = 0  # texts that are being parsed, by all threads
_was_on = False


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from running: at the bottom of a deep text there is no room for finalizers,
    and those of any object in the process would fail there."""
    global _parsing, _was_on
    with _LOCK:
        if _parsing == 0:
            _was_on = gc.isenabled()
            gc.disable()
        _parsing += 1
    try:
        yield
    finally:
        with _LOCK:
            _parsing -= 1
            if _parsing == 0 and _was_on:
                gc.enable()
