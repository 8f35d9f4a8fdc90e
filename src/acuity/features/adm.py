"""Additive detail measure, integer arithmetic: how much of the reference's detail is visibly kept or lost."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from acuity.errors import FeatureError, UnfitOptionError
from acuity.features.extractor import CpuContext, Extractor, Feature, Frame, Geometry
from acuity.features.options import Option, OptionValue
from acuity.features.scales import DEBUG, SCALES, debug_features

_CSF_OPTIONS: Final = (
    "adm_csf_mode",
    "adm_norm_view_dist",
    "adm_ref_display_height",
    "adm_csf_scale",
    "adm_csf_diag_scale",
)


class Adm(Extractor):
    name = "adm"
    summary = "additive detail measure at four scales"
    options = (
        DEBUG,
        Option(
            "adm_csf_scale",
            "scf",
            "float",
            1.0,
            0.0,
            50.0,
            help="scale of Barten's sensitivity, straight bands",
        ),
        Option("adm_csf_diag_scale", "scfd", "float", 1.0, 0.0, 50.0, help="the same, diagonal band"),
        Option(
            "adm_dlm_weight",
            "dlmw",
            "float",
            0.5,
            0.0,
            1.0,
            help="weight of detail loss in adm3; 1: it alone",
        ),
        Option(
            "adm_enhn_gain_limit",
            "egl",
            "float",
            100.0,
            1.0,
            100.0,
            help="limit of enhancement gain; 1 allows none",
        ),
        Option(
            "adm_norm_view_dist", "nvd", "float", 3.0, 0.75, 24.0, help="viewing distance in display heights"
        ),
        Option("adm_ref_display_height", "rdh", "int", 1080, 1, 4320, help="display height in lines"),
        Option(
            "adm_csf_mode",
            "csf",
            "int",
            0,
            0,
            3,
            help="contrast sensitivity: 0 Watson, 1 Barten, 2 blend, 3 blend MAE",
        ),
        Option("adm_noise_weight", "nw", "float", 0.03125, 0.0, 1500.0, help="weight of the noise floor"),
        Option("adm_skip_aim", "", "bool", False, named=False, help="leave the additive impairment out"),
        Option("adm_skip_scale0", "ssz", "bool", False, help="leave scale 0 out"),
        Option("adm_min_val", "min", "float", 0.0, 0.0, 1.0, help="smallest adm3"),
    )
    features = (
        *(Feature(f"VMAF_integer_feature_{n}_score", f"integer_{n}") for n in ("adm2", "aim", "adm3")),
        *(Feature(f"integer_adm_scale{s}", f"integer_adm_scale{s}") for s in SCALES),
        *debug_features("integer_adm"),
    )
    min_size = 17
    min_size_reason = "its coarsest bands are a sixteenth and need two rows and columns for masking"

    def __init__(self, given: Mapping[str, OptionValue] | None = None) -> None:
        super().__init__(given)
        if any(
            self.settings[option.name] != option.default
            for option in self.options
            if option.name in _CSF_OPTIONS
        ):
            from acuity import _native

            try:
                _native.csf_factors(
                    int(self.settings["adm_csf_mode"]),
                    self.number("adm_norm_view_dist"),
                    int(self.settings["adm_ref_display_height"]),
                    self.number("adm_csf_scale"),
                    self.number("adm_csf_diag_scale"),
                )
            except FeatureError as error:  # a display outside the range of the arithmetic or its tables
                raise UnfitOptionError(str(error)) from None

    def merge(self, other: Extractor) -> Extractor:
        if self.flag("adm_skip_aim") == other.flag("adm_skip_aim"):
            return super().merge(other)
        # Skipping the additive impairment changes adm3 but not its name: the complete figure has precedence.
        whole = {"adm_skip_aim": False}
        return type(self)({**self.settings, **whole}).merge(type(self)({**other.settings, **whole}))

    @property
    def sharing(self) -> Hashable:
        return (self.flag("adm_skip_scale0"), *(self.settings[name] for name in _CSF_OPTIONS))

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> AdmRunner:
        return AdmRunner(members, geometry, cpu)

    def figures(self, values: Sequence[Any], at_least: Callable[[Any, float], Any]) -> list[Any]:
        """Figures in the order of `features`, from one setting's native output: numbers or columns."""
        whole, aim, *rest = values
        if self.flag("adm_skip_aim"):
            aim = 0.0 if isinstance(aim, float) else np.zeros(len(aim))
        weight = self.number("adm_dlm_weight")
        adm3 = at_least(whole * weight + (1 - aim) * (1 - weight), self.number("adm_min_val"))
        return [whole, aim, adm3, *rest[:4], whole, *rest[4:]]


def _at_least(value: float, smallest: float) -> float:
    return value if value > smallest else smallest  # not max(), which would keep a NaN


def _all_at_least(values: NDArray[np.float64], smallest: float) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.where(values > smallest, values, smallest)
    return found


class AdmGroup:
    """Extractors that share their sums: the native object, and figures of its outputs."""

    def __init__(self, members: Sequence[Adm], geometry: Geometry, cpu: CpuContext) -> None:
        from acuity import _native

        first = members[0]
        pairs = [(m.number("adm_enhn_gain_limit"), m.number("adm_noise_weight")) for m in members]
        settings = list(dict.fromkeys(pairs))
        self.native = _native.Adm(
            cpu.workspace,
            geometry.width,
            geometry.height,
            geometry.depth,
            csf_mode=int(first.settings["adm_csf_mode"]),
            view_distance=first.number("adm_norm_view_dist"),
            display_height=int(first.settings["adm_ref_display_height"]),
            csf_scale=first.number("adm_csf_scale"),
            csf_diagonal_scale=first.number("adm_csf_diag_scale"),
            skip_scale0=first.flag("adm_skip_scale0"),
            aim=not all(member.flag("adm_skip_aim") for member in members),
            settings=settings,
            instruction_set=cpu.instruction_set,
        )
        self._width = _native.ADM_OUTPUTS
        # Each member, its keys, and where its figures start in the native output.
        self._members = [
            (member, member.keys(late=False), settings.index(pair) * self._width)
            for member, pair in zip(members, pairs, strict=True)
        ]

    def figures(self, values: Sequence[float]) -> dict[str, float]:
        """Figures by key, from the native output."""
        found: dict[str, float] = {}
        for member, keys, start in self._members:
            # There are no keys for debug features unless they are requested.
            own = values[start : start + self._width]
            found.update(zip(keys, member.figures(own, _at_least), strict=False))
        return found

    def columns(self, values: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Figures of several frames by key, from their native outputs, a row for each."""
        columns = np.ascontiguousarray(values.T)
        found: dict[str, NDArray[np.float64]] = {}
        for member, keys, start in self._members:
            own = member.figures(list(columns[start : start + self._width]), _all_at_least)
            found.update(zip(keys, own, strict=False))
        return found


class AdmRunner:
    def __init__(self, members: Sequence[Adm], geometry: Geometry, cpu: CpuContext) -> None:
        self._group = AdmGroup(members, geometry, cpu)

    def run(self, frame: Frame) -> dict[str, float]:
        return self._group.figures(self._group.native.run(frame.ref.luma, frame.dis.luma))
