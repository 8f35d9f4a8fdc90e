"""Acuity as a product of the runtime: its names, keys, checks and workers."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from acuity import __version__
from acuity.agents import CARRIERS
from acuity.errors import AcuityError, SettingsError
from longwire.config.effective import Effective, Source
from longwire.config.key import Problems
from longwire.declared import OwnWorkers, Product, declare
from longwire.errors import SettingsError as RuntimeSettingsError
from longwire.work import Jobs

if TYPE_CHECKING:
    from acuity.agents.settings import AcuitySettings
    from longwire.endpoints import Endpoint

# The parts load much, and `acuity --help` declares the product: each is imported when it is needed.


def _part(module: str, name: str) -> Any:
    return getattr(import_module(f"acuity.agents.{module}"), name)


def _later(module: str, name: str) -> Callable[..., Any]:
    """A function of another module, which is imported when it is called."""
    return lambda *given: _part(module, name)(*given)


def _sentence(error: Exception, tool: str) -> str:
    from acuity.scoring.fronts import sentence

    return sentence(error, tool) if isinstance(error, AcuityError) else str(error)


@asynccontextmanager
async def _jobs_of_workers(settings: AcuitySettings) -> AsyncIterator[Jobs]:
    """A view of the jobs that workers run."""
    from acuity.agents.settings import jobs_config
    from acuity.jobs.service import Jobs

    async with Jobs(jobs_config(settings, workers=0)) as jobs:  # they are run elsewhere
        yield jobs


def _check_folders(found: Effective, problems: Problems) -> None:
    """The data folder, and the folders that clients may read."""
    from acuity.access.path_roots import resolve_root
    from longwire.server.start_checks import noting

    def root(path: Path, label: str) -> Path:
        try:
            return resolve_root(path, label)
        except SettingsError as error:
            raise RuntimeSettingsError(*error.problems) from None

    folder: Path | None = None
    with noting(problems, found, "server.data"):
        folder = root(found["server.data"], "the data folder")
    for name, source, entry in _allowed(found):
        with noting(problems, found, name, source):
            path = Path(os.path.expanduser(entry))
            if not path.is_absolute():
                raise RuntimeSettingsError(f"the folder '{entry}' is not absolute: write the whole path")
            if root(path, "the folder") == folder:
                raise RuntimeSettingsError(
                    f"'{entry}' is the data folder, which has the jobs of every client: "
                    "name the folders that hold videos, or another data folder"
                )


def _allowed(found: Effective) -> Iterator[tuple[str, Source, str]]:
    """The folders that clients may read or write, each with its key and where it is named."""
    for name in ("server.allow", "server.allow_write"):
        value = found.values[name]
        for source, entries in zip(value.sources, value.parts or (value.value,), strict=True):
            for entry in entries:
                yield name, source, entry


def _warnings(found: Effective) -> Iterable[str]:
    """Settings that are allowed, but that have no effect."""
    for name, source, entry in _allowed(found):
        if not os.path.isdir(os.path.expanduser(entry)):
            yield f"{found.named(name, source)}: '{entry}' is no folder: make it, or correct it"
    if (binary := found["server.vmaf_binary"]) is not None and shutil.which(binary) is None:
        where = found.named("server.vmaf_binary")
        yield f"{where}: there is no program '{binary}': install it, or correct it"


def _adjusted(settings: AcuitySettings, endpoints: Sequence[Endpoint]) -> AcuitySettings:
    """Over stdio alone no other client can come, so one may have all workers."""
    from longwire.endpoints import Stdio

    if len(endpoints) == 1 and isinstance(endpoints[0], Stdio) and settings.running_each is None:
        return replace(settings, running_each=settings.workers)
    return settings


ACUITY: Final = Product(
    name="acuity",
    title="Acuity",
    version=__version__,
    package="acuity-vmaf",
    prefix="ACUITY_",
    other_prefixes=("VMAF_",),
    token="VMAF_MCP_TOKEN",
    settings=lambda: _part("settings", "AcuitySettings"),
    keys=lambda: _part("settings", "KEYS"),
    errors=(AcuityError,),
    sentence=_sentence,
    serving=_later("standalone.main", "standalone_server"),
    own_workers=OwnWorkers(
        command=(sys.executable, "-P", "-m", "acuity.agents.standalone.method_worker"),
        environment=_later("settings", "worker_environment"),
        jobs=_jobs_of_workers,
        carriers=CARRIERS,
    ),
    tool_names=_later("standalone.main", "tool_names"),
    checks=(_check_folders,),
    warnings=_warnings,
    adjusted=_adjusted,
    limits=lambda settings: {"jobs_at_once": settings.workers, "jobs_queued": settings.queue},
)


def declare_acuity() -> None:
    """Let this process serve Acuity."""
    declare(ACUITY)
