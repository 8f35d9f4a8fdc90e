"""VIF: what is refused in single precision, and narrow strips in integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from acuity import _native
from acuity._native import Vif, Workspace
from acuity.errors import FeatureError
from acuity.features.extractor import CpuContext, Geometry
from acuity.features.vif import FloatVif


def test_unknown_windows_are_refused() -> None:
    with pytest.raises(
        FeatureError, match=r"vif_kernelscale cannot be 0\.9: it must be one of 0\.444444, 0\.5, "
    ):
        FloatVif({"vif_kernelscale": 0.9})
    with pytest.raises(FeatureError, match=r"must be one of nearest, bilinear, bicubic, lanczos4"):
        FloatVif({"vif_prescale_method": "area"})


@pytest.mark.parametrize(
    ("options", "smallest"),
    [({}, 16), ({"vif_kernelscale": 2.4}, 40), ({"vif_prescale": 0.5}, 31), ({"vif_prescale": 4.0}, 4)],
)
def test_sizes_follow_from_windows_and_prescale(options: dict[str, Any], smallest: int) -> None:
    extractor = FloatVif(options)
    extractor.check_size(Geometry(smallest, smallest, 8))
    FloatVif.runner([extractor], Geometry(smallest, smallest, 8), CpuContext(_native.Workspace(), ""))
    with pytest.raises(
        FeatureError, match=r"float_vif .*needs pictures of at least \d+x\d+ samples, because"
    ):
        extractor.check_size(Geometry(smallest - 1, 100, 8))
    with pytest.raises(FeatureError, match="needs pictures of at least"):
        FloatVif.runner([extractor], Geometry(smallest - 1, 100, 8), CpuContext(_native.Workspace(), ""))


@pytest.mark.parametrize("width", [513, 519, 520, 1026])
@pytest.mark.parametrize("depth", [8, 10])
def test_narrow_last_strips(width: int, depth: int, instruction_set: str) -> None:
    random = np.random.default_rng(width)
    ref, dis = random.integers(0, 1 << depth, (2, 18, width)).astype(np.uint8 if depth == 8 else np.uint16)

    def figures(kernels: str) -> list[float]:
        vif = Vif(Workspace(), width, 18, depth, skip_scale0=False, gains=[100.0], instruction_set=kernels)
        return vif.run(ref, dis)

    assert figures(instruction_set) == figures("plain")
