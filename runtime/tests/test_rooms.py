"""The table of rooms in docs/architecture.md is true, and the runtime imports no product."""

from __future__ import annotations

import ast
from pathlib import Path

from import_statements import import_statements
from layers import Layers

ROOT = Path(__file__).resolve().parents[1]
LAYERS = Layers(ROOT / "src" / "longwire", ROOT / "docs" / "architecture.md")


def test_every_import_is_allowed_by_the_table() -> None:
    assert LAYERS.wrong() == []


def test_the_table_allows_nothing_that_nobody_does() -> None:
    assert LAYERS.unused() == []


def test_no_two_rooms_or_files_import_each_other() -> None:
    assert LAYERS.circles() == []


def test_it_imports_no_product() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for folder in ("src", "tests", "examples")
        for path in (ROOT / folder).rglob("*.py")
        for node, _ in import_statements(path)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names])
        if name is not None and name.split(".")[0] == "acuity"
    }
    assert found == set()
