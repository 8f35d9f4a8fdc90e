"""The conformance suite's fixtures, served by the product's own server and transport code.

python fixture_server.py            # prints its address and serves until its standard input ends
python fixture_server.py --behind   # the same, with the fixtures in one worker process
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.exceptions import MCPDeprecationWarning

sys.path.insert(0, str(Path(__file__).parents[3] / "runtime" / "tests"))  # the tests' own helpers

from fixture_content import content_tools
from fixture_documents import FixtureResources, complete, legacy_methods, prompts
from fixture_rounds import question_tools, round_prompt, round_tools
from fixture_tasks import task_backend, task_tools
from longwire.endpoints import Http
from longwire.product.app import build_server
from longwire.product.asking import AskingRules
from longwire.product.calls import NamesBadParams
from longwire.product.catalog import Catalog
from longwire.server.serve import Stop, serve
from longwire.settings import Settings
from longwire.tasks.extension import Tasks
from longwire.tasks.listen import Listen
from longwire.wire.listeners import LOOPBACK, Address
from longwire.worker.run import run_worker
from longwire.worker.service import Introduction
from longwire.workers.home import WorkerPlan
from longwire.workers.pool import WorkerPool


def fixture_server(asking: AskingRules | None = None) -> Server[Any]:
    bus = InMemorySubscriptionBus()
    tasks = task_backend()
    tools = [*content_tools(bus), *question_tools(), *round_tools(), *task_tools()]
    catalog = Catalog(
        tools=tools,
        prompts=[*prompts(), round_prompt()],
        resources=[FixtureResources()],
        complete=complete,
        extensions=[Tasks(tools, tasks)],
        methods=legacy_methods(),
        listen=Listen(bus, tasks),
        instructions="Fixtures of the conformance suite.",
    )
    return build_server(catalog, name="fixtures", version="1", asking=asking)


def front_server() -> Server[Any]:
    """The part of the server that is not in a worker."""
    server: Server[Any] = Server("fixtures", version="1")
    server.middleware.extend([AskingRules().boundary("fixtures"), NamesBadParams()])
    return server


def worker(socket: str) -> None:
    """The fixtures as a worker."""
    run_worker(fixture_server(AskingRules(seals=False)), Introduction("fixtures", "1"), Path(socket))


async def main(behind: bool) -> None:
    stop = Stop()
    loop = asyncio.get_running_loop()

    def ended() -> None:
        loop.remove_reader(sys.stdin)
        stop.request()

    loop.add_reader(sys.stdin, ended)
    workers = None
    if behind:
        workers = WorkerPool(WorkerPlan((sys.executable, __file__), 1), Counter())
    await serve(
        front_server() if behind else fixture_server(),
        [Http(Address(LOOPBACK, 0))],
        Settings(),
        on_ready=lambda opened: print(opened[0].where, flush=True),
        stop=stop,
        workers=workers,
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore", MCPDeprecationWarning)  # the older era needs what the newer one dropped
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--behind", action="store_true")
    parser.add_argument("--socket")
    given = parser.parse_args()
    if given.socket:
        worker(given.socket)
    else:
        asyncio.run(main(given.behind))
