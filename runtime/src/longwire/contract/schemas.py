"""JSON Schemas of every envelope, read from worker-contract.schema.json beside this file."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, Final, Literal, TypeAlias

Schema: TypeAlias = dict[str, Any]
Sender: TypeAlias = Literal["runtime", "worker"]


def bundle_text() -> str:
    """The text of the file: an envelope is valid if it fits one of its schemas."""
    return files(__package__).joinpath("worker-contract.schema.json").read_text(encoding="utf-8")


def _of(sender: Sender) -> dict[str, Schema]:
    parts = json.loads(bundle_text())["$defs"].items()
    return {name.removeprefix(f"{sender}-"): part for name, part in parts if name.startswith(sender)}


SCHEMAS: Final[dict[Sender, dict[str, Schema]]] = {"runtime": _of("runtime"), "worker": _of("worker")}
