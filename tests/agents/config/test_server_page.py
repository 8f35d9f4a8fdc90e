"""docs/server.md lists exactly Acuity's own keys, with their defaults, options and variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from acuity.agents.settings import KEYS
from key_rows import check_rows

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "server.md").read_text()
SECTIONS = dict.fromkeys(key.section for key in KEYS)


@pytest.mark.parametrize("section", SECTIONS)
def test_the_page_has_the_keys(section: str) -> None:
    check_rows(PAGE, section, KEYS)


def test_the_page_has_no_other_section() -> None:
    assert [line[6:-2] for line in PAGE.splitlines() if line.startswith("### `[")] == list(SECTIONS)
