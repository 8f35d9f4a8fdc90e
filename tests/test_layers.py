"""The table of rooms in docs/architecture.md is true: every import, lazy ones too, is one that it allows."""

from __future__ import annotations

import re
from pathlib import Path

from layers import Layers

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "acuity"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
LAYERS = Layers(SOURCE, ROOT / "docs" / "architecture.md")


def test_every_import_is_allowed_by_the_table() -> None:
    assert LAYERS.wrong() == []


def test_the_table_allows_nothing_that_nobody_does() -> None:
    assert LAYERS.unused() == []


def test_no_two_rooms_or_files_import_each_other() -> None:
    assert LAYERS.circles() == []


def test_the_page_names_files_that_exist() -> None:
    """The journeys name files by their path in the package, other sections by their name in a room."""
    journeys = PAGE.split("## Seven journeys", 1)[1].split("\n## ", 1)[0]
    named = re.findall(r"`([\w/]+\.py)`", journeys)
    assert len(named) > 30
    assert [path for path in named if not (SOURCE / path).is_file()] == []
    there = {
        path.name
        for room in ("src", "tests", "runtime", "tools", "bench")
        for path in (ROOT / room).rglob("*.py")
    }
    pages = [*(ROOT / "docs").glob("architecture*.md"), ROOT / "CONTRIBUTING.md"]
    pages += (ROOT / "runtime" / "docs").glob("*.md")
    text = "".join(page.read_text() for page in pages)
    assert [name for name in re.findall(r"`(?:[\w/]+/)?(\w+\.py)`", text) if name not in there] == []
