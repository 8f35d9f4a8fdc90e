"""Encodes pictures for kitty's graphics protocol, which WezTerm, Ghostty and Konsole know too."""

from __future__ import annotations

import base64
from typing import Final

_CHUNK: Final = 4096  # characters of a piece

# Asks whether a picture of one pixel could be shown; a terminal without the protocol says nothing.
QUERY: Final = "\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\"
ANSWER: Final = b"\033_Gi=31;OK\033\\"


def kitty(png: bytes, columns: int) -> str:
    """A PNG file as escape sequences, as wide as so many columns; the terminal doesn't answer."""
    data = base64.b64encode(png).decode()
    pieces = [data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK)]
    found = []
    for number, piece in enumerate(pieces):
        first = f"a=T,f=100,q=2,c={columns}," if number == 0 else ""
        more = int(number + 1 < len(pieces))
        found.append(f"\033_G{first}m={more};{piece}\033\\")
    return "".join(found)
