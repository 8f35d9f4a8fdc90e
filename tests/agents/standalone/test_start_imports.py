"""What a server loads before it listens: nothing that only some calls need."""

from __future__ import annotations

import subprocess
import sys

LATER = ["av", "jsonschema", "onnxruntime", "pandas", "scipy", "redis", "sigstore"]
PROGRAM = f"""
import sys
import acuity.cli.serve
import acuity.agents.standalone.main
print(*(name for name in {LATER} if name in sys.modules))
"""


def test_a_server_listens_before_it_loads_what_some_calls_need() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
