"""The tool run_benchmark: the speed of every backend, and whether its scores equal the CPU's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from acuity.agents.schemas import outline, record
from acuity.agents.tools import external
from acuity.agents.tools.external import backend_options
from acuity.agents.tools.long_tool import long_tool
from acuity.devices import BACKENDS
from acuity.errors import BackendError
from longwire.product.catalog import Tool
from longwire.work import JobSpec

if TYPE_CHECKING:
    from acuity.agents.tools.services import Services

NAME: Final = "run_benchmark"
_SECONDS: Final = 1800.0

# The sizes of VMAF's own benchmark, with enough rounds for a useful median.
FIXTURES: Final = (
    {"width": 576, "height": 324, "frames": 48, "rounds": 5},
    {"width": 1920, "height": 1080, "frames": 5, "rounds": 9},
    {"width": 3840, "height": 2160, "frames": 60, "rounds": 3},
)

_TEXT: Final = """\
Measure how fast this machine scores 576x324, 1920x1080 and 3840x2160 on every backend that works. \
`stdout` is a table for people, `rows` the same for programs: frames per second and wall time of several \
rounds, and the largest difference of a frame's score to the CPU's: PASS below 0.01, WARN below 0.1, FAIL \
above; BASE is the CPU itself, SKIP a backend that isn't there. Takes minutes: use submit_job."""


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

    return [long_tool(services, NAME, "Benchmark", _TEXT, record({}), _OUTPUT, plan)]


async def _external(binary: str) -> dict[str, Any]:
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


_OUTPUT: Final = outline(
    {"exit_code": "integer", "stdout": "string", "stderr": "string", "rows": "array", "machine": "object"}
)
