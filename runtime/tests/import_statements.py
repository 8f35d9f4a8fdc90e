"""The import statements of a file, lazy ones too; each file is parsed once for all tests of a process."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

Statement: TypeAlias = ast.Import | ast.ImportFrom


class Found(NamedTuple):
    """One import statement."""

    node: Statement
    typing_only: bool  # only the type checker reads it


@functools.cache
def import_statements(path: Path) -> tuple[Found, ...]:
    """All of a file, whatever they are inside of."""
    return tuple(_found(ast.parse(path.read_bytes()), typing_only=False))


def _found(node: ast.AST, *, typing_only: bool) -> Iterator[Found]:
    """Statements are only inside of statements, so that expressions needn't be gone through."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, Statement):
            yield Found(inner, typing_only)
        elif not isinstance(inner, ast.expr):
            guarded = isinstance(inner, ast.If) and ast.unparse(inner.test) == "TYPE_CHECKING"
            yield from _found(inner, typing_only=typing_only or guarded)
