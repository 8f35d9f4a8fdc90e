"""Clips that several tests score, and nothing known of other binaries when a test begins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from acuity.agents.tools import external
from scoring_clips import container, raw
from scoring_room import Ask, ThreadJobs, playing


@pytest.fixture(autouse=True)
def nothing_seen() -> Iterator[None]:
    external._seen.clear()
    yield
    external._seen.clear()


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a raw pair and an encoded one, to be read only."""
    made = tmp_path_factory.mktemp("clips")
    raw(made / "ref.yuv")
    raw(made / "dis.yuv", worse=True)
    container(made / "ref.mkv")
    container(made / "dis.mp4", worse=True, codec="libx264")
    return made


@pytest.fixture
def thread_jobs() -> ThreadJobs:
    return ThreadJobs()


@pytest.fixture
def era() -> str:
    return "2026-07-28"


@pytest.fixture
def ask(clips: Path, thread_jobs: ThreadJobs, era: str) -> AbstractAsyncContextManager[Ask]:
    """A way to ask a server with the scoring tools, which may read the clips."""
    return playing(clips, jobs=thread_jobs, era=era)
