"""docs/runtime.md lists exactly the keys that there are, with their defaults, options and variables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from key_rows import check_rows
from longwire.config.keys import keys, sections

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "runtime.md").read_text()


@pytest.mark.parametrize("section", sections())
def test_the_reference_is_the_table_of_keys(section: str) -> None:
    check_rows(PAGE, section, keys())


def test_the_sections_are_all_there() -> None:
    assert re.findall(r"^### `\[(\w+)\]`$", PAGE, re.MULTILINE) == list(sections())
