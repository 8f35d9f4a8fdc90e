"""List the backends of this machine and the processor's instruction sets.

Every backend and instruction set gives the same digits; they differ in speed only."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any, Final

from acuity.cli.terminal.style import columns
from acuity.devices import Backend, list_backends

SCHEMA: Final = "acuity.backends/1"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(arguments: argparse.Namespace) -> int:
    if arguments.json:
        print(as_json())
        return 0
    backends = list_backends(probe=True)
    print("\n".join(columns([(b.name, "yes" if b.usable else "no", describe(b)) for b in backends])))
    return 0


def as_json() -> str:
    return json.dumps(
        {"schema": SCHEMA, "backends": [b._asdict() for b in list_backends(probe=True)]}, indent=2
    )


def describe(backend: Backend) -> str:
    if backend.cards:
        return "; ".join(map(_card, backend.cards))
    if not backend.instruction_sets:
        return backend.init_status
    names = [str(s["name"]) for s in backend.instruction_sets if s["usable"]]
    return f"{backend.threads} threads; instruction sets, fastest first: {', '.join(names)}"


def _card(card: Mapping[str, Any]) -> str:
    memory = f"{card['memory'] / (1 << 30):.0f} GiB"
    text = f"card {card['number']}: {card['name']}, {memory}, {card['architecture']}, driver {card['driver']}"
    return text if card["problem"] is None else f"{text}, not usable: {card['problem']}"
