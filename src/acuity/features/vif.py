"""Visual information fidelity, integer arithmetic: how much of the reference's detail is still there."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from acuity.features.extractor import CpuContext, Extractor, Feature, Frame, Geometry
from acuity.features.options import Option
from acuity.features.scales import DEBUG, SCALES, debug_features


class Vif(Extractor):
    name = "vif"
    summary = "visual information fidelity at four scales"
    options = (
        DEBUG,
        Option(
            "vif_enhn_gain_limit",
            "egl",
            "float",
            100.0,
            1.0,
            100.0,
            help="limit of enhancement gain; 1 allows none",
        ),
        Option("vif_skip_scale0", "ssclz", "bool", False, help="leave scale 0 out"),
    )
    # In the order of the native outputs.
    features = (
        *(Feature(f"VMAF_integer_feature_vif_scale{s}_score", f"integer_vif_scale{s}") for s in SCALES),
        *debug_features("integer_vif"),
    )
    min_size = 16
    min_size_reason = "its coarsest scale is an eighth and needs two samples to reflect"

    @property
    def sharing(self) -> Hashable:
        return self.flag("vif_skip_scale0")

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> VifRunner:
        return VifRunner(members, geometry, cpu)


class VifMembers:
    """Extractors that share a pass: their gain limits, and whose figures are where in the native output."""

    def __init__(self, members: Sequence[Vif]) -> None:
        from acuity import _native

        limits = [member.number("vif_enhn_gain_limit") for member in members]
        self.gains = list(dict.fromkeys(limits))
        self.skip_scale0 = members[0].flag("vif_skip_scale0")
        self._places = [
            (self.gains.index(limit) * _native.VIF_OUTPUTS, member.keys(late=False))
            for limit, member in zip(limits, members, strict=True)
        ]

    def figures(self, values: Sequence[float]) -> dict[str, float]:
        """The members' figures by key, from the native output."""
        found: dict[str, float] = {}
        for start, keys in self._places:
            found.update(zip(keys, values[start : start + len(keys)], strict=True))
        return found

    def columns(self, values: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """The members' figures of several frames by key, from their native outputs, a row for each."""
        columns = np.ascontiguousarray(values.T)
        return {
            key: columns[start + number] for start, keys in self._places for number, key in enumerate(keys)
        }


class VifRunner:
    def __init__(self, members: Sequence[Vif], geometry: Geometry, cpu: CpuContext) -> None:
        from acuity import _native

        self._members = VifMembers(members)
        self._native = cpu.kernel(
            _native.Vif, geometry, skip_scale0=self._members.skip_scale0, gains=self._members.gains
        )

    def run(self, frame: Frame) -> dict[str, float]:
        return self._members.figures(self._native.run(frame.ref.luma, frame.dis.luma))
