"""Resources: reports of scores, pictures of worst frames, models and extractors, one family in each file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acuity.mcp.resources.extractors import ExtractorResources
from acuity.mcp.resources.models import ModelResources
from acuity.mcp.resources.reports import ReportResources
from acuity.mcp.resources.worst import WorstResources

if TYPE_CHECKING:
    from acuity.mcp.catalog import Resources, Services
    from acuity.mcp.tools.kept_pictures import KeptPictures
    from acuity.mcp.tools.model_list import ModelList


def resources(services: Services, models: ModelList, pictures: KeptPictures) -> list[Resources]:
    """All families of resources."""
    return [
        ReportResources(services.jobs),
        WorstResources(services.jobs, pictures),
        ModelResources(models),
        ExtractorResources(),
    ]


__all__ = ["ExtractorResources", "ModelResources", "ReportResources", "WorstResources", "resources"]
