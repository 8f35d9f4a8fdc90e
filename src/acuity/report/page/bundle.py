"""Joins the script modules of report/static into one text: a file that is opened alone can import none.

The modules keep to a few rules: imports are of named things from './x.js', `export` stands before a
declaration at the start of a line, every top-level name is unique in the folder, and no text reaches over
several lines.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Final

_IMPORT: Final = re.compile(r"^import\s+\{[^}]*\}\s+from\s+['\"]\./([\w-]+\.js)['\"];\s*$", re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?(?:function|class|const|let)\b)", re.MULTILINE)
_LEFT: Final = re.compile(r"^(?:import|export)\b.*$|\bimport\s*\(", re.MULTILINE)


def bundle(modules: Sequence[tuple[str, str]]) -> str:
    """One module's text out of several, given as names and texts in order; raises ValueError.

    Comments of their own lines and indents are left out, which a page's readers don't need.
    """
    parts = []
    for name, text in modules:
        body = _EXPORT.sub("", _IMPORT.sub("", text))
        if left := _LEFT.search(body):
            raise ValueError(f"{name} has a line that can't be bundled: {left[0]}")
        lines = [line for line in map(str.strip, body.splitlines()) if line and not line.startswith("//")]
        parts.append("\n".join([f"// {name}", *lines, ""]))
    return "\n".join(parts)


@functools.cache
def static_text(name: str) -> str:
    """One file of report/static."""
    return files("acuity.report").joinpath("static", name).read_text(encoding="utf-8")


@functools.cache
def bundled(*names: str) -> str:
    """Files of report/static as one text, each after those that it imports."""
    return bundle([(name, static_text(name)) for name in with_imports(names)])


def with_imports(names: Sequence[str]) -> list[str]:
    """The files and all that they import, in an order in which they can be bundled."""
    found: dict[str, None] = {}
    for name in names:
        used = _IMPORT.findall(static_text(name))
        found |= dict.fromkeys([*with_imports(used), name])
    return list(found)
