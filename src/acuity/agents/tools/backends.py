"""The tools list_backends, probe_backend, vmaf_version and run_benchmark."""

from __future__ import annotations

import asyncio
import math
import shutil
import sysconfig
from pathlib import Path
from typing import Any, Final

from acuity.agents.schemas import choices, outline, record
from acuity.agents.tools import external
from acuity.agents.tools.external import backend_options
from acuity.agents.tools.long_tool import ProgressNotifications, long_tool
from acuity.agents.tools.services import Services
from acuity.devices import BACKENDS, describe_engine, look_for
from acuity.errors import AcuityError, BackendError, JobError
from longwire.product.catalog import Arguments, Call, Tool
from longwire.work import JobSpec

_LIST: Final = """\
The backends that the scoring engine was built with: true means compiled in, not that it works here: call \
probe_backend before you pass one as `backend`. One that is false is refused, never replaced. `cards` has \
the graphics cards: name, driver, memory in bytes, and the `problem` of one on which a kernel didn't run. \
Where the operator has set VMAF_BIN, that binary scores: the booleans are its own, `external` has its \
path, `own` those of Acuity's engine."""

_PROBE: Final = """\
Score one 64x64 grey pair with a backend: whether its driver is there and healthy. Call it before the \
first score with a backend other than auto or cpu, or when scores fail. An unhealthy backend is an answer, \
not a failure: runtime_healthy is false and `error` says why. `cards` has the graphics cards. Where \
VMAF_BIN is set, that binary is probed, `external` has the same with its path, `own` is the probe of \
Acuity's engine."""

_VERSION: Final = """\
What does the scoring: the vmaf command, its version and backends, and Acuity's own engine with its \
instruction set and threads. Quote it beside scores that others should reproduce. Where the operator has \
set VMAF_BIN, binary_path, version and build_flags are that binary's; `error` says what is wrong with it."""

_PROBE_SECONDS: Final = 60.0
_CARDS_SECONDS: Final = 20.0  # that a list of backends waits for the cards


_BENCHMARK: Final = """\
Measure how fast this machine scores 576x324, 1920x1080 and 3840x2160 on every backend that works. \
`stdout` is a table for people, `rows` the same for programs: frames per second and wall time of several \
rounds, and the largest difference of a frame's score to the CPU's: PASS below 0.01, WARN below 0.1, FAIL \
above; BASE is the CPU itself, SKIP a backend that isn't there. Takes minutes: use submit_job."""

_RUN: Final = "run_benchmark"
_RUN_SECONDS: Final = 1800.0
# The sizes of VMAF's own benchmark, with enough rounds for a useful median.
FIXTURES: Final = (
    {"width": 576, "height": 324, "frames": 48, "rounds": 5},
    {"width": 1920, "height": 1080, "frames": 5, "rounds": 9},
    {"width": 3840, "height": 2160, "frames": 60, "rounds": 3},
)


def tools(services: Services) -> list[Tool]:
    its = _BackendTools(services)
    backend = record("backend", backend=choices(BACKENDS, "The backend to probe."))
    return [
        Tool("list_backends", "List backends", _LIST, record(), its.list, _LIST_OUTPUT),
        Tool("probe_backend", "Probe a backend", _PROBE, backend, its.probe, _PROBE_OUTPUT),
        Tool("vmaf_version", "What does the scoring", _VERSION, record(), its.version, _VERSION_OUTPUT),
        long_tool(services, _RUN, "Benchmark", _BENCHMARK, record(), _RUN_OUTPUT, its.plan_benchmark),
    ]


