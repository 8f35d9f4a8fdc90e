"""A question that a client asks again and again, known by all of its bytes but the id."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple, Self

import pydantic_core

# As many digits as every writer of JSON takes for an integer.
_ID: Final = re.compile(rb'"id"\s*:\s*([0-9]{1,15})')
_LONGEST: Final = 4096  # bytes; each client has some kept


class Question(NamedTuple):
    """What stands around the id, and what was found out when the message was read the first time."""

    before: bytes
    after: bytes
    name: str
    version: str  # that it is served at
    agreed: str  # that held on its connection

    @classmethod
    def of(cls, text: bytes, message: dict[str, Any], name: str, version: str, agreed: str) -> Self | None:
        """The question of a message that was read and found to be right; None if its id can't be told."""
        found = list(_ID.finditer(text))
        if len(found) != 1 or len(text) > _LONGEST:
            return None
        before, after = text[: found[0].start(1)], text[found[0].end(1) :]
        # Whatever the bytes look like: the place is the right one if another number there is another id.
        other = int(message["id"]) + 1
        if pydantic_core.from_json(b"%b%d%b" % (before, other, after)) != {**message, "id": other}:
            return None
        return cls(before, after, name, version, agreed)

    def number(self, text: bytes) -> int | None:
        """The id, if this is the same question."""
        if not text.startswith(self.before) or not text.endswith(self.after):
            return None
        digits = text[len(self.before) : len(text) - len(self.after)]
        if not digits.isdigit() or len(digits) > 15 or (digits[:1] == b"0" and len(digits) > 1):
            return None
        return int(digits)
