"""Bounds of a message's parts, so that no message keeps the server busy or is repeated at length. No I/O.

The number of values, and that of their digits, is checked before any of them is built; the others before
anything else looks at the message, at the cost of a few lengths for a short one.
"""

from __future__ import annotations

from typing import Any, Final

from longwire.foreign_json import has_longer_number, has_more_values, members, parse_strictly

LONGEST_METHOD: Final = 256  # characters
LONGEST_ID: Final = 1024  # characters
LARGEST_ID: Final = 1 << 63  # and not reached
MOST_ARGUMENTS: Final = 1000
MOST_VALUES: Final = 10_000  # of all lists and objects together; to build and look at more takes too long
MOST_DIGITS: Final = 400  # in a row; a double has 309 before its point
SURELY_FEW: Final = 2 * MOST_VALUES  # bytes of a text that has no room for more
MOST_LEVELS: Final = 50  # of lists and objects inside each other
_LONGEST: Final = {"name": 1024, "cursor": 1024, "uri": 8192}  # characters of a parameter
_SURELY_SHORT: Final = min(*_LONGEST.values(), MOST_ARGUMENTS)  # bytes of a text with no room for longer ones

TOO_LONG_ID: Final = (
    f"the message's 'id' should have at most {LONGEST_ID} characters, or be an integer of 64 bits"
)
TOO_MANY: Final = f"the message has more than {MOST_VALUES} values in its lists and objects: send fewer"
TOO_LONG_NUMBER: Final = (
    f"the message has a number with more than {MOST_DIGITS} digits in a row: send a shorter one"
)
TOO_DEEP: Final = f"the message nests lists and objects deeper than {MOST_LEVELS} levels: send it flatter"


def is_id_too_long(request_id: Any) -> bool:
    """Whether an id is longer than one that an answer would repeat."""
    if isinstance(request_id, str):
        return len(request_id) > LONGEST_ID
    return isinstance(request_id, int) and not -LARGEST_ID <= request_id < LARGEST_ID


def has_too_many_values(text: bytes) -> bool:
    """Whether a text has more values than a message may have; told without building them."""
    return has_more_values(text, MOST_VALUES)


def has_too_long_number(text: bytes) -> bool:
    """Whether a text has a number with more digits than it may have; told without building it."""
    return has_longer_number(text, MOST_DIGITS)


def excess(document: dict[str, Any], text: bytes) -> str | None:
    """What a message has too much of: characters, arguments, levels, or a member twice; None: nothing."""
    method = document.get("method")
    if type(method) is str and len(method) > LONGEST_METHOD:
        return f"the method has {len(method)} characters: {LONGEST_METHOD} are the most"
    if len(text) > _SURELY_SHORT and (problem := _long_parameter(document.get("params"))) is not None:
        return problem
    try:
        kept = _members(document, MOST_LEVELS)
        # A text has a colon for each member, and others only in strings.
        if kept == text.count(b":") or kept == members(text):
            return None
        parse_strictly(text)
    except RecursionError:
        return TOO_DEEP
    except ValueError as error:  # that names the member
        return f"{error}: send it once"
    return None


def _long_parameter(params: Any) -> str | None:
    if type(params) is not dict:
        return None
    for name, longest in _LONGEST.items():
        value = params.get(name)
        if type(value) is str and len(value) > longest:
            return f"the parameter '{name}' has {len(value)} characters: {longest} are the most"
    arguments = params.get("arguments")
    if type(arguments) is dict and len(arguments) > MOST_ARGUMENTS:
        return f"the call has {len(arguments)} arguments: {MOST_ARGUMENTS} are the most"
    return None


def _members(document: dict[str, Any], levels: int) -> int:
    """How many members an object and those in it have; raises RecursionError if it nests too deeply."""
    if not levels:
        raise RecursionError
    count = len(document)
    for value in document.values():
        if (kind := type(value)) is dict:
            count += _members(value, levels - 1)
        elif kind is list:
            count += _members_in(value, levels - 1)
    return count


def _members_in(values: list[Any], levels: int) -> int:
    if not levels:
        raise RecursionError
    count = 0
    for value in values:
        if (kind := type(value)) is dict:
            count += _members(value, levels - 1)
        elif kind is list:
            count += _members_in(value, levels - 1)
    return count
