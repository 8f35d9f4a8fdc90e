"""The rooms of a package, as a page's table has them, and what each really imports."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from import_statements import import_statements

_ROW = re.compile(r"^\| (?P<rooms>`[^|]+) \| (?P<holds>[^|]+) \| (?P<uses>[^|]*) \|$", re.MULTILINE)
_NAMES = re.compile(r"`([^`]+)`")


class Import(NamedTuple):
    """One module's use of another."""

    path: str
    line: int
    room: str
    used: str
    module: str


class Layers:
    """A package with the table of its rooms. What only the type checker reads counts in circles alone."""

    def __init__(self, source: Path, page: Path) -> None:
        self.source = source
        self.package = source.name
        section = page.read_text().split("## Rooms", 1)[1].split("\n## ", 1)[0]
        self.table: dict[str, set[str]] = {}
        for row in _ROW.finditer(section):
            for room in _NAMES.findall(row["rooms"]):
                self.table[_plain(room)] = {_plain(name) for name in _NAMES.findall(row["uses"])}

    def wrong(self) -> list[str]:
        """The imports that the table doesn't allow."""
        return [
            f"{found.path}:{found.line}: {found.room} uses {found.module} ({found.used})"
            for found in self.imports()
            if found.used not in self.table[found.room] | {found.room}
        ]

    def unused(self) -> list[tuple[str, str]]:
        """What the table allows, and nobody does."""
        used = {(found.room, found.used) for found in self.imports()}
        return [
            (room, other) for room, all in self.table.items() for other in all if (room, other) not in used
        ]

    def circles(self) -> list[str]:
        """Rooms, and then files, that come back to themselves."""
        uses: dict[str, set[str]] = {}
        for path in sorted(self.source.rglob("*.py")):
            module = self._module_of(path)
            read = {used for node, _ in import_statements(path) for used in self._modules(node)}
            uses[module] = read - {module, self.package}
        rooms = [room for room in self.table if room in _reaches(self.table, room)]
        return rooms + [module for module in uses if module in _reaches(uses, module)]

    def imports(self) -> Iterator[Import]:
        for path in sorted(self.source.rglob("*.py")):
            room = self._room_of(self._module_of(path))
            for line, used in self._used(path):
                yield Import(path.name, line, room, self._room_of(used), used)

    def _used(self, path: Path) -> Iterator[tuple[int, str]]:
        for node, typing_only in import_statements(path):
            if not typing_only:
                yield from ((node.lineno, used) for used in self._modules(node))

    @functools.cache  # noqa: B019  # there are two of these objects
    def _room_of(self, module: str) -> str:
        """The room that a module is in: the longest name in the table that it begins with."""
        inner = module.removeprefix(self.package).lstrip(".").replace(".", "/")
        if inner == "":
            return "__init__"
        rooms = [room for room in self.table if inner == room or inner.startswith(f"{room}/")]
        assert rooms, f"no room of the page holds {module}"
        return max(rooms, key=len)

    def _module_of(self, path: Path) -> str:
        inner = path.relative_to(self.source).with_suffix("").parts
        return ".".join((self.package, *inner)).removesuffix(".__init__")

    def _modules(self, node: ast.Import | ast.ImportFrom) -> list[str]:
        """The modules of the package that a statement imports; its version every room may say."""
        if isinstance(node, ast.Import):
            return [name.name for name in node.names if name.name.split(".")[0] == self.package]
        if node.module and node.module.split(".")[0] == self.package:
            full = [f"{node.module}.{name.name}" for name in node.names]
            version = f"{self.package}.__version__"
            return [name if self._is_module(name) else node.module for name in full if name != version]
        return []

    @functools.cache  # noqa: B019
    def _is_module(self, name: str) -> bool:
        path = self.source.parent.joinpath(*name.split("."))
        return name.endswith("._native") or path.with_suffix(".py").exists() or path.is_dir()


def _plain(room: str) -> str:
    return room.strip("/").removesuffix(".py")


def _reaches(uses: dict[str, set[str]], start: str) -> set[str]:
    """All that can be come to from there."""
    seen: set[str] = set()
    left = [start]
    while left:
        new = uses.get(left.pop(), set()) - seen
        seen |= new
        left.extend(new)
    return seen
