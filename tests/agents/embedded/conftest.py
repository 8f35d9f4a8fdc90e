"""The measurement that most tests of a running server look at."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from live_ground import MODEL, Ground, playing


@pytest.fixture
def ground(tmp_path: Path) -> AbstractAsyncContextManager[Ground]:
    """It has the usual model, and its clients may name files in the test's folder."""
    return playing(tmp_path, MODEL)
