"""Letters for pictures, from the font that comes with Pillow: it has the characters of ASCII."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from functools import lru_cache
from typing import Final, cast

from PIL import ImageFont

_UNKNOWN: Final = "?"


@lru_cache(maxsize=64)
def font(size: float) -> ImageFont.FreeTypeFont:
    """The font; `size` is the height of a line as in CSS, so that capitals are about 0.7 of it high."""
    return cast("ImageFont.FreeTypeFont", ImageFont.load_default(size))


def plain_letters(text: str) -> str:
    """The text with the letters that there are: without accents, and question marks for other ones."""
    parts = unicodedata.normalize("NFKD", text)
    kept = (char for char in parts if not unicodedata.combining(char))
    return "".join(char if " " <= char <= "~" else _UNKNOWN for char in kept)


def fitting(text: str, width: float, size: float) -> str:
    """The text, or its start and its end with dots between, so that it is no wider than so many pixels."""
    text, length = plain_letters(text), font(size).getlength
    if length(text) <= width:
        return text

    def cut(kept: int) -> str:
        start = kept * 2 // 3
        return f"{text[:start]}..{text[len(text) - kept + start :]}"

    kept = bisect_right(range(len(text)), width, key=lambda kept: length(cut(kept))) - 1
    return cut(kept) if kept >= 0 else ""


def wrapped(text: str, width: float, size: float, lines: int) -> list[str]:
    """The text in at most so many lines of that width in pixels; dots say that some of it is missing."""
    found: list[str] = []
    for word in plain_letters(text).split():
        if found and font(size).getlength(f"{found[-1]} {word}") <= width:
            found[-1] += f" {word}"
        else:
            found.append(fitting(word, width, size))
    if len(found) > lines:
        found[lines - 1 :] = [fitting(" ".join(found[lines - 1 :]), width, size)]
    return found
