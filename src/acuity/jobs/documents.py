"""Results of jobs, from JSON text to objects, without holding up the event loop."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final, cast

_SMALL: Final = 64 << 10  # characters that are parsed in well under a millisecond


async def parse(text: str) -> dict[str, Any]:
    """The document in the text."""
    if len(text) <= _SMALL:
        return cast(dict[str, Any], json.loads(text))
    return await asyncio.to_thread(_parse_politely, text)


def _parse_politely(text: str) -> dict[str, Any]:
    # The parser is one long call of native code that holds the interpreter's lock. A hook in Python for every
    # object is where other threads, the event loop's among them, get their turn.
    return cast(dict[str, Any], json.loads(text, object_hook=_as_it_is))


def _as_it_is(value: dict[str, Any]) -> dict[str, Any]:
    return value
