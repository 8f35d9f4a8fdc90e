"""Small tasks for the tests of the job service; workers import them by name."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import threading
from typing import Any

from acuity.errors import InputError
from acuity.jobs.tasks import Report
from longwire.work import Progress


def echo(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    return {"echo": payload, "pid": os.getpid()}


def count(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Report every number up to `to`, as quickly as can be."""
    for number in range(1, payload["to"] + 1):
        report(Progress(float(number), float(payload["to"]), f"at {number}", {"fps": 25.5}))
    return {"counted": payload["to"]}


def hold(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Say so, then wait until nobody holds the lock on the file `until`, or for ever."""
    report(Progress(1.0, 2.0, "holding", {"pid": os.getpid()}))
    if "until" not in payload:
        _for_ever()
    with open(payload["until"]) as gate:
        fcntl.flock(gate, fcntl.LOCK_SH)
    return {"pid": os.getpid()}


def with_child(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Wait for a child that never ends, as an external program may."""
    child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    report(Progress(0.0, None, "holding", {"pid": os.getpid(), "child": child.pid}))
    child.wait()
    return {}


def refuse(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    raise InputError("'clip.yuv' is no video: name another file")


def blunder(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    raise {"exit": SystemExit, "key": KeyError}[payload["how"]]("oops")


def crash(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    print(payload.get("words", ""), file=sys.stderr, flush=True)
    ctypes.string_at(0)
    return {}


def end(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    if "signal" in payload:
        os.kill(os.getpid(), signal.Signals[payload["signal"]])
    os._exit(payload.get("status", 0))


def hog(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    return {"held": len(bytearray(payload["bytes"]))}


def large(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    return {"frames": [{"frame": number, "vmaf": number / 7} for number in range(payload["frames"])]}


def odd(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """What JSON can't hold as it is."""
    import numpy as np

    report(Progress(1.0, None, "odd\n\x1b[31m", {"mean": np.float64(93.5), "nothing": float("nan")}))
    return {"nan": float("nan"), "inf": float("inf"), "array": np.float32(0.5), "name": "a\udcffb"}


def garbage(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Write to the control channel past the worker."""
    os.write(int(sys.argv[1]), bytes.fromhex(payload["bytes"]))
    _for_ever()
    return {}


def surroundings(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """What a worker finds around itself."""
    with open("/proc/self/oom_score_adj") as file:
        oom = int(file.read())
    ends = {name: os.readlink(f"/proc/self/fd/{fd}") for fd, name in enumerate(("stdin", "stdout", "stderr"))}
    leader = os.getsid(0) == os.getpgrp() == os.getpid()
    blas = os.environ.get("OPENBLAS_NUM_THREADS")
    return {"blas": blas, "nice": os.nice(0), "oom": oom, "leader": leader, **ends}


def read(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Open a file as the engine does."""
    from acuity.video.local_file import open_local

    os.close(open_local(payload["path"]))
    return {"opened": True}


def _for_ever() -> None:
    threading.Event().wait()


def no_document(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    return [1, 2, 3]  # type: ignore[return-value]


def imported(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    return {name: name in sys.modules for name in payload["modules"]}


def limits(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Say what memory this worker may have, and its tiny models, and go on for ever."""
    from acuity.machine_memory import process_memory
    from acuity.tiny.session import arena_limit

    details = {"pid": os.getpid(), "data": process_memory(), "tiny": arena_limit()}
    report(Progress(1.0, 2.0, "holding", details))
    _for_ever()
    return {}
