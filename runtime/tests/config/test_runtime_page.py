"""docs/runtime.md names what there is: keys, defaults, metrics, reasons of refusals."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from key_rows import check_rows
from longwire.config.keys import keys, sections
from longwire.config.toml_file import parse_config
from longwire.counters import RuntimeCounters
from longwire.guard.grants import Scopes
from longwire.guard.tokens import parse_tokens
from longwire.operations.figures import runtime_figures

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SOURCE = ROOT / "src" / "longwire"


class LivingLink:
    failures, healthy = 3, True


class LivingCluster:
    living, holds_lease, link = 2, True, LivingLink()


PAGE = (DOCS / "runtime.md").read_text()
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("text", [text for text in EXAMPLES if "[tokens." not in text])
def test_configurations_are_accepted(tmp_path: Path, text: str) -> None:
    found = parse_config(text, tmp_path / "longwire.toml")
    assert len(found.values) > 2


@pytest.mark.parametrize("text", [text for text in EXAMPLES if "[tokens." in text])
def test_token_files_are_accepted(text: str) -> None:
    (configuration,) = (tomllib.loads(example) for example in EXAMPLES if "[auth.scopes]" in example)
    scopes = Scopes.parse(configuration["auth"]["scopes"])
    assert parse_tokens(text, "tokens.toml", scopes).principals == {"alice", "robots"}


def test_every_metric_is_there() -> None:
    section = PAGE.split("## Counters\n", 1)[1].split("\n## ", 1)[0]
    told = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    families = runtime_figures(RuntimeCounters(), cluster=LivingCluster())
    assert told == [family.name + ("_total" if family.type == "counter" else "") for family in families]


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", PAGE):
        file, _, heading = target.partition("#")
        page = (DOCS / file).read_text() if file else PAGE
        titles = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
        names = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
        assert not heading or heading in names, target


def test_every_reason_of_a_refusal_is_there() -> None:
    source = "".join(path.read_text() for path in SOURCE.rglob("*.py"))
    counted = set(re.findall(r'\._?refused\["(\w+)"\]', source))
    counted |= set(re.findall(r'\bRefusal\(\s*\d+,\s*"(\w+)"', source))
    counted |= {f"peer_{word}" for word in re.findall(r'\bBadSignature\(\s*"(\w+)"', source)}
    counted |= set(re.findall(r'\b(?:word|counted)(?:: str)? ?= ?"(\w+)"', source))
    section = PAGE.split("Refusals are counted", 1)[1].split("Calls that are", 1)[0]
    told = set(re.findall(r"`(\w+)`", section))
    assert counted <= told
    assert told - counted == {"http", "headers", "size", "connections", "header", "envelope"}


@pytest.mark.parametrize("section", sections())
def test_the_reference_is_the_table_of_keys(section: str) -> None:
    check_rows(PAGE, section, keys())


def test_the_sections_are_all_there() -> None:
    assert re.findall(r"^### `\[(\w+)\]`$", PAGE, re.MULTILINE) == list(sections())