class _BackendTools:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._found: list[dict[str, Any]] | None = None  # the cards, once all have worked

    async def list(self, call: Call) -> dict[str, Any]:
        binary, own = self._services.settings.binary, _compiled()
        cards = await self._cards(call)
        if binary is None:
            return {**own, **cards}
        found = await _describe(binary)
        return {**found["backends"], "external": found, "own": own, **cards}

    async def _cards(self, call: Call) -> dict[str, Any]:
        """The graphics cards, if there may be any: a worker runs a kernel on each, once."""
        if look_for("cuda").problem is not None:
            return {}
        if self._found is None:
            title = "cards of this machine"
            spec = JobSpec("cards", {"backend": "cuda"}, call.tool.name, title, _PROBE_SECONDS, short=True)
            asked = self._services.jobs.run(spec, client=call.client)
            try:
                outcome = await asyncio.wait_for(asked, _CARDS_SECONDS)
            except JobError as error:
                return {"cards": [], "cards_error": str(error)}
            except TimeoutError:
                return {"cards": [], "cards_error": "no worker was free to look for cards: ask again later"}
            found, reason = outcome.document["cards"], outcome.document["error"]
            if reason is not None or any(card["problem"] for card in found):
                return {"cards": found, **({} if reason is None else {"cards_error": reason})}
            self._found = found
        return {"cards": self._found}

    async def version(self, _: Call) -> dict[str, Any]:
        binary, engine = self._services.settings.binary, describe_engine()
        if binary is None:
            found = {"path": _command(), "backends": _compiled(), "error": None}
            version = engine["version"]
        else:
            found = await _describe(binary)
            version = await external.version(external.locate(binary)) if found["error"] is None else None
        return {
            "binary_path": found["path"],
            "version": version,
            "build_flags": found["backends"],
            "error": found["error"],
            "engine": engine,
        }

    async def probe(self, call: Call) -> dict[str, Any]:
        name, binary = call.arguments["backend"], self._services.settings.binary
        signs = look_for(name)
        own = _unhealthy(str(signs.problem), compiled=False)
        if signs.installed:
            own = await self._run(call, {"backend": name})
        if binary is None:
            return {"backend": name, **own}
        found = await self._probe_binary(call, binary)
        health = {key: value for key, value in found.items() if key != "path"}
        return {"backend": name, **health, "external": found, "own": own}

    async def _probe_binary(self, call: Call, binary: str) -> dict[str, Any]:
        name = call.arguments["backend"]
        try:
            vmaf = await external.examine(binary)
        except BackendError as error:
            return {"path": binary, **_unhealthy(str(error), compiled=False)}
        if name not in vmaf.backends:
            there = ", ".join(vmaf.backends)
            problem = f"the binary does not advertise the backend '{name}': it has {there}"
            return {"path": str(vmaf.path), **_unhealthy(problem, compiled=False)}
        options = backend_options(vmaf, name)
        payload = {"backend": name, "binary": str(vmaf.path), "options": options}
        return {"path": str(vmaf.path), **await self._run(call, payload)}

    async def _run(self, call: Call, payload: dict[str, Any]) -> dict[str, Any]:
        """Probe in a worker process, where a crash affects nothing else."""
        title = f"probe of {payload['backend']}"
        spec = JobSpec("probe", payload, call.tool.name, title, _PROBE_SECONDS, short=True)
        notifications = ProgressNotifications(call.progress)
        try:
            outcome = await self._services.jobs.run(spec, client=call.client, progress=notifications.send)
        except JobError as error:
            return _unhealthy(str(error))
        latency, score = outcome.document["latency_ms"], outcome.document["score"]
        healthy = isinstance(score, int | float) and math.isfinite(score)
        return {
            "compiled_in": True,
            "runtime_healthy": healthy,
            "latency_ms": latency,
            "score": score if healthy else None,
            "error": None if healthy else f"the backend ran but gave no finite score ({score})",
            **({"cards": outcome.document["cards"]} if "cards" in outcome.document else {}),
        }

    async def plan_benchmark(self, _: Arguments) -> JobSpec:
        settings = self._services.settings
        payload: dict[str, Any] = {
            "fixtures": [dict(fixture) for fixture in FIXTURES],
            "external": None if settings.binary is None else await _benchmarked(settings.binary),
            "output": settings.bench_output,
        }
        title = "benchmark of every backend"
        return JobSpec("benchmark", payload, _RUN, title, _RUN_SECONDS)


def _compiled() -> dict[str, bool]:
    return {name: look_for(name).installed for name in BACKENDS}


def _command() -> str:
    """The vmaf command that was installed with Acuity, or its module."""
    installed = shutil.which("vmaf", path=sysconfig.get_path("scripts"))
    return installed or str(Path(__file__).parents[2] / "cli" / "vmaf.py")


def _unhealthy(error: str, *, compiled: bool = True) -> dict[str, Any]:
    nothing = dict.fromkeys(("latency_ms", "score"))
    return {"compiled_in": compiled, "runtime_healthy": False, **nothing, "error": error}


async def _describe(binary: str) -> dict[str, Any]:
    """The binary's path, backends and error; no backends if it can't be run."""
    try:
        vmaf = await external.examine(binary)
    except AcuityError as error:
        return {"path": binary, "backends": dict.fromkeys(BACKENDS, False), "error": str(error)}
    there = {name: name in vmaf.backends for name in BACKENDS}
    return {"path": str(vmaf.path), "backends": there, "error": None}


async def _benchmarked(binary: str) -> dict[str, Any]:
    """All backends with the binary's options, or with the problem if it lacks one."""
    try:
        vmaf = await external.examine(binary)
    except BackendError as error:
        skipped = [{"name": "cpu", "options": [], "problem": str(error)}]
        return {"path": binary, "backends": skipped}
    digits = ["--precision", "max"] if "precision" in vmaf.options else []
    return {
        "path": str(vmaf.path),
        "backends": [
            {
                "name": name,
                "options": [*digits, *backend_options(vmaf, name)],
                "problem": None if name in vmaf.backends else "the binary does not advertise it",
            }
            for name in BACKENDS
        ],
    }


_SOMETIMES: Final = "external,own:object cards:array"
_LIST_OUTPUT: Final = outline(f"{','.join(BACKENDS)}:boolean", f"{_SOMETIMES} cards_error:string")

_PROBE_OUTPUT: Final = outline(
    "backend:string compiled_in,runtime_healthy:boolean latency_ms,score:number? error:string?", _SOMETIMES
)

_VERSION_OUTPUT: Final = outline(
    "binary_path:string version:string? build_flags:object error:string? engine:object"
)

_RUN_OUTPUT: Final = outline("exit_code:integer stdout,stderr:string rows:array machine:object")
