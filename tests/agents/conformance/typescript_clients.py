"""Runs the official TypeScript clients against the product: calls every tool wrongly and reads its error."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from node_tools import LIBRARIES, ClientRun, NodeTools
from processes import listening

_SCRIPT: Final = Path(__file__).with_name("client_calls.mjs")
# One call that is good: what the server answers has to be what its schemas say, too.
_GOOD: Final = ["list_models", {}]


def call_wrongly(tools: NodeTools, command: Sequence[str], logs: Path) -> Iterator[ClientRun]:
    """Every client and transport."""
    with ExitStack() as stack:
        home = stack.enter_context(TemporaryDirectory())
        data = {"ACUITY_DATA": home, "HOME": home}
        port = stack.enter_context(listening(command, logs / "clients.log", **data))
        started = {"command": command[0], "args": list(command[1:]), "env": dict(os.environ) | data}
        servers = {"stdio": started, "Streamable HTTP": {"url": f"http://127.0.0.1:{port}/mcp"}}
        for version, (name, exact) in LIBRARIES.items():
            for transport, server in servers.items():
                asked = {"folder": str(tools.folder), "library": version, "server": server}
                wrong = _answers(tools, {**asked, "calls": []})
                good = _answers(tools, {**asked, "calls": [_GOOD]})
                problems = [problem for answer in wrong if (problem := _problem(answer)) is not None]
                problems += [f"{_GOOD[0]}: {answer}" for answer in good if answer.get("isError", True)]
                if not wrong:
                    problems.append("the server listed no tools")
                yield ClientRun(f"{name} {exact}", transport, len(wrong) + len(good), problems)


def _answers(tools: NodeTools, asked: dict[str, Any]) -> list[dict[str, Any]]:
    ran = tools.script(_SCRIPT, [json.dumps(asked)], timeout=120)
    if ran.code != 0:
        return [{"name": "the client", "thrown": ran.err or ran.out}]
    answers: list[dict[str, Any]] = json.loads(ran.out)
    return answers


def _problem(answer: dict[str, Any]) -> str | None:
    """Why the caller does not see the sentence that says what is wrong; None where it does."""
    name = answer["name"]
    if "thrown" in answer:
        return f"{name}: the client threw {answer['thrown']}"
    if not answer["isError"]:
        return f"{name}: the call was not refused: {answer['text']}"
    sentence = json.loads(answer["text"]).get("error", "")
    expected = (f"tool '{name}' has no argument 'no_such_argument'", f"tool '{name}' missing required")
    return None if sentence.startswith(expected) else f"{name}: {sentence}"
