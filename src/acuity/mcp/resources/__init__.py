"""Resources: reports of finished scores, models and extractors, one family in each file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acuity.mcp.resources.extractors import ExtractorResources
from acuity.mcp.resources.models import ModelResources
from acuity.mcp.resources.reports import ReportResources

if TYPE_CHECKING:
    from acuity.mcp.catalog import Resources, Services
    from acuity.mcp.tools.model_list import ModelList


def resources(services: Services, models: ModelList) -> list[Resources]:
    """All families of resources."""
    return [ReportResources(services.jobs), ModelResources(models), ExtractorResources()]


__all__ = ["ExtractorResources", "ModelResources", "ReportResources", "resources"]
