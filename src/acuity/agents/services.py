"""The services that the standalone server's tools use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from acuity.access.paths import AllowedPaths
    from acuity.agents.settings import AcuitySettings
    from acuity.jobs.service import Jobs

CARRIERS: Final = {"submit_job": "tool"}  # tools that run others, and the argument that names those


@dataclass(frozen=True, slots=True)
class Services:
    """The services, created once and shared by all connections."""

    settings: AcuitySettings
    paths: AllowedPaths
    jobs: Jobs
