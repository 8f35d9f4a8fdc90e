"""A small server for tests that kill it: it runs a few jobs, prints their process ids, and waits.

    python job_parent.py DATA [fork]

With `fork`, a child of it stays behind that holds everything it had open until its standard input ends.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from acuity.jobs.service import Jobs
from job_helpers import Heard, Running, config, spec


async def main(data: str, fork: bool) -> None:
    async with Jobs(config(workers=2, data=Path(data))) as jobs:
        done = await jobs.run(spec("echo", word="kept"), client="a")
        calls = [Running(jobs, spec(task)) for task in ("hold", "with_child")]
        details = [(await call.holding()).details for call in calls]
        heard = Heard()
        queued = asyncio.ensure_future(jobs.run(spec("echo"), client="b", progress=heard))
        await heard.until("queued, 0 ahead")
        await jobs.list()  # by then all of it is written
        processes = [pid for found in details for pid in found.values()]
        left_behind = os.fork() if fork else None
        if left_behind == 0:
            os.read(0, 1)
            os._exit(0)
        end = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end.set)
        print(json.dumps({"processes": processes, "done": done.id}), flush=True)
        await end.wait()
        await jobs.stop(0.0)
        await asyncio.gather(queued, *(call.call for call in calls), return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], "fork" in sys.argv[2:]))
