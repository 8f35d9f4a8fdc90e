"""run_benchmark: how fast this machine scores, and whether every backend gives the CPU's scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from acuity.devices import BACKENDS
from acuity.errors import BackendError
from acuity.jobs.spec import JobSpec
from acuity.mcp import external
from acuity.mcp.catalog import Tool
from acuity.mcp.external_options import backend_options
from acuity.mcp.schemas import array, number, or_null, record, text, whole
from acuity.mcp.tools.engine_schema import ENGINE
from acuity.mcp.tools.long import long_tool

if TYPE_CHECKING:
    from acuity.mcp.services import Services

NAME: Final = "run_benchmark"
_SECONDS: Final = 1800.0

# The sizes that VMAF's own benchmark has, and as many rounds as make the median of each worth having.
FIXTURES: Final = (
    {"width": 576, "height": 324, "frames": 48, "rounds": 5},
    {"width": 1920, "height": 1080, "frames": 5, "rounds": 9},
    {"width": 3840, "height": 2160, "frames": 60, "rounds": 3},
)

_TEXT: Final = """\
Measure how fast this machine scores: 576x324, 1920x1080 and 3840x2160, made on the spot, on every \
backend that works, several rounds each. Gives frames per second and wall time as median, fastest and \
slowest round, and the largest difference of any frame's score to the CPU's: PASS below 0.01, WARN below \
0.1, FAIL above; BASE is the CPU itself, SKIP a backend that isn't there. `stdout` is a table for people, \
`rows` the same for programs. It takes no arguments and occupies the machine for up to some minutes: \
submit it with submit_job where your client does not wait that long, don't score beside it, and use \
vmaf_score to measure clips of your own."""


def tools(services: Services) -> list[Tool]:
    """run_benchmark."""

    async def plan(_: Mapping[str, Any]) -> JobSpec:
        payload: dict[str, Any] = {
            "fixtures": [dict(fixture) for fixture in FIXTURES],
            "external": None,
            "output": services.settings.bench_output,
        }
        if services.settings.binary is not None:
            payload["external"] = await _external(services.settings.binary)
        return JobSpec("benchmark", payload, NAME, "benchmark of every backend", _SECONDS)

    return [
        long_tool(
            services,
            name=NAME,
            title="Benchmark",
            description=_TEXT,
            input_schema=record({}),
            output_schema=_OUTPUT,
            plan=plan,
        )
    ]


async def _external(binary: str) -> dict[str, Any]:
    """The binary's backends with their options; those that it lacks with the reason."""
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


_SPREAD: Final = or_null(
    record({"median": number(), "min": number(), "max": number()}, description="null where it was not run.")
)

_ROW: Final = record(
    {
        "fixture": text("WIDTHxHEIGHT."),
        "width": whole(),
        "height": whole(),
        "frames": whole("Fewer for an external binary at large sizes, as it reads files."),
        "engine": {**text("Acuity, or the binary that VMAF_BIN names."), "enum": ["acuity", "external"]},
        "backend": text(),
        "verdict": {**text(), "enum": ["BASE", "PASS", "WARN", "FAIL", "SKIP"]},
        "reason": or_null(text("Of a verdict other than BASE and PASS.")),
        "rounds": whole(),
        "seconds": _SPREAD,
        "fps": _SPREAD,
        "vmaf": or_null(number("Mean of all frames.")),
        "max_diff": or_null(number("Largest difference of a frame's score to the CPU's.")),
        "max_diff_frame": or_null(whole()),
    }
)

_OUTPUT: Final = record(
    {
        "exit_code": whole("0, or 1 where a backend failed."),
        "stdout": text("The table for people."),
        "stderr": text("What was skipped, is suspicious or failed, and why."),
        "rows": array(_ROW),
        "machine": ENGINE,
    }
)
