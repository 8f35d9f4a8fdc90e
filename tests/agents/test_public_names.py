"""Acuity uses the public names of the runtime that runtime/docs/products.md lists, and few private ones."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from import_statements import import_statements
from private_names import private_names

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "acuity"
PAGE = (ROOT / "runtime" / "docs" / "products.md").read_text()


def listed() -> set[str]:
    rows = re.findall(r"^\| `([\w.]+)` \| ([^|]+) \|", PAGE.split("## Public names")[1], re.MULTILINE)
    return {
        f"{module}.{name}" if name else module
        for module, names in rows
        for name in [*re.findall(r"`(\w+)`", names), *([""] if "the module" in names else [])]
    }


def used() -> set[str]:
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node, _ in import_statements(path):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "longwire":
                found |= {f"{node.module}.{name.name}" for name in node.names}
            elif isinstance(node, ast.Import):
                found |= {name.name for name in node.names if name.name.split(".")[0] == "longwire"}
    return found


def test_what_is_used_is_listed_and_the_other_way_round() -> None:
    assert used() == listed()


def test_no_file_uses_one() -> None:
    assert private_names(SOURCE) == set()
