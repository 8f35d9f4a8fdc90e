"""Runs the official inspector against the product: lists and calls tools over every transport."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from node_tools import ClientRun, NodeTools
from processes import listening

HANDSHAKE: Final = ("handshake", [])
STATELESS: Final = ("stateless", ["--protocol-era", "modern"])
METHODS: Final = {
    # Strict: a schema that other clients can't use is an error, too.
    "tools/list": ["--method", "tools/list", "--strict"],
    "tools/call": ["--method", "tools/call", "--tool-name", "list_models"],
}


def inspect_product(tools: NodeTools, command: Sequence[str], logs: Path) -> Iterator[ClientRun]:
    """Every transport, era and method."""
    with ExitStack() as stack:
        # Neither the product's jobs nor the inspector's notes belong among the user's own.
        home = stack.enter_context(TemporaryDirectory())
        data = {"ACUITY_DATA": home, "HOME": home}
        port = stack.enter_context(listening(command, logs / "product.log", **data))
        base = f"http://127.0.0.1:{port}"
        targets = [
            ("stdio", [*command, *_inherited(data)], (HANDSHAKE, STATELESS)),
            ("Streamable HTTP", [f"{base}/mcp", "--transport", "http"], (HANDSHAKE, STATELESS)),
            ("HTTP+SSE", [f"{base}/sse", "--transport", "sse"], (HANDSHAKE,)),
        ]
        for transport, target, eras in targets:
            for era, era_options in eras:
                for method, options in METHODS.items():
                    arguments = ["--cli", *target, *era_options, *options, "--format", "json", "-q"]
                    ran = tools.run("mcp-inspector", arguments, timeout=60, **data)
                    problem = _problem(method, ran.out) if ran.code == 0 else f"{ran.out}{ran.err}"
                    problems = [] if problem is None else [problem]
                    yield ClientRun(f"inspector: {method}", f"{transport}, {era} era", 1, problems)


def _inherited(data: dict[str, str]) -> list[str]:
    """Clients start servers with hardly any environment, so what the server needs is named."""
    environment = data | {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    return [part for name, value in environment.items() for part in ("-e", f"{name}={value}")]


def _problem(method: str, out: str) -> str | None:
    result: dict[str, Any] = json.loads(out)["result"]
    if method == "tools/list":
        listed = [tool["name"] for tool in result["tools"]]
        return None if "list_models" in listed else f"list_models is not among {listed}"
    if result.get("isError") or not result.get("structuredContent"):
        return f"list_models answered {out}"
    return None
