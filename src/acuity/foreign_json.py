"""JSON that somebody else wrote: every way in which it can be bad is a ValueError."""

from __future__ import annotations

import gc
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


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
    if len(found) != len(pairs):
        raise ValueError("a member comes twice")  # readers could differ on which one counts
    return found


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
