"""Acuity's own catalog as a worker: `python -m acuity.agents.standalone.method_worker --socket PATH`.

The runtime starts it (see settings.py). Jobs live here; the workers of one runtime share their store
and take turns.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Final

from acuity import __version__
from acuity.agents.settings import SETTINGS_VARIABLE, AcuitySettings, settings_from
from acuity.agents.standalone.acuity_product import declare_acuity
from acuity.agents.standalone.main import NAME, standalone_server
from acuity.errors import AcuityError
from longwire.cluster.redis_link import RedisLink, open_redis
from longwire.errors import LongwireError
from longwire.operations.logs import configure_logging
from longwire.wire.tasks import collect_rarely
from longwire.worker.run import run_until_stopped, serve_worker, socket_of
from longwire.worker.service import Introduction

_JOB_SECONDS: Final = 2.0  # that jobs may take after the calls: the runtime waits three for the process
_HELP: Final = "started by 'acuity serve --method-workers N'"


def main() -> int:
    parser = argparse.ArgumentParser(description=f"A worker of Acuity, {_HELP}.")
    parser.add_argument("--socket")
    declare_acuity()
    path = socket_of(parser.parse_args().socket)
    told = json.loads(os.environ.get(SETTINGS_VARIABLE) or "null")
    if told is None:
        print(f"acuity: {SETTINGS_VARIABLE} is not set: a worker is {_HELP}", file=sys.stderr)
        return 2
    configure_logging(told["log_level"], told["log_format"])
    settings = settings_from(told["settings"])

    async def serve(stop: asyncio.Event) -> None:
        turns = Path(told["turns"])
        async with _redis(settings) as link, standalone_server(settings, turns=turns, link=link) as made:
            collect_rarely()
            about = Introduction(NAME, __version__, max_in_flight=settings.calls)
            limits = settings.wire_limits()
            await serve_worker(made.server, about, path, stop=stop, limits=limits, grace=settings.grace)
            await made.jobs.stop(min(settings.grace, _JOB_SECONDS))

    try:
        run_until_stopped(serve)
    except (AcuityError, LongwireError) as error:
        print(f"acuity: {error}", file=sys.stderr)
        return 1
    return 0


def _redis(settings: AcuitySettings) -> AbstractAsyncContextManager[RedisLink | None]:
    """A connection of this worker's own, for jobs and changes of other nodes; None: there are no others."""
    if settings.cluster_redis is None or settings.cluster_node is None:
        return nullcontext()
    return open_redis(settings.cluster_redis, settings.cluster_node, prefix=settings.cluster_prefix)


if __name__ == "__main__":
    sys.exit(main())
