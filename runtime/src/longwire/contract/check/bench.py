"""The parts of cases: the worker under test, its capabilities and tools, and how cases fail."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from longwire.contract.check.probe import Failed, Probe


class Skipped(Exception):
    """The worker doesn't offer what a case needs."""


class Bench:
    """The worker at one socket."""

    def __init__(self, path: Path, seconds: float) -> None:
        self.path = path
        self.seconds = seconds  # for one answer
        self.capabilities: dict[str, Any] = {}  # these two: as the worker said in its handshake
        self.tools: set[str] = set()
        self._probes: list[Probe] = []

    async def connect(self) -> Probe:
        """A new connection, after the hellos."""
        probe = await self.open()
        await probe.greet()
        return probe

    async def open(self) -> Probe:
        """A new connection that has said nothing."""
        try:
            probe = await Probe.connect(self.path, self.seconds)
        except OSError as error:
            raise Failed(f"nobody can be reached at '{self.path}': {error.strerror or error}") from None
        self._probes.append(probe)
        return probe

    def need_capability(self, name: str) -> None:
        """Skip the case unless the server has this capability."""
        if name not in self.capabilities:
            raise Skipped(f"the worker doesn't declare the capability '{name}'")

    async def prove_alive(self) -> None:
        """Fail unless a new connection is answered."""
        try:
            await (await self.connect()).ping()
        except Failed as failed:
            raise Failed(f"afterwards the worker can't be used: {failed}") from None

    def end_case(self) -> list[str]:
        """Close all connections; the problems of their frames."""
        problems = [problem for probe in self._probes for problem in probe.problems]
        for probe in self._probes:
            probe.close()
        self._probes.clear()
        return problems


class Case(NamedTuple):
    """One requirement of the contract, in a sentence, and how it is tried."""

    name: str
    requires: str
    run: Callable[[Bench], Awaitable[None]]
    needs: str = ""  # a tool, as the documentation describes it; without it the case is skipped


def texts(result: Mapping[str, Any]) -> str:
    """All text in the content of a tool's result."""
    content = result.get("content")
    if not isinstance(content, list):
        raise Failed("the result of a tool has no array 'content'")
    return "\n".join(str(block.get("text", "")) for block in content if isinstance(block, dict))


def require(condition: object, sentence: str) -> None:
    """Fail with a sentence unless the condition holds."""
    if not condition:
        raise Failed(sentence)
