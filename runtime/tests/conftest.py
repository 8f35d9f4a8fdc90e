"""What the tests of the runtime share is in shared_fixtures.py, which those of a product may use too."""

from __future__ import annotations

import pytest

from longwire.declared import LONGWIRE, declare

pytest_plugins = ["shared_fixtures"]


def pytest_collectstart() -> None:
    """The tests of a product may be collected in the same process."""
    declare(LONGWIRE)


@pytest.fixture(autouse=True, scope="module")
def _longwire() -> None:
    """Tests serve the runtime's own product, whatever was declared before."""
    declare(LONGWIRE)
