"""`acuity score --live`: the address it prints, its end, and its report."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from prepared_programs import Program
from raw_http import HELLO, call
from scoring_clips import y4m

ADDRESS = re.compile(r"watch it at (http://127\.0\.0\.1:\d+/)#token=([\w-]{32})$")
PATIENCE = 90.0


@pytest.mark.parametrize("ending", ["page", "interrupt"])
def test_it_stays_for_the_page_and_the_report_is_written(tmp_path: Path, ending: str) -> None:
    clips = [str(y4m(tmp_path / "ref.y4m", 6)), str(y4m(tmp_path / "dis.y4m", 6, worse=True))]
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "acuity.cli.main", "score", *clips, "--live", "--mcp-wait", "-o"]
    process = Program([*command, str(report)], stderr=subprocess.PIPE, text=True)
    try:
        while (found := ADDRESS.search(line := process.stderr.readline())) is None:
            assert line  # what is compared comes first
        assert "waiting" in process.stderr.readline()
        headers = {"Authorization": f"Bearer {found[2]}", "Accept": "application/json, text/event-stream"}
        with httpx2.Client(base_url=found[1], headers=headers, timeout=PATIENCE) as http:
            about = {**HELLO["params"], "clientInfo": {"name": "acuity-live-page", "version": "1"}}
            begun = http.post("/mcp", json={**HELLO, "params": about})
            http.headers["Mcp-Session-Id"] = begun.headers["Mcp-Session-Id"]
            http.headers["MCP-Protocol-Version"] = "2025-11-25"
            http.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"})
            http.post("/mcp", json=call(1, "vmaf.curve", status=True))
            while "the page stays until it is closed" not in (line := process.stderr.readline()):
                assert line
            assert len(json.loads(report.read_text())["frames"]) == 6  # before the page is closed
            if ending == "interrupt":
                process.send_signal(signal.SIGINT)
            else:
                http.delete("/mcp")
            assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.communicate()
