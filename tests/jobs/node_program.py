"""A node 'a' for tests that kill it: runs a job that never ends.

python node_program.py REDIS FOLDER
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from acuity.jobs.node_jobs import NodeJobs
from acuity.jobs.service import Jobs
from job_helpers import config, spec
from longwire.cluster.redis_link import open_redis


async def main(url: str, folder: str) -> None:
    async with (
        open_redis(url, "a") as link,
        Jobs(config(data=Path(folder) / "a"), NodeJobs(link, beat=0.2, alive=0.6)) as jobs,
    ):
        await jobs.submit(spec("hold"), client="me")
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
