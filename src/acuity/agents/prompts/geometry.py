"""Parses size and format of videos as people write them: '1920x1080 420 8-bit', or in a file name."""

from __future__ import annotations

from typing import Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError

from acuity.errors import InputError
from acuity.video.readers.guess import RawFormat, guess_geometry

COMMON: Final = (
    "1920x1080 420 8-bit",
    "3840x2160 420 10-bit",
    "1920x1080 420 10-bit",
    "1280x720 420 8-bit",
    "3840x2160 420 8-bit",
)


def known_geometry(hint: str | None, name: str) -> RawFormat | None:
    """Size and format of raw video from the hint, or else from the file's name; None if incomplete."""
    return _reading(hint) or _reading(name)


def known_size(hint: str | None, name: str) -> tuple[int, int] | None:
    """Width and height from the hint, or else from the file's name; None if unknown."""
    some_format: dict[str, Any] = {"layout": "420", "depth": 8}
    found = _reading(hint, **some_format) or _reading(name, **some_format)
    return (found.width, found.height) if found is not None else None


def check_hint(hint: str | None) -> None:
    """Refuse a hint without a size."""
    if hint is not None and known_size(hint, "") is None:
        raise MCPError(types.INVALID_PARAMS, f"geometry '{hint}' gives no size: write it like '{COMMON[0]}'")


def spelled(geometry: RawFormat) -> str:
    return f"{geometry.width}x{geometry.height} {geometry.format.layout} {geometry.format.depth}-bit"


def _reading(text: str | None, **known: Any) -> RawFormat | None:
    try:
        return guess_geometry(text, None, **known) if text else None
    except InputError:
        return None
