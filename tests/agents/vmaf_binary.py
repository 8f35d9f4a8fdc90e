"""An external vmaf binary for tests: it answers options as libvmaf's does, and scores with Acuity."""

from __future__ import annotations

import shlex
from pathlib import Path

import acuity
from prepared_programs import starter

_SCRIPT = """\
import sys
sys.path.insert(0, {home!r})
argv = sys.argv[1:]
if argv == ["--help"]:
    print({help!r})
    sys.exit(0)
if argv == ["--version"]:
    print("v3.2.1-fork.5")
    sys.exit(0)
if {failure!r}:
    print({failure!r}, file=sys.stderr)
    sys.exit(7)
from acuity.cli.vmaf import main
sys.exit(main(argv))
"""

HELP = (
    "vmaf\n --reference/-r\n --distorted/-d\n --width/-w\n --no_cuda\n --no_sycl\n --precision\n --backend\n"
)


def make_binary(folder: Path, failure: str = "", help: str = HELP) -> str:
    """An executable that advertises cuda and sycl beside the CPU; scoring may fail with a message."""
    path = folder / "vmaf"
    home = str(Path(acuity.__file__).resolve().parents[1])
    script = path.with_suffix(".py")
    script.write_text(_SCRIPT.format(home=home, help=help, failure=failure))
    path.write_text(f'#!/bin/sh\nexec {shlex.join([*starter(), str(script)])} "$@"\n')
    path.chmod(0o755)
    return str(path)
