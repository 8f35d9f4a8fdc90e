"""The rows that a page of keys should have."""

from __future__ import annotations

from collections.abc import Iterable

from longwire.config.key import Key
from longwire.config.keys import default_of
from longwire.config.kinds import toml_value

HEAD = "| key | default | option | variable | meaning |\n|---|---|---|---|---|\n"


def row(key: Key) -> str:
    """The row that the page should have for a key."""
    default = default_of(key, {})
    text = key.default_text or ("" if default is None else f"`{toml_value(key.kind.plain(default))}`")
    metavar = key.kind.metavar if not key.metavar else key.metavar
    taken = "" if key.kind.switch else f" {'|'.join(key.kind.choices) or metavar}"
    option = f"`{key.option}{taken}`".replace("|", "\\|") if key.option else ""
    meaning = key.help + (f"; in the file also `{key.aliases[0]}`" if key.aliases else "")
    return f"| `{key.name}` | {text} | {option} | `{key.environment}` | {meaning} |"


def check_rows(page: str, section: str, keys: Iterable[Key]) -> None:
    """Hold the table under a section's heading to the keys; says what to write where it differs."""
    wanted = HEAD + "\n".join(row(key) for key in keys if key.section == section)
    heading = f"### `[{section}]`\n"
    assert heading in page
    part = page.split(heading, 1)[1]
    found = part[part.index(HEAD) :].split("\n\n", 1)[0]
    assert found.rstrip() == wanted, f"write this:\n\n{wanted}"
