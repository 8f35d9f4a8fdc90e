"""What serves clients is loaded for the first of them, and nobody has to wait for that who has none."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import pytest

from embedded_client import PATIENCE, connected, hosted, started
from moving_pictures import pair
from scoring_clips import y4m

HEAVY = ["mcp", "mcp_types", "pydantic", "anyio", "jsonschema"]

HOST = f"""
import os, sys, threading
from acuity import EmbeddedServer, Measurement
from moving_pictures import pair
loaded = lambda: [name for name in {HEAVY} if name in sys.modules]
measurement = Measurement(threads=1)
measurement.add_model("vmaf_v0.6.1")
measurement.boundary.on_frame(lambda at: print("at frame", at.last_index, loaded()))
with EmbeddedServer(measurement) as server:
    server.start_uds(sys.argv[1])
    server.start_stdio(*os.pipe())
    server.start_sse()
    server.start_http()
    measurement.add(*pair(0))
    measurement.flush()
print("closed", loaded())
"""

COMMAND = f"""
import sys
from acuity.cli.{{module}} import main
code = main(sys.argv[1:])
print(code, [name for name in {HEAVY} if name in sys.modules])
"""


def test_a_host_without_clients_loads_nothing(tmp_path: Path) -> None:
    with started(HOST, str(tmp_path / "s"), by=subprocess.Popen) as host:
        out, err = host.communicate(timeout=PATIENCE)
    assert out.splitlines() == ["at frame 0 []", "closed []"], err


@pytest.mark.parametrize("module", ["vmaf", "main"])
def test_a_command_without_clients_loads_nothing(module: str, tmp_path: Path) -> None:
    ref, dis = (str(y4m(tmp_path / f"{name}.y4m", 3)) for name in ("ref", "dis"))
    videos = ["-r", ref, "-d", dis] if module == "vmaf" else ["score", ref, dis]
    line = [*videos, "-q", "--enable-mcp-sse=0", "--enable-mcp-http", "--enable-mcp-uds", str(tmp_path / "s")]
    with started(COMMAND.format(module=module), *line, by=subprocess.Popen) as command:
        out, err = command.communicate(timeout=PATIENCE)
    assert out.splitlines()[-1] == "0 []", err


def test_who_comes_before_the_first_frame_and_asks_late_is_served(tmp_path: Path) -> None:
    """A client in the socket's queue is let in before the server closes, also if all frames are gone."""
    with hosted(tmp_path, "vmaf_v0.6.1") as (measurement, server):
        with connected(tmp_path / "s") as client:
            measurement.add(*pair(0))
            measurement.flush()
            closing = threading.Thread(target=server.close)
            closing.start()
            assert client.call("vmaf.status")["state"] == "over"
            assert len(client.call("vmaf.report")["frames"]) == 1
        closing.join(PATIENCE)
        assert not closing.is_alive()
