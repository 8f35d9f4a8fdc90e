"""A cluster that all tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cluster_nodes import ClusterNodes, cluster_nodes


@pytest.fixture(scope="package")
def cluster() -> Iterator[ClusterNodes]:
    """The same two nodes for all tests, which start those that they need: each has sessions of its own."""
    with cluster_nodes(append_only=True) as nodes:
        yield nodes
