"""Clips that several tests score, and nothing known of other binaries when a test begins."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acuity.agents.tools import external
from scoring_clips import container, raw


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
