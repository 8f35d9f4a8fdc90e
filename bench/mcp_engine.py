"""Scores clips with the engine alone, in a process of its own, and prints the time: the server's peer.

    python bench/mcp_engine.py WIDTH HEIGHT DEPTH

Each line on stdin is a pair of files, `REF\\tDIS`; each answer is a JSON object. The engine is loaded before
the first line is read and the process has low priority, both as in a worker of the server.
"""

import json
import sys
import time
from pathlib import Path

import acuity
from acuity.jobs.config import JobsConfig
from acuity.jobs.worker.main import lower_priority

width, height, depth = (int(text) for text in sys.argv[1:])
lower_priority(JobsConfig(1, 1, 1.0, 1, Path()).nice, None)

for line in sys.stdin:
    ref, dis = line.rstrip("\n").split("\t")
    begin = time.perf_counter()
    report = acuity.score(
        ref,
        dis,
        model="version=vmaf_v0.6.1",
        width=width,
        height=height,
        pixel_format="420",
        bitdepth=depth,
    )
    seconds = time.perf_counter() - begin
    print(json.dumps({"seconds": seconds, "score": report.score}), flush=True)
