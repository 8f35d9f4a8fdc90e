"""Reads JSON that somebody else wrote: every fault in it raises ValueError."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import accumulate, count
from operator import sub
from typing import Any, Final

# Lists and objects inside each other. Python's stack has room for about twice as many, which leaves some to
# finalizers that the garbage collector may run at the bottom of a document.
_DEEPEST: Final = 500
_BRACKETS: Final = bytes.maketrans(b"[{]}", b"\2\2\0\0")
_OTHERS: Final = bytes(set(range(256)) - set(b'[{]}"'))


class NestedTooDeeply(ValueError):
    """JSON with more lists and objects inside each other than are followed."""

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
    if _is_too_deep(text):
        raise NestedTooDeeply
    try:
        return json.loads(
            text, object_pairs_hook=object_pairs_hook, parse_int=parse_int, parse_constant=parse_constant
        )
    except RecursionError:
        raise NestedTooDeeply from None


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
    """The text without escaped quotes and backslashes: every quote left begins or ends a string."""
    return text.replace(b"\\\\", b"").replace(b'\\"', b"")


def _without_strings(bare: bytes) -> bytes:
    return b"".join(bare.split(b'"')[::2])
