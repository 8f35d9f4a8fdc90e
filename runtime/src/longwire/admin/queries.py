"""The answers of the operator's view, and its query parameters.

Bad parameters are refused: a typo must not show other sessions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl

from longwire.errors import LongwireError
from longwire.text import quoted
from longwire.wire.http.request import HeaderList, Responder
from longwire.wire.http.routes import JSON
from longwire.wire.http.static_files import OWN_PAGE_ONLY

HEADERS: Final = OWN_PAGE_ONLY

Document: TypeAlias = dict[str, Any]


class AdminRefusal(LongwireError):
    """A request of an operator that can't be carried out: its HTTP status, and why."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


FAILED: Final = AdminRefusal(500, "the server failed at it: see its log")


def encoded(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")


def answer(responder: Responder, document: object, status: int = 200, headers: HeaderList = ()) -> None:
    responder.answer(status, encoded(document), JSON, [*HEADERS, *headers])


def refuse(responder: Responder, refusal: AdminRefusal, headers: HeaderList = ()) -> None:
    answer(responder, {"error": str(refusal)}, refusal.status, headers)


DEFAULT_LIMIT: Final = 100
MOST: Final = 1000  # rows of one answer
_FARTHEST: Final = 10_000_000
_LONGEST: Final = 256  # characters of a filter
_TRUTH: Final = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}

Reader = Callable[[str, str], Any]  # from the name and the text of a parameter


def truth(name: str, text: str) -> bool:
    if (found := _TRUTH.get(text.lower())) is None:
        raise AdminRefusal(400, f"{name} is {quoted(text)}: use 1 or 0")
    return found


def whole(least: int, most: int) -> Reader:
    """A whole number in these bounds."""

    def read(name: str, text: str) -> int:
        plain = text.isascii() and text.isdigit() and len(text) <= len(str(most))
        if not plain or not least <= int(text) <= most:
            raise AdminRefusal(400, f"{name} is {quoted(text)}: use a whole number from {least} to {most}")
        return int(text)

    return read


def text(name: str, given: str) -> str:
    if not given or len(given) > _LONGEST:
        raise AdminRefusal(400, f"{name} has {len(given)} characters: use 1 to {_LONGEST}, or leave it out")
    return given


def one_of(*words: str) -> Reader:
    def read(name: str, given: str) -> str:
        if given not in words:
            raise AdminRefusal(400, f"{name} is {quoted(given)}: use {', '.join(words)}")
        return given

    return read


NODES: Final[Mapping[str, Reader]] = {"nodes": one_of("here", "all")}  # whose figures, in a cluster
PAGING: Final[Mapping[str, Reader]] = {"limit": whole(1, MOST), "offset": whole(0, _FARTHEST)}


def parameters(query: str, known: Mapping[str, Reader]) -> dict[str, Any]:
    """Read the parameters of a query; raises AdminRefusal for unknown, repeated and bad ones."""
    found: dict[str, Any] = {}
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=32)
    except ValueError:
        raise AdminRefusal(400, "the query can't be read: write name=value, joined with &") from None
    for name, given in pairs:
        reader = known.get(name)
        if reader is None:
            near = get_close_matches(name, known, 1)
            remedy = f"did you mean '{near[0]}'?" if near else f"use {', '.join(known) or 'none'}"
            raise AdminRefusal(400, f"the parameter {quoted(name)} is unknown: {remedy}")
        if name in found:
            raise AdminRefusal(400, f"the parameter {name} is given twice: keep one")
        found[name] = reader(name, given)
    return found
