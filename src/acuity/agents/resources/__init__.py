"""Resources: reports of scores, pictures of worst frames, models and extractors, one family in each file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acuity.agents.resources.catalogs import ExtractorResources, ModelResources
from acuity.agents.resources.reports import ReportResources
from acuity.agents.resources.worst import WorstResources

if TYPE_CHECKING:
    from acuity.agents.services import Services
    from acuity.agents.tools.kept_pictures import KeptPictures
    from acuity.agents.tools.models import ModelList
    from longwire.product.catalog import Resources


def resources(services: Services, models: ModelList, pictures: KeptPictures) -> list[Resources]:
    """All families of resources."""
    return [
        ReportResources(services.jobs),
        WorstResources(services.jobs, pictures),
        ModelResources(models),
        ExtractorResources(),
    ]


__all__ = ["ExtractorResources", "ModelResources", "ReportResources", "WorstResources", "resources"]
