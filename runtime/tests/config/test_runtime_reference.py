"""docs/runtime.md lists exactly the keys that there are, with their defaults, options and variables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from longwire.config.key import Key
from longwire.config.keys import keys, sections
from longwire.config.kinds import toml_value

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "runtime.md").read_text()
HEAD = "| key | default | option | variable | meaning |\n|---|---|---|---|---|\n"


def row(key: Key) -> str:
    """The row that the page should have for a key."""
    default = key.default_for({})
    text = key.default_text or ("" if default is None else f"`{toml_value(key.kind.plain(default))}`")
    metavar = key.kind.metavar if not key.metavar else key.metavar
    taken = "" if key.kind.switch else f" {'|'.join(key.kind.choices) or metavar}"
    option = f"`{key.option}{taken}`".replace("|", "\\|") if key.option else ""
    meaning = key.help + (f"; in the file also `{key.aliases[0]}`" if key.aliases else "")
    return f"| `{key.name}` | {text} | {option} | `{key.environment}` | {meaning} |"


@pytest.mark.parametrize("section", sections())
def test_the_reference_is_the_table_of_keys(section: str) -> None:
    wanted = HEAD + "\n".join(row(key) for key in keys() if key.section == section)
    heading = f"### `[{section}]`\n"
    assert heading in PAGE
    part = PAGE.split(heading, 1)[1]
    found = part[part.index(HEAD) :].split("\n\n", 1)[0]
    assert found.rstrip() == wanted, f"write this:\n\n{wanted}"


def test_the_sections_are_all_there() -> None:
    assert re.findall(r"^### `\[(\w+)\]`$", PAGE, re.MULTILINE) == list(sections())
