"""The commands of docs/runtime.md, one after the other in one shell, and what the server counts meanwhile."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from prepared_programs import starter
from served_program import SECONDS, longwire_server

ROOT = Path(__file__).resolve().parents[2]
WORKER = ROOT / "examples" / "workers" / "python" / "worker.py"
PAGE = (ROOT / "docs" / "runtime.md").read_text()
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
NEXT = "printf '\\n--next--\\n'\n"


def figures(address: str) -> dict[str, float]:
    """The metrics without labels."""
    text = urlopen(address, timeout=SECONDS).read().decode()
    families = text_string_to_metric_families(text)
    return {
        sample.name: sample.value for family in families for sample in family.samples if not sample.labels
    }


def answers(printed: str) -> list[dict[str, Any]]:
    """The results in answers as JSON and as events."""
    lines = (line.removeprefix("data: ") for line in printed.splitlines())
    return [json.loads(line) for line in lines if line.startswith('{"jsonrpc"')]


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed here")
def test_the_commands_do_what_the_page_says(tmp_path: Path) -> None:
    command = shlex.join([*starter(), str(WORKER)])
    with longwire_server(tmp_path, "--http", "0", "--metrics", "0", "--worker-command", command) as server:
        metrics = server.where("metrics").where
        there = urlsplit(server.where("http").where).netloc
        script = NEXT.join(block.replace("127.0.0.1:8080", there) for block in BLOCKS)
        done = subprocess.run(
            ["sh", "-euc", script], capture_output=True, text=True, timeout=SECONDS, check=True
        )
        single, session, resumed, ended = done.stdout.split("--next--\n")
        counted = figures(metrics)
    (answer,) = answers(single)
    assert answer["result"]["content"][0]["text"] == "hello"
    (answer,) = answers(session)
    assert answer["id"] == 2
    (answer,) = answers(resumed)
    assert answer["id"] == 3
    assert ended == ""
    assert counted["longwire_mcp_connections"] >= 1  # the one that asked
    expected = {
        "sessions": 0,
        "sessions_created_total": 1,
        "sessions_deleted_total": 1,
        "messages_resumed_total": 1,
    }
    assert {name: counted[f"longwire_mcp_{name}"] for name in expected} == expected
