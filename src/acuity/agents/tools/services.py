"""What the tools of a server share: its settings, paths, jobs, models and pictures."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from acuity.agents.tools.kept_pictures import KeptPictures
from acuity.agents.tools.model_list import ModelList
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


async def checked_tiny(services: Services, text: str) -> str:
    """The path of a tiny model's file, given by that or by its name; raises ModelError or PathError."""
    if os.sep not in text and (file := await services.models.find_tiny(text)) is not None:
        text = str(file.path)
    return str(services.paths.check_tiny(text))


class Services:
    """The services of one server, shared by all its connections."""

    def __init__(self, settings: AcuitySettings, paths: AllowedPaths, jobs: Jobs) -> None:
        self.settings: Final = settings
        self.paths: Final = paths
        self.jobs: Final = jobs
        self.models: Final = ModelList()
        self.pictures: Final = KeptPictures(settings.data)
