"""Finds the private names of other packages that a source file uses."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from longwire.wire.sdk_private import MEMBERS

_KNOWN = {member.name for member in MEMBERS}
# Classes of other packages that classes of ours are derived from, by the name they are imported as.
BASES = {"Server": "mcp.server.lowlevel"}
PRIVATE = re.compile(r"_[a-z]\w*")
# What a file has that uses a private name; most have none of it, and needn't be parsed.
SIGN = re.compile(rf"(?<!\bself)(?<!\bcls)\._[a-z]|\bfrom \S*\b_[a-z]|\b({'|'.join(BASES)})\b")
# Python's own, and the package's kernels.
DOCUMENTED = {"_asdict", "_field_defaults", "_replace", "_exit", "_native"}


def private_names(source: Path) -> set[str]:
    """`FILE: NAME` for each private name that a file of this folder uses and that the table lacks."""
    return {
        f"{path.relative_to(source)}: {name}"
        for path in source.rglob("*.py")
        if path.name != "sdk_private.py"
        for name in uses(path)
        if name not in _KNOWN
    }


def uses(path: Path) -> Iterator[str]:
    """Private names of other packages that a file uses."""
    text = path.read_text()
    if SIGN.search(text) is None:
        return
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and not node.module.startswith(("acuity", "longwire", "_"))
        ):
            if any(PRIVATE.fullmatch(part) for part in node.module.split(".")):
                yield node.module
        elif isinstance(node, ast.ClassDef):
            yield from inherited(node, text)
        elif isinstance(node, ast.Attribute) and PRIVATE.fullmatch(node.attr) and not is_own(node, text):
            yield node.attr


def inherited(node: ast.ClassDef, text: str) -> Iterator[str]:
    """Private members of a class of another package that a class derived from it uses."""
    source = "".join(map(base_source, node.bases))
    if not source:
        return
    for inner in ast.walk(node):
        if not isinstance(inner, ast.Attribute) or not PRIVATE.fullmatch(inner.attr):
            continue
        if re.search(rf"\b(self\.|def ){inner.attr}\b", source) and not sets(text, inner.attr):
            yield inner.attr


def sets(text: str, name: str) -> bool:
    return re.search(rf"self\.{name}\b.* = ", text) is not None


def base_source(base: ast.expr) -> str:
    name = base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""
    if name not in BASES:
        return ""
    return inspect.getsource(getattr(importlib.import_module(BASES[name]), name))


def is_own(node: ast.Attribute, text: str) -> bool:
    """Whether it is a member of a class in the same file, or no secret."""
    if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
        return True
    defined = re.search(rf"self\.{node.attr}\b.*=|def {node.attr}\(|^ +{node.attr}:", text, re.MULTILINE)
    return defined is not None or node.attr in DOCUMENTED
