"""Clips for the command-line tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_helpers import moving, y4m


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ref and dis, raw and as Y4M. Tests don't write here."""
    folder = tmp_path_factory.mktemp("clips")
    (folder / "ref.yuv").write_bytes(moving())
    (folder / "dis.yuv").write_bytes(moving(noise=25))
    (folder / "ref.y4m").write_bytes(y4m(moving()))
    (folder / "dis.y4m").write_bytes(y4m(moving(noise=25)))
    return folder
