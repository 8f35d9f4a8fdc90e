"""Asks the client which geometry is right, where that of raw videos contradicts the names of their files.

Only a client that declared forms (elicitation) is asked. Without an answer the geometry of the call counts,
and the score has the warning of video/readers/raw.py.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from mcp.shared.exceptions import MCPError

from acuity.access.paths import AllowedPaths
from acuity.errors import AcuityError, listed
from acuity.scoring.fronts import RAW
from acuity.video.picture import PixelFormat
from acuity.video.readers.guess import RawFormat, other_geometry
from longwire.errors import AskingError
from longwire.product.asking import form_request
from longwire.product.catalog import Arguments, Call

ASKED: Final = "geometry_asked"  # the entry of the answer
_SECONDS: Final = 50.0  # for an answer: many clients give up on a call after a minute
_WIDTH, _HEIGHT, _LAYOUT, _DEPTH = (
    RAW.name(part) for part in ("width", "height", "pixel_format", "bitdepth")
)


async def settle_geometry(paths: AllowedPaths, call: Call, arguments: Arguments) -> Arguments:
    """The arguments, with the geometry that the client chose if it was asked."""
    if not all(name in arguments for name in (_WIDTH, _HEIGHT, _LAYOUT, _DEPTH)):
        return arguments
    pixels = PixelFormat(arguments[_LAYOUT], int(arguments[_DEPTH]))
    given = RawFormat(int(arguments[_WIDTH]), int(arguments[_HEIGHT]), pixels)
    encodes = [one if isinstance(one, str) else one["path"] for one in arguments.get("encodes", ())]
    files = [*(arguments[name] for name in ("ref", "dis", "reference") if name in arguments), *encodes]
    named = dict(_named(paths, files, given))
    if len({*named.values()}) != 1 or (other := next(iter(named.values()))) is None:
        return arguments
    names = listed([os.path.basename(file) for file in named])
    message = f"{names}: the names say {other}, but the call says {given}. Which is right?"
    if not call.questions.declared(form_request(message, {})):
        return arguments
    chosen = await _choice(call, message, [str(other), str(given)])
    if chosen is not None:
        arguments.asked[ASKED] = {"given": str(given), "named": str(other), "chosen": chosen}
    if chosen == str(other):
        wanted = (other.width, other.height, other.format.layout, other.format.depth)
        arguments.update(zip((_WIDTH, _HEIGHT, _LAYOUT, _DEPTH), wanted, strict=True))
    return arguments


async def _choice(call: Call, message: str, choices: list[str]) -> str | None:
    """The client's choice; None if it declines, fails or takes too long."""
    form: dict[str, Any] = {
        "type": "object",
        "properties": {"geometry": {"type": "string", "title": "Geometry", "enum": choices}},
        "required": ["geometry"],
    }
    with suppress(AskingError, MCPError):
        answer = await call.elicit(message, form, timeout=_SECONDS)
        if answer.action == "accept" and answer.content is not None:
            return str(answer.content["geometry"])
    return None


def _named(
    paths: AllowedPaths, files: Iterable[str], given: RawFormat
) -> Iterable[tuple[str, RawFormat | None]]:
    """Files whose names contradict the geometry, with that of the name; the plan refuses bad paths."""
    for file in files:
        with suppress(AcuityError, OSError):
            path = paths.check(file)
            if (other := other_geometry(str(path), path.stat().st_size, given)) is not None:
                yield file, other.geometry
