"""Text for people."""

from __future__ import annotations


def one_line(text: str) -> str:
    """Names of files may hold line ends and escape sequences: show them, don't obey them."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
