"""VIF: every instruction set gives the plain figures, also where a strip is narrower than the window."""

from __future__ import annotations

import numpy as np
import pytest

from acuity._native import Vif, Workspace


@pytest.mark.parametrize("width", [513, 519, 520, 1026])
@pytest.mark.parametrize("depth", [8, 10])
def test_narrow_last_strips(width: int, depth: int, instruction_set: str) -> None:
    random = np.random.default_rng(width)
    ref, dis = random.integers(0, 1 << depth, (2, 18, width)).astype(np.uint8 if depth == 8 else np.uint16)

    def figures(kernels: str) -> list[float]:
        vif = Vif(Workspace(), width, 18, depth, skip_scale0=False, gains=[100.0], instruction_set=kernels)
        return vif.run(ref, dis)

    assert figures(instruction_set) == figures("plain")
