"""What the tools of a server share: its settings, paths, jobs, models and pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from acuity.agents.tools.kept_pictures import KeptPictures
from acuity.agents.tools.models import ModelList
from acuity.models.choose import AUTO

if TYPE_CHECKING:
    from acuity.access.paths import AllowedPaths
    from acuity.agents.settings import AcuitySettings
    from acuity.jobs.service import Jobs


async def checked_model(services: Services, text: str, *, external: bool) -> str:
    """The model argument of a client for the engine; another binary's own names are left to it."""
    if text == AUTO:
        return text
    finder = await services.models.finder(external=external)
    return services.paths.check_model(text, finder)


class Services:
    """The services of one server, shared by all its connections."""

    def __init__(self, settings: AcuitySettings, paths: AllowedPaths, jobs: Jobs) -> None:
        self.settings: Final = settings
        self.paths: Final = paths
        self.jobs: Final = jobs
        self.models: Final = ModelList()
        self.pictures: Final = KeptPictures(settings.data)
