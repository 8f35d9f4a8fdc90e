"""Resources: reports of scores, pictures of worst frames, models and extractors, one family in each file."""

from __future__ import annotations

from acuity.agents.resources.catalogs import ExtractorResources, ModelResources
from acuity.agents.resources.reports import ReportResources
from acuity.agents.resources.worst import WorstResources
from acuity.agents.tools.services import Services
from longwire.product.catalog import Resources


def resources(services: Services) -> list[Resources]:
    return [
        ReportResources(services.jobs),
        WorstResources(services.jobs, services.pictures),
        ModelResources(services.models),
        ExtractorResources(),
    ]


__all__ = ["ExtractorResources", "ModelResources", "ReportResources", "WorstResources", "resources"]
