"""Runs the official conformance suite against one server, and collects the result of each scenario."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from node_tools import NodeTools

_FOLDER: Final = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario's checks."""

    name: str
    checks: tuple[dict[str, Any], ...]

    @property
    def counts(self) -> Counter[str]:
        return Counter(check["status"] for check in self.checks)

    @property
    def skipped(self) -> bool:
        """Whether the suite itself did not run it."""
        return set(self.counts) == {"SKIPPED"}

    @property
    def passed(self) -> bool:
        """Whether something was checked and nothing found: what SHOULD be counts as much as what MUST be."""
        return bool(self.counts["SUCCESS"]) and not self.problems

    @property
    def problems(self) -> list[str]:
        bad = [check for check in self.checks if check["status"] in ("FAILURE", "WARNING")]
        return [f"{check['id']}: {check.get('errorMessage') or check['description']}" for check in bad]


def run_suite(tools: NodeTools, url: str, revision: str, results: Path) -> list[Scenario]:
    """All scenarios that a revision has, those that it doesn't require and the extensions' included.

    The suite waits about a second for a message, on a machine that may be busy: a scenario in which it found
    something is run once more, alone, and what was found at first is told.
    """
    scenarios = _ran(tools, url, results, "--requirements", revision)
    for index, scenario in enumerate(scenarios):
        if scenario.problems:
            print(f"once more: {scenario.name}", *scenario.problems, sep="\n       ", flush=True)
            alone = ("--scenario", scenario.name, "--spec-version", revision)
            scenarios[index] = _ran(tools, url, results / "again", *alone)[0]
    return scenarios


def _ran(tools: NodeTools, url: str, results: Path, *options: str) -> list[Scenario]:
    shutil.rmtree(results, ignore_errors=True)
    ran = tools.run("conformance", ["server", "--url", url, *options, "-o", str(results)])
    scenarios = [
        Scenario(found["scenario"], tuple(json.loads((folder / "checks.json").read_text())))
        for folder in sorted(results.glob("*"))
        if (found := _FOLDER.fullmatch(folder.name)) is not None
    ]
    if not scenarios:
        raise RuntimeError(f"the conformance suite ran no scenario:\n{ran.out}\n{ran.err}")
    return scenarios
