"""List the encoders of this machine, with their quality setting, its range, and their versions.

Those that are built in run in this process. An ffmpeg program that ACUITY_FFMPEG names brings more; each
encoder of it is tried with one frame."""

from __future__ import annotations

import argparse
import json
from typing import Any, Final

from acuity.cli.terminal.style import columns
from acuity.errors import EncoderError

SCHEMA: Final = "acuity.tune.encoders/1"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(arguments: argparse.Namespace) -> int:
    from acuity.tune.encoders import usable_encoders
    from acuity.tune.encoders.versions import encoder_version

    found: list[dict[str, Any]] = []
    for encoder in usable_encoders():
        try:
            version: str | None = encoder_version(encoder)
        except EncoderError:
            version = None
        names = ("name", "codec", "knob", "best", "worst", "default")
        found.append({**{name: getattr(encoder, name) for name in names}, "version": version})
    if arguments.json:
        print(json.dumps({"schema": SCHEMA, "encoders": found}, indent=2))
        return 0
    rows = [
        (e["name"], e["codec"], f"{e['knob']} {e['best']} (best) to {e['worst']}", e["version"] or "")
        for e in found
    ]
    print("\n".join(columns(rows)))
    return 0
