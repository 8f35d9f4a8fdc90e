"""Conformance: the official suite at both eras and the tasks extension, in the server's process and behind a
worker; the inspector and TypeScript clients.

    python tests/agents/conformance/run.py          # what `make conformance` runs

Node and the programs are fetched into build/conformance when they aren't there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from inspection import inspect_product
from node_tools import PROGRAMS, NodeTools
from processes import DidNotStart, fixtures, product_command
from suite import Scenario, run_suite
from typescript_clients import call_wrongly
from typescript_resuming import resume_after_kill, resume_at_other_node

BUILD: Final = Path(__file__).parents[3] / "build" / "conformance"

ERAS: Final = ("2025-11-25", "2026-07-28")

# Scenarios of the suite that the suite itself does not run yet.
NOT_RUN: Final = frozenset({"tasks-status-notifications"})


@dataclass(frozen=True, slots=True)
class Leg:
    """A part of the suite, and how much it has to have: what the suite leaves out would go unnoticed."""

    name: str
    scenarios: Sequence[Scenario]
    most: int  # scenarios
    checks: int

    @property
    def passed(self) -> int:
        return sum(scenario.passed for scenario in self.scenarios)

    @property
    def good(self) -> int:
        return sum(scenario.counts["SUCCESS"] for scenario in self.scenarios)

    @property
    def ok(self) -> bool:
        return len(self.scenarios) == self.passed == self.most and self.good == self.checks

    def row(self) -> str:
        mark = "ok  " if self.ok else "FAIL"
        scenarios = f"{self.passed:>3}/{self.most} scenarios"
        return f"{mark} {self.name:<37} {scenarios} {self.good:>4}/{self.checks} checks"


def main() -> int:
    tools = NodeTools(BUILD / "tools")
    tools.install()
    logs = BUILD / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    places = {"fixtures": (), "worker": ("--behind",)}
    with ThreadPoolExecutor() as pool:  # the suite waits more than it computes
        direct, behind = pool.map(lambda place: _both_eras(tools, logs, place, *places[place]), places)
    legs = [*legs_of(direct), *legs_of(behind, ", behind a worker")]
    print("\n".join(f"{name} {version}" for name, version in PROGRAMS.values()))
    for leg in legs:
        print(leg.row())
        for scenario in leg.scenarios:
            if not scenario.passed:
                print(f"     {scenario.name}", *scenario.problems, sep="\n       ")
    crashed = False
    for log in (logs / f"{place}.log" for place in places):
        if "Traceback" in log.read_text():
            crashed = True
            print(f"FAIL the fixture server logged an exception: see {log}")
    return 0 if call(tools, logs) and all(leg.ok for leg in legs) and not crashed else 1


def _both_eras(tools: NodeTools, logs: Path, place: str, *options: str) -> list[list[Scenario]]:
    """What the suite finds at a fixture server of its own."""
    with fixtures(logs / f"{place}.log", *options) as url:
        return [run_suite(tools, url, era, BUILD / "results" / f"{era}-{place}") for era in ERAS]


def legs_of(eras: Sequence[Sequence[Scenario]], where: str = "") -> list[Leg]:
    """The parts of the suite at both eras."""
    older, newer = eras
    tasks = [scenario for scenario in newer if scenario.name.startswith("tasks-")]
    return [
        Leg(f"protocol 2025-11-25{where}", older, 33, 84),
        Leg(
            f"protocol 2026-07-28{where}", [scenario for scenario in newer if scenario not in tasks], 40, 152
        ),
        Leg(f"tasks extension{where}", [s for s in tasks if not (s.skipped and s.name in NOT_RUN)], 9, 44),
    ]


def call(tools: NodeTools, logs: Path) -> bool:
    """Whether the inspector and callers of the TypeScript clients see what they should, also after a kill."""
    good, command = True, product_command()
    first = chain(inspect_product(tools, command, logs), call_wrongly(tools, command, logs))
    for found in chain(first, resume_after_kill(tools), resume_at_other_node(tools)):
        good &= not found.problems
        mark = "FAIL" if found.problems else "ok  "
        print(f"{mark} {found.client} over {found.transport}: {found.calls} calls", flush=True)
        for problem in found.problems:
            print(f"     {problem}")
    return good


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DidNotStart as error:
        sys.exit(f"FAIL {error}")
