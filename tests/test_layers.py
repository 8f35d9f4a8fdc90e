"""The table of rooms in docs/architecture.md is true: every import, lazy ones too, is one that it allows."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from import_statements import import_statements

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "acuity"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
_ROW = re.compile(r"^\| (?P<rooms>`[^|]+) \| (?P<holds>[^|]+) \| (?P<uses>[^|]*) \|$", re.MULTILINE)
_NAMES = re.compile(r"`([^`]+)`")
VERSION = "acuity.__version__"  # which every room may say


def _table() -> dict[str, set[str]]:
    """Which rooms each room may use."""
    section = PAGE.split("## Rooms", 1)[1].split("\n## ", 1)[0]
    found: dict[str, set[str]] = {}
    for row in _ROW.finditer(section):
        for room in _NAMES.findall(row["rooms"]):
            found[_plain(room)] = {_plain(name) for name in _NAMES.findall(row["uses"])}
    return found


def _plain(room: str) -> str:
    return room.strip("/").removesuffix(".py")


TABLE = _table()


class Import(NamedTuple):
    """One module's use of another."""

    path: str
    line: int
    room: str
    used: str
    module: str


@functools.cache
def _room_of(module: str) -> str:
    """The room that a module of the package is in: the longest name in the table that it begins with."""
    inner = module.removeprefix("acuity").lstrip(".").replace(".", "/")
    if inner == "":
        return "__init__"
    rooms = [room for room in TABLE if inner == room or inner.startswith(f"{room}/")]
    assert rooms, f"no room in docs/architecture.md holds {module}"
    return max(rooms, key=len)


def _module_of(path: Path) -> str:
    return ".".join(("acuity", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


def _imports() -> Iterator[Import]:
    for path in sorted(SOURCE.rglob("*.py")):
        room = _room_of(_module_of(path))
        for node, _ in import_statements(path):
            for used in _modules(node):
                yield Import(str(path.relative_to(ROOT)), node.lineno, room, _room_of(used), used)


def _modules(node: ast.Import | ast.ImportFrom) -> list[str]:
    """The modules of the package that a statement imports."""
    if isinstance(node, ast.Import):
        return [name.name for name in node.names if name.name.split(".")[0] == "acuity"]
    if node.module and node.module.split(".")[0] == "acuity":
        full = [f"{node.module}.{name.name}" for name in node.names]
        return [name if _is_module(name) else node.module for name in full if name != VERSION]
    return []


@functools.cache
def _is_module(name: str) -> bool:
    path = SOURCE.parent.joinpath(*name.split("."))
    return name == "acuity._native" or path.with_suffix(".py").exists() or path.is_dir()


def test_every_import_is_allowed_by_the_table() -> None:
    wrong = [
        f"{found.path}:{found.line}: {found.room} uses {found.module} ({found.used})"
        for found in _imports()
        if found.used not in TABLE[found.room] | {found.room}
    ]
    assert wrong == []


def test_the_table_allows_nothing_that_nobody_does() -> None:
    used = {(found.room, found.used) for found in _imports()}
    unused = [
        (room, other) for room, others in TABLE.items() for other in others if (room, other) not in used
    ]
    assert unused == []


def _reaches(uses: dict[str, set[str]], start: str) -> set[str]:
    """All that can be come to from there."""
    seen: set[str] = set()
    left = [start]
    while left:
        new = uses.get(left.pop(), set()) - seen
        seen |= new
        left.extend(new)
    return seen


def test_no_two_rooms_use_each_other() -> None:
    assert [room for room in TABLE if room in _reaches(TABLE, room)] == []


def test_no_two_modules_import_each_other() -> None:
    """Lazy imports count; what only the type checker reads does not."""
    uses: dict[str, set[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        module = _module_of(path)
        told = (node for node, typing_only in import_statements(path) if not typing_only)
        found = (used for node in told for used in _modules(node))
        uses[module] = {used for used in found if used not in (module, "acuity", "acuity._native")}
    assert [module for module in uses if module in _reaches(uses, module)] == []


def test_the_page_names_files_that_exist() -> None:
    """The journeys name files by their path in the package, other sections by their name in a room."""
    journeys = PAGE.split("## Seven journeys", 1)[1].split("\n## ", 1)[0]
    named = re.findall(r"`([\w/]+\.py)`", journeys)
    assert len(named) > 30
    assert [path for path in named if not (SOURCE / path).is_file()] == []
    there = {path.name for room in ("src", "tests") for path in (ROOT / room).rglob("*.py")}
    assert [name for name in re.findall(r"`(?:[\w/]+/)?(\w+\.py)`", PAGE) if name not in there] == []
