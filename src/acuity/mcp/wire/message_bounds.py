"""Bounds of a message's parts, so that no message keeps the server busy or is repeated at length. No I/O.

They are checked before anything else looks at the message, at the cost of a few lengths for a short one.
"""

from __future__ import annotations

from typing import Any, Final

LONGEST_METHOD: Final = 256  # characters
LONGEST_ID: Final = 1024  # characters
LARGEST_ID: Final = 1 << 63  # and not reached
MOST_ARGUMENTS: Final = 1000
MOST_MEMBERS: Final = 10_000  # of one list or object
MOST_VALUES: Final = 100_000  # of all lists and objects together
_LONGEST: Final = {"name": 1024, "cursor": 1024, "uri": 8192}  # characters of a parameter
_SURELY_SHORT: Final = min(*_LONGEST.values(), MOST_ARGUMENTS)  # bytes of a text with no room for longer ones
_SURELY_FEW: Final = 2 * MOST_MEMBERS  # bytes of a text that has no room for more members

TOO_LONG_ID: Final = (
    f"the message's 'id' should have at most {LONGEST_ID} characters, or be an integer of 64 bits"
)


def is_id_too_long(request_id: Any) -> bool:
    """Whether an id is longer than one that an answer would repeat."""
    if isinstance(request_id, str):
        return len(request_id) > LONGEST_ID
    return isinstance(request_id, int) and not -LARGEST_ID <= request_id < LARGEST_ID


def excess(document: dict[str, Any], size: int) -> str | None:
    """What is too long or too many in a message of so many bytes; None: nothing is."""
    method = document.get("method")
    if isinstance(method, str) and len(method) > LONGEST_METHOD:
        return f"the method has {len(method)} characters: {LONGEST_METHOD} are the most"
    if size <= _SURELY_SHORT:
        return None
    params = document.get("params")
    if type(params) is not dict:
        return None if size <= _SURELY_FEW else _crowd(params)
    for name, longest in _LONGEST.items():
        value = params.get(name)
        if type(value) is str and len(value) > longest:
            return f"the parameter '{name}' has {len(value)} characters: {longest} are the most"
    arguments = params.get("arguments")
    if type(arguments) is dict and len(arguments) > MOST_ARGUMENTS:
        return f"the call has {len(arguments)} arguments: {MOST_ARGUMENTS} are the most"
    return None if size <= _SURELY_FEW else _crowd(params)


def _crowd(value: Any) -> str | None:
    """Which number of members is too large; looks at no more than are allowed."""
    rest = [value] if isinstance(value, dict | list) else []
    seen = 0
    while rest:
        holder = rest.pop()
        count = len(holder)
        seen += count
        if count > MOST_MEMBERS:
            return f"a list or object of the message has {count} members: {MOST_MEMBERS} are the most"
        if seen > MOST_VALUES:
            return f"the message has more than {MOST_VALUES} values in its lists and objects: send fewer"
        members = holder.values() if isinstance(holder, dict) else holder
        rest += [member for member in members if isinstance(member, dict | list)]
    return None
