"""List the feature extractors that --feature takes, or explain one of them.

An option is set with NAME=OPTION=VALUE, several with NAME=OPTION=VALUE:OPTION=VALUE:

    acuity score ref.mp4 dis.mp4 --feature vif=debug=true

An option with a short name is part of the features' names when it isn't at its default:
integer_vif_scale0 becomes integer_vif_scale0_egl_1."""

from __future__ import annotations

import argparse
import json
import textwrap
from typing import TYPE_CHECKING, Final

from acuity.cli.terminal.style import columns

if TYPE_CHECKING:
    from acuity.features import Extractor

SCHEMA: Final = "acuity.features/1"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="explain this extractor")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(arguments: argparse.Namespace) -> int:
    from acuity.features import EXTRACTORS, get_extractor
    from acuity.features.describe import describe_extractor

    chosen = [get_extractor(arguments.name)] if arguments.name else list(EXTRACTORS.values())
    if arguments.json:
        found = [describe_extractor(extractor) for extractor in chosen]
        print(json.dumps({"schema": SCHEMA, "features": found}, indent=2, allow_nan=False))
    elif arguments.name:
        print("\n".join(explain(chosen[0])))
    else:
        print("\n".join(columns([(e.name, e.summary) for e in chosen])))
        print("\n'acuity features NAME' explains one with its options.")
    return 0


def explain(extractor: type[Extractor]) -> list[str]:
    from acuity.features.options import show

    shown = [feature for feature in extractor.features if not feature.hidden]
    plain = [f.alias for f in shown if not f.only_with]
    switches = dict.fromkeys(f.only_with for f in shown if f.only_with)
    given = ["", "gives:", *_wrapped(plain)] if plain else []
    lines = [f"{extractor.name}: {extractor.summary}", *given]
    for switch in switches:
        added = [f.alias for f in shown if f.only_with == switch]
        lines += ["", f"and with {switch}=true:", *_wrapped(added)]
    if not extractor.options:
        return [*lines, "", "It takes no options."]
    head = ("name", "short", "type", "values", "default", "")
    rows = []
    for o in extractor.options:
        short = (o.alias or o.name) if o.named else ""
        rows.append((o.name, short, o.kind, o.values(), show(o.default) or "none", o.help))
    return [*lines, "", "options:", *columns([head, *rows])]


def _wrapped(names: list[str]) -> list[str]:
    return textwrap.wrap(", ".join(names), 96, initial_indent="  ", subsequent_indent="  ")
