"""docs/worker-contract.md: its tables, schemas and examples are what the code has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from longwire.contract.check.run import CASES
from longwire.contract.envelopes import ERROR_CLASSES, Sender, schemas, schemas_text
from longwire.worker import App

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "worker-contract.md").read_text()
_FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
_INLINE = re.compile(r"`(\{\"mode\".*?\})`", re.S)
ENVELOPES = [
    *(line for kind, text in _FENCED.findall(PAGE) if kind == "json" for line in text.splitlines()),
    *_INLINE.findall(PAGE),
]


def _meaning(field: dict[str, Any]) -> str:
    said = [str(field["description"])] if "description" in field else []
    if "const" in field:
        said.append(f"{field['const']}")
    elif "enum" in field:
        said.append("one of " + ", ".join(f"`{value}`" for value in field["enum"] if value is not None))
    return "; ".join(said)


@pytest.mark.parametrize("sender", ["runtime", "worker"])
def test_the_tables_are_those_of_the_schemas(sender: Sender) -> None:
    rows = []
    for event, schema in schemas(sender).items():
        rows.append(f"| **`{event}`** | | | {schema['description']} |")
        for name, field in schema["properties"].items():
            if name not in ("mode", "event"):
                kind = field["type"] if isinstance(field["type"], str) else " or ".join(field["type"])
                optional = "" if name in schema["required"] else " (optional)"
                rows.append(f"| | `{name}`{optional} | {kind} | {_meaning(field)} |")
    head = [f"### From the {sender}", "", "| event | field | type | |", "|---|---|---|---|"]
    assert "\n".join([*head, *rows]) in PAGE


def test_the_tables_of_errors_and_cases_are_those_of_the_code() -> None:
    classes = [f"| `{name}` | {meaning} |" for name, meaning in ERROR_CLASSES.items()]
    assert "\n".join(["| `data.errorClass` | |", "|---|---|", *classes]) in PAGE
    cases = [f"| `{case.name}` | {case.requires} | {case.needs and f'`{case.needs}`'} |" for case in CASES]
    assert "\n".join(["| case | requires | tool |", "|---|---|---|", *cases]) in PAGE


@pytest.mark.parametrize("text", ENVELOPES)
def test_every_envelope_of_the_page_fits(text: str) -> None:
    errors = list(Draft202012Validator(json.loads(schemas_text())).iter_errors(json.loads(text)))
    assert errors == []


def test_the_page_shows_envelopes_of_all_important_kinds() -> None:
    shown = {json.loads(text)["event"] for text in ENVELOPES}
    assert shown == {"hello", "message", "messages", "result", "error", "response"}


def test_the_program_of_the_page_is_an_app() -> None:
    program = next(text for kind, text in _FENCED.findall(PAGE) if kind == "python" and "App(" in text)
    names: dict[str, Any] = {"__name__": "greeter"}
    exec(compile(program, "greeter.py", "exec"), names)
    app = names["app"]
    assert isinstance(app, App)
    assert [tool.name for tool in app.catalog().tools] == ["greet", "count", "book"]


def test_the_page_names_every_member_that_authors_use() -> None:
    told = {"introduction", "catalog", "server", "ready"}  # for programs that serve an App themselves
    members = {name for name in vars(App) if not name.startswith("_")} - told
    assert {name for name in members if f"app.{name}" not in PAGE} == set()
