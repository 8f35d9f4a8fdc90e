"""Runs a command and prints its exit status, wall time and peak memory as JSON.

It is a script of its own because the kernel counts the parent's memory at the fork towards the child's peak,
so the parent has to be small.
"""

import json
import os
import subprocess
import sys
import time

begin = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
seconds = time.perf_counter() - begin
json.dump(
    {"exit": os.waitstatus_to_exitcode(status), "seconds": seconds, "peak_mb": usage.ru_maxrss / 1024},
    sys.stdout,
)
