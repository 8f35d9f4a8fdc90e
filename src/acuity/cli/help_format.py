"""The form of --help: descriptions as written, but paragraphs that are too wide are wrapped."""

from __future__ import annotations

import argparse
import textwrap


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Wraps paragraphs with a line that is too wide. Those with indented lines are examples and stay."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.strip("\n").split("\n\n")
        return textwrap.indent("\n\n".join(_fitting(one, width - len(indent)) for one in paragraphs), indent)


def _fitting(paragraph: str, width: int) -> str:
    lines = paragraph.splitlines()
    if all(len(line) <= width for line in lines) or any(line.startswith(" ") for line in lines):
        return paragraph
    return textwrap.fill(" ".join(lines), width, break_long_words=False, break_on_hyphens=False)
