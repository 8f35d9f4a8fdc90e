"""Every golden run on the card and on the CPU, compared bit for bit: the part `golden` of bench/cuda.py.

    ACUITY_GOLDEN=/path/to/golden python bench/cuda_golden.py     # as many processes as there are cores

Processes share the runs, and each has the card for itself as far as it knows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

_TESTS = Path(__file__).resolve().parents[1] / "tests"
_MOST = 12  # processes on one card


def golden(backend: str = "cuda", processes: int | None = None) -> bool:
    """Start the processes, and say what came of all runs."""
    count = processes or min(_MOST, len(os.sched_getaffinity(0)))
    begin = time.perf_counter()
    command = [sys.executable, __file__, "--backend", backend, "--processes", str(count), "--share"]
    running = [
        subprocess.Popen([*command, str(share)], stdout=subprocess.PIPE, text=True) for share in range(count)
    ]
    runs = here = 0
    problems: list[str] = []
    for share, process in enumerate(running):
        out, _ = process.communicate()
        if process.returncode:
            problems.append(f"process {share} ended with {process.returncode}: {out[-300:]!r}")
            continue
        found = json.loads(out.splitlines()[-1])
        runs += found["runs"]
        here += found["here"]
        problems += found["problems"]
    for text in problems[:40]:
        print(f"golden  {text}", flush=True)
    print(
        f"golden  {runs} runs, {here} of them with an extractor on {backend}, {len(problems)} problems, "
        f"{time.perf_counter() - begin:.1f} s, {count} processes",
        flush=True,
    )
    return not problems and runs > 0


def share_of(backend: str, share: int, processes: int) -> dict[str, Any]:
    """One process's runs: how many, how many had an extractor on the backend, and what went wrong."""
    sys.path[:0] = [str(_TESTS), str(_TESTS / "golden")]
    from acuity.measure import Measurement
    from golden_pairs import answered_runs, measure

    found: dict[str, Any] = {"runs": 0, "here": 0, "problems": []}
    for case, run in answered_runs()[share::processes]:
        label = f"{case.name} {run.name}"
        used: set[str] = set()

        def see(measurement: Measurement, used: set[str] = used) -> None:
            used.update(measurement.computed_by.values())

        try:
            theirs = measure(case, run, 1, backend="cpu")
            ours = measure(case, run, 1, backend=backend, on_start=see)
        except Exception as error:
            found["problems"].append(f"FAILED  {label}: {error!r}")
            continue
        found["runs"] += 1
        found["here"] += backend.partition(":")[0] in used
        if list(ours.columns) != list(theirs.columns):
            found["problems"].append(f"DIFFERS {label}: other columns")
        for key, column in theirs.columns.items():
            if key in ours.columns and column.tobytes() != ours.columns[key].tobytes():
                where = np.flatnonzero(column != ours.columns[key])[:3]
                values = f"{ours.columns[key][where]} {column[where]}"
                found["problems"].append(f"DIFFERS {label} {key} frames {where}: {values}")
        if repr(ours.aggregate) != repr(theirs.aggregate):
            found["problems"].append(f"DIFFERS {label}: {ours.aggregate} {theirs.aggregate}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--processes", type=int)
    parser.add_argument("--share", type=int, help="be one of the processes")
    arguments = parser.parse_args()
    # bench/cuda.py would hide the package of that name, which CuPy imports.
    sys.path.remove(os.path.dirname(os.path.abspath(__file__)))
    if arguments.share is None:
        return 0 if golden(arguments.backend, arguments.processes) else 1
    print(json.dumps(share_of(arguments.backend, arguments.share, arguments.processes)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
