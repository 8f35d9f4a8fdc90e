"""The world that most tests of paths look at."""

from __future__ import annotations

import pytest

from path_ground import Ground, make_ground


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return make_ground(tmp_path_factory.mktemp("paths"))
