"""Kills a server while the official TypeScript clients call it: they resume alone, and miss nothing.

They resume at the server that is started in its place, or at another node of its cluster, behind nginx.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[3] / "runtime" / "tests"))
sys.path.insert(0, str(Path(__file__).parents[3] / "runtime" / "tests" / "dispatch"))
sys.path.insert(0, str(Path(__file__).parents[3] / "runtime" / "tests" / "cluster"))

from cluster_nodes import NGINX, cluster_nodes
from node_tools import LIBRARIES, ClientRun, NodeTools
from redis_server import PROGRAM as REDIS
from restarts import restarts

_SCRIPT: Final = Path(__file__).with_name("client_resumes.mjs")
_UPTO: Final = 30
_KILL: Final = 8  # numbers that were said before the server is killed
_SOON: Final = 30.0  # seconds that a client may take to its end
_LOST: Final = "the server restarted before this call ended: call again"


def resume_after_kill(tools: NodeTools) -> Iterator[ClientRun]:
    """Every client, against a server with a store of its own."""
    for version, (name, exact) in LIBRARIES.items():
        with TemporaryDirectory() as folder, restarts(Path(folder)) as server:
            said = _conversation(tools, version, server.start(), lambda _, server=server: server.restart())
        yield ClientRun(f"{name} {exact}", "Streamable HTTP and kill -9", 1, list(_problems(said)))


def resume_at_other_node(tools: NodeTools) -> Iterator[ClientRun]:
    """Every client, with two nodes behind nginx of which one is killed and not started again."""
    if NGINX is None or REDIS is None:
        yield ClientRun("all clients", "two nodes behind nginx (nginx or Redis is missing: not run)", 0, [])
        return
    with cluster_nodes() as nodes:
        for version, (name, exact) in LIBRARIES.items():
            nodes.start_all()
            front = nodes.front or nodes.start_nginx()
            said = _conversation(tools, version, front, lambda session: nodes[session[:2]].kill())
            yield ClientRun(f"{name} {exact}", "two nodes behind nginx and kill -9", 1, list(_problems(said)))


def _conversation(
    tools: NodeTools, version: str, url: str, kill: Callable[[str], object]
) -> list[tuple[str, Any]]:
    """What the client's caller saw. The server that has the session is killed on the way."""
    asked = {"folder": str(tools.folder), "library": version, "url": url, "upto": _UPTO}
    said: list[tuple[str, Any]] = []
    with tools.start(_SCRIPT, [json.dumps(asked)]) as client:
        assert client.stdout is not None
        try:
            for line in client.stdout:
                found = json.loads(line)
                said.append((found["kind"], found["value"]))
                if said[-1] == ("progress", _KILL):
                    kill(dict(said)["id"])
            client.wait(_SOON)
        except (subprocess.TimeoutExpired, ValueError) as error:
            said.append(("broken", str(error)))
        finally:
            client.kill()
        if client.returncode:
            said.append(("broken", client.stderr.read() if client.stderr else ""))
    return said


def _problems(said: list[tuple[str, Any]]) -> Iterator[str]:
    for kind in ("progress", "call", "session"):
        numbers = [value for found, value in said if found == kind]
        if numbers != list(range(1, len(numbers) + 1)) or len(numbers) < _KILL - 1:
            yield f"{kind} messages are lost or doubled: {numbers}"
    errors = [value for kind, value in said if kind == "error"]
    if len(errors) != 1 or errors[0]["code"] != -32603 or _LOST not in errors[0]["message"]:
        yield f"the call that died was answered with {errors}"
    known = {"version": "2025-11-25", "client": "resumes", "level": "warning"}
    if ("recall", known) not in said:
        yield f"the session did not go on: {said[-1:]}"
    yield from (f"the client broke: {value}" for kind, value in said if kind == "broken")
