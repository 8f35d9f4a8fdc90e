"""The bytes of an answer to a call, with as little done for each of them as can be.

They are those that the SDK and `to_text` would write.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Final, NamedTuple

import pydantic_core
from mcp.server.lowlevel import Server
from mcp_types import SERVER_INFO_META_KEY, JSONRPCResponse
from mcp_types import methods as protocol
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from acuity.mcp.embedded.parted import Parted
from acuity.mcp.results import answer, finite, to_text
from acuity.mcp.wire.messages import encode

METHOD: Final = "tools/call"
_MARK: Final = {"mark": 0}
_MARK_TEXT: Final = pydantic_core.to_json(to_text(_MARK))
_MARK_DOCUMENT: Final = pydantic_core.to_json(_MARK)
# Numbers that Python and the other writer of JSON may put differently, and whatever looks like one. Two plain
# searches: one pattern for both would have to look at every digit.
_EXPONENT: Final = re.compile(r"e(?<=[0-9]e)")
_TINY: Final = "0.0000"
_HOLDERS: Final = frozenset({dict, list, tuple})
_SHORT: Final = 40_000  # characters; a text that is much longer isn't indented
# What stands for a value that varies while its document is written: an integer nobody else would write.
_HOLE: Final = "-50817{:03}93046"
_HOLES: Final = re.compile(rb"-50817([0-9]{3})93046")
_MOST_HOLES: Final = 1000


class Shape:
    """The answer at one protocol version, with holes for the id, the text and the document."""

    def __init__(self, server: Server[Any], version: str) -> None:
        dumped = answer(_MARK).model_dump(by_alias=True, mode="json", exclude_none=True)
        result = protocol.serialize_server_result(METHOD, version, dumped)
        if version in MODERN_PROTOCOL_VERSIONS:
            result["_meta"] = {SERVER_INFO_META_KEY: server.server_info_stamp}
        whole = encode(JSONRPCResponse(jsonrpc="2.0", id=0, result=result))
        head, found, rest = whole.partition(b'"id":0,')
        assert found
        self._head = head + b'"id":'
        before, found, after = rest.partition(_MARK_TEXT)
        assert found
        self._before = b"," + before
        # Early versions know no structured content.
        self._between, self._structured, self._after = after.partition(_MARK_DOCUMENT)

        self._last: tuple[dict[str, Any] | None, bytes] = (None, b"")  # a document, and what follows the id
        self._stencil: tuple[dict[str, Any] | None, _Stencil | None] = (None, None)  # and its constant part

    def filled(self, number: int | str, document: dict[str, Any] | Parted) -> bytes:
        """The answer; documents are never changed, so the same one makes the same bytes."""
        written = b"%d" % number if type(number) is int else pydantic_core.to_json(number)
        return b"".join((self._head, written, self._rest(document)))

    def _rest(self, document: dict[str, Any] | Parted) -> bytes:
        if isinstance(document, Parted):
            known, stencil = self._stencil
            if known is not document.constant:
                stencil = self._cut(document)
                self._stencil = document.constant, stencil
            found = stencil.filled(document.varying) if stencil is not None else None
            return found if found is not None else self._written(document.whole())
        last, rest = self._last
        if last is not document:
            rest = self._written(document)
            self._last = document, rest
        return rest

    def _written(self, document: dict[str, Any]) -> bytes:
        """All that follows the id."""
        structured = pydantic_core.to_json(document, inf_nan_mode="null") if self._structured else b""
        text = pydantic_core.to_json(readable(document))
        return b"".join((self._before, text, self._between, structured, self._after))

    def _cut(self, document: Parted) -> _Stencil | None:
        """The bytes around what varies; None if the constant part makes it unclear which these are."""
        keys = list(document.varying)
        if len(keys) > _MOST_HOLES:
            return None
        marked = document.constant | {key: int(_HOLE.format(at)) for at, key in enumerate(keys)}
        whole = self._written(marked)
        order = [int(found) for found in _HOLES.findall(whole)]
        expected = 2 if self._structured else 1
        if len(whole) > _SHORT // 2 or Counter(order) != Counter(dict.fromkeys(range(len(keys)), expected)):
            return None
        return _Stencil(_HOLES.sub(b"%b", whole.replace(b"%", b"%%")), order)


class _Stencil(NamedTuple):
    """A document's bytes, with a %b for each value that varies."""

    template: bytes
    order: list[int]  # which value goes where: each may go to several places

    def filled(self, varying: dict[str, float | None]) -> bytes | None:
        """The bytes with these values; None if the two writers of JSON wouldn't put one of them alike."""
        values = []
        for value in varying.values():
            if value is None:
                values.append(b"null")
            elif type(value) is int or (type(value) is float and _is_plain(value)):
                values.append(b"%a" % value)
            else:
                return None
        return self.template % tuple([values[at] for at in self.order])


def _is_plain(value: float) -> bool:
    """Whether everybody writes it without an exponent."""
    return value == 0.0 or 1e-4 <= abs(value) < 1e16


def readable(document: dict[str, Any]) -> str:
    """The same text as `to_text` makes of the finite document, in a twentieth of the time."""
    text = pydantic_core.to_json(_sorted(document), indent=2, inf_nan_mode="null").decode()
    if len(text) > _SHORT or _TINY in text or _EXPONENT.search(text):
        return to_text(finite(document))
    return text


def _sorted(value: Any) -> Any:
    # Only what holds more is looked into: a call for each number would take longer than all the rest.
    if isinstance(value, dict):
        return {key: _sorted(item) if type(item) in _HOLDERS else item for key, item in sorted(value.items())}
    return [_sorted(item) if type(item) in _HOLDERS else item for item in value]
