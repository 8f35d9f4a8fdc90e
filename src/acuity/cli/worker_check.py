"""Hold a worker of any language to the worker contract: each case in a sentence, and what came of it.

    acuity worker-check /run/my-worker.sock
    acuity worker-check --command "php worker.php --socket {socket}"

With --command the worker is started, with the socket's path in the place of {socket} or after --socket at
the end, and ended afterwards. Cases that need a tool that the worker doesn't have are skipped;
runtime/docs/worker-contract.md describes the tools. The exit code is 1 if a case failed."""

from __future__ import annotations

import argparse
from typing import Final

from acuity.agents import check_installed
from acuity.cli.exits import told

USAGE: Final = "[SOCKET] [--command COMMAND] [--only CASE] [--json]"


def configure(parser: argparse.ArgumentParser) -> None:
    check_installed()
    from longwire.command import worker_check

    worker_check.configure(parser)


def run(arguments: argparse.Namespace) -> int:
    from longwire.command import worker_check

    with told():
        return worker_check.run(arguments)
