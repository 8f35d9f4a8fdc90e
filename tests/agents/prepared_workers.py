"""Acuity's own processes forked like prepared programs, for tests that are about something else.

A worker that starts imports numpy, the kernels and the engine first: most of what a short job costs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from acuity.child_process import PYTHON
from prepared_programs import starter


@pytest.fixture(scope="module")
def prepared_workers() -> Iterator[None]:
    """Those that this process starts."""
    real = [*PYTHON]
    PYTHON[:] = [*starter(), "-P", "-m"]
    yield
    PYTHON[:] = real


def serving(*arguments: str) -> list[str]:
    """The command of `vmaf-mcp` with such workers; those of methods, too."""
    return [sys.executable, "-c", _SERVING.format(starter()), *arguments]


_SERVING = """
from dataclasses import replace
from acuity.agents.standalone import acuity_product
from acuity.child_process import PYTHON
PYTHON[:] = [*{0}, "-P", "-m"]
product = acuity_product.ACUITY
command = (*PYTHON, product.own_workers.command[-1])
acuity_product.ACUITY = replace(product, own_workers=replace(product.own_workers, command=command))
from acuity.cli.serve import main
raise SystemExit(main())
"""
