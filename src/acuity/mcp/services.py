"""The services that tools use, created once for a server and shared by all connections."""

from __future__ import annotations

from dataclasses import dataclass

from acuity.access.paths import AllowedPaths
from acuity.jobs.service import Jobs
from acuity.mcp.settings import Settings


@dataclass(frozen=True, slots=True)
class Services:
    settings: Settings
    paths: AllowedPaths
    jobs: Jobs
