"""Joins the script modules of report/static into one text: a file that is opened alone can import none.

The modules keep to a few rules, which are checked here: imports are of named things from './x.js', `export`
stands before a declaration at the start of a line, every top-level name is unique in the folder, and no text
reaches over several lines.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Final

_IMPORT: Final = re.compile(r"^import\s+\{([^}]*)\}\s+from\s+['\"]\./([\w-]+\.js)['\"];\s*$", re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?(?:function|class|const|let)\b)", re.MULTILINE)
_LEFT: Final = re.compile(r"^(?:import|export)\b.*$|\bimport\s*\(", re.MULTILINE)
_TOP: Final = re.compile(r"^(?:async )?(?:function\*?|class|const|let)\s+([\w$]+)", re.MULTILINE)


def bundle(modules: Sequence[tuple[str, str]]) -> str:
    """One module's text out of several, given as names and texts in order; ValueError if a rule is broken."""
    parts: list[str] = []
    owners: dict[str, str] = {}
    for name, text in modules:
        for used in _IMPORT.finditer(text):
            if "as" in used[1].split():
                raise ValueError(f"{name}: an import with another name can't be bundled: {used[0].strip()}")
            if used[2] not in owners.values():
                raise ValueError(f"{name} imports {used[2]}, which has to be bundled before it")
        body = _EXPORT.sub("", _IMPORT.sub("", text))
        if left := _LEFT.search(body):
            raise ValueError(f"{name} has a line that can't be bundled: {left[0]}")
        for top in _TOP.findall(body):
            if top in owners:
                raise ValueError(f"{name} and {owners[top]} both have {top} at their top level")
            owners[top] = name
        owners.setdefault(f"//{name}", name)  # a module without names of its own was bundled too
        parts.append(f"// {name}\n{_squeezed(name, body)}\n")
    return "\n".join(parts)


def _squeezed(name: str, body: str) -> str:
    """The text without comments of their own lines and without indents, which a page's readers don't need."""
    lines = [line.strip() for line in body.splitlines()]
    for line in lines:
        if line.count("`") % 2:
            raise ValueError(f"{name} has a text over several lines, whose indents would be lost: {line}")
    return "\n".join(line for line in lines if line and not line.startswith("//"))


@functools.cache
def static_text(name: str) -> str:
    """One file of report/static."""
    return files("acuity.report").joinpath("static", name).read_text(encoding="utf-8")


def bundled(names: Sequence[str]) -> str:
    """Files of report/static as one text, each after those that it imports."""
    return _bundled(tuple(names))


@functools.cache
def _bundled(names: tuple[str, ...]) -> str:
    return bundle([(name, static_text(name)) for name in with_imports(names)])


def with_imports(names: Sequence[str]) -> list[str]:
    """The files and all that they import, in an order in which they can be bundled."""
    found: list[str] = []

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise ValueError(f"{name} imports itself through {', '.join(above)}")
        for used in _IMPORT.finditer(static_text(name)):
            visit(used[2], (*above, name))
        if name not in found:
            found.append(name)

    for name in names:
        visit(name, ())
    return found
