"""The conformance suite's fixtures, served by the product's own server and transport code.

python fixture_server.py        # prints its address and serves until its standard input ends
"""

from __future__ import annotations

import asyncio
import sys
import warnings
from pathlib import Path
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.exceptions import MCPDeprecationWarning

sys.path.insert(0, str(Path(__file__).parents[1]))  # the tests' own helpers

from acuity.mcp.app import build_server
from acuity.mcp.catalog import Catalog
from acuity.mcp.endpoints import Http
from acuity.mcp.settings import Settings
from acuity.mcp.standalone.serve import Stop, serve
from acuity.mcp.tasks.extension import Tasks
from acuity.mcp.tasks.listen import Listen
from acuity.mcp.wire.listeners import LOOPBACK, Address
from fixture_content import content_tools
from fixture_documents import FixtureResources, complete, legacy_methods, prompts
from fixture_questions import question_tools
from fixture_rounds import round_prompt, round_tools
from fixture_tasks import task_backend, task_tools


def fixture_server() -> Server[Any]:
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
    return build_server(catalog, name="fixtures", version="1")


async def main() -> None:
    stop = Stop()
    loop = asyncio.get_running_loop()

    def ended() -> None:
        loop.remove_reader(sys.stdin)
        stop.request()

    loop.add_reader(sys.stdin, ended)
    await serve(
        fixture_server(),
        [Http(Address(LOOPBACK, 0))],
        Settings(),
        on_ready=lambda opened: print(opened[0].where, flush=True),
        stop=stop,
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore", MCPDeprecationWarning)  # the older era needs what the newer one dropped
    asyncio.run(main())
