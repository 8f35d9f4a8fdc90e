"""Additive detail measure: how much of the reference's detail is visibly kept or lost.

In integer arithmetic and in single precision.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, Self

from acuity import _native
from acuity.arrays import np
from acuity.errors import FeatureError, UnfitOptionError
from acuity.features.extractor import CpuContext, Extractor, Feature, Geometry, Run
from acuity.features.options import OptionValue, number, switch
from acuity.features.scales import DEBUG, SCALES, PassMember, SharedPass, at_least, debug_features

_CSF_SCALE: Final = number(
    "adm_csf_scale", "scf", 1.0, 0.0, 50.0, "scale of Barten's sensitivity, straight bands"
)
_CSF_DIAGONAL_SCALE: Final = number("adm_csf_diag_scale", "scfd", 1.0, 0.0, 50.0, "the same, diagonal band")
_DETAIL_WEIGHT: Final = number(
    "adm_dlm_weight", "dlmw", 0.5, 0.0, 1.0, "weight of detail loss in adm3; 1: it alone"
)
_GAIN_LIMIT: Final = number(
    "adm_enhn_gain_limit", "egl", 100.0, 1.0, 100.0, "limit of enhancement gain; 1 allows none"
)
_DISTANCE: Final = number("adm_norm_view_dist", "nvd", 3.0, 0.75, 24.0, "viewing distance in display heights")
_NOISE: Final = number("adm_noise_weight", "nw", 0.03125, 0.0, 1500.0, "weight of the noise floor")
_SKIP_SCALE0: Final = switch("adm_skip_scale0", "ssz", "leave scale 0 out")
_SMALLEST: Final = number("adm_min_val", "min", 0.0, 0.0, 1.0, "smallest adm3")
_CSF_OPTIONS: Final = (
    *("adm_csf_mode", "adm_norm_view_dist", "adm_ref_display_height"),
    *("adm_csf_scale", "adm_csf_diag_scale"),
)
# Mode, view distance, display height, scale and diagonal scale.
_Csf = tuple[int, float, int, float, float]
# The same with the straight and diagonal figures of each scale; gain limit, noise weight, exponent, masking,
# and the scale that is left out of the impairment.
_FloatSetting = tuple[tuple[Any, ...], float, float, float, bool, int]


class _AnyAdm(PassMember):
    """The base of Adm and FloatAdm."""

    min_size = 17
    min_size_reason = "its coarsest bands are a sixteenth and need two rows and columns for masking"

    @property
    def csf(self) -> _Csf:
        """The settings of contrast sensitivity, as the native functions take them."""
        mode, distance, height, *scales = (self.settings[name] for name in _CSF_OPTIONS)
        straight, diagonal = map(float, scales)
        return int(mode), float(distance), int(height), straight, diagonal

    def figures(self, values: Sequence[Any]) -> list[Any]:
        whole, aim, *rest = values
        adm3 = at_least(self.combined(whole, aim), self.number("adm_min_val"))
        return [whole, aim, adm3, *rest[:4], whole, *rest[4:]]

    def combined(self, whole: Any, aim: Any) -> Any:
        """adm3, from what is kept of the detail and what is added to it."""
        weight = self.number("adm_dlm_weight")
        return whole * weight + (1 - aim) * (1 - weight)


class Adm(_AnyAdm):
    name = "adm"
    summary = "additive detail measure at four scales"
    options = (
        DEBUG, _CSF_SCALE, _CSF_DIAGONAL_SCALE, _DETAIL_WEIGHT, _GAIN_LIMIT, _DISTANCE,
        number("adm_ref_display_height", "rdh", 1080, 1, 4320, "display height in lines"),
        number("adm_csf_mode", "csf", 0, 0, 3,
            "contrast sensitivity: 0 Watson, 1 Barten, 2 blend, 3 blend MAE"),
        _NOISE,
        switch("adm_skip_aim", "", "leave the additive impairment out"),
        _SKIP_SCALE0, _SMALLEST,
    )  # fmt: skip
    features = (
        *(Feature(f"VMAF_integer_feature_{n}_score", f"integer_{n}") for n in ("adm2", "aim", "adm3")),
        *(Feature(f"integer_adm_scale{s}", f"integer_adm_scale{s}") for s in SCALES),
        *debug_features("integer_adm"),
    )

    def __init__(self, given: Mapping[str, OptionValue] | None = None) -> None:
        super().__init__(given)
        usual = {option.name: option.default for option in self.options}
        if any(self.settings[name] != usual[name] for name in _CSF_OPTIONS):
            try:
                _native.csf_factors(*self.csf)
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
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Run:
        shared, native = adm_pass(members, geometry, cpu)
        return lambda frame: shared.figures(native.run(frame.ref.samples[0], frame.dis.samples[0]))

    def figures(self, values: Sequence[Any]) -> list[Any]:
        whole, aim, *rest = values
        if self.flag("adm_skip_aim"):
            aim = 0.0 if isinstance(aim, float) else np.zeros(len(aim))
        return super().figures([whole, aim, *rest])


def adm_pass(
    members: Sequence[Adm], geometry: Geometry, cpu: CpuContext
) -> tuple[SharedPass[tuple[float, float]], _native.Adm]:
    """The pass of extractors that share their sums, and the native object that computes these."""
    first = members[0]
    own = [(member.number("adm_enhn_gain_limit"), member.number("adm_noise_weight")) for member in members]
    shared = SharedPass(members, own, _native.ADM_OUTPUTS)
    names = "csf_mode", "view_distance", "display_height", "csf_scale", "csf_diagonal_scale"
    native = cpu.kernel(
        _native.Adm,
        geometry,
        **dict(zip(names, first.csf, strict=True)),
        skip_scale0=first.flag("adm_skip_scale0"),
        aim=not all(member.flag("adm_skip_aim") for member in members),
        settings=shared.settings,
    )
    return shared, native


class FloatAdm(_AnyAdm):
    name = "float_adm"
    summary = "additive detail measure at four scales, single precision"
    options = (
        DEBUG, _GAIN_LIMIT, _DISTANCE, _NOISE, _CSF_SCALE, _CSF_DIAGONAL_SCALE,
        number("adm_ref_display_height", "rdf", 1080, 1, 4320, "display height in lines"),
        number("adm_csf_mode", "csf", 0, 0, 9, "contrast sensitivity: 1 Barten, 2 Li; all others Watson"),
        number("adm_bypass_cm", "bcm", 0, 0, 1, "1: neighbours mask nothing"),
        switch("adm_adm3_apply_hm", "aah", "adm3 is a harmonic mean of adm2 and aim"),
        number("adm_p_norm", "apn", 3.0, 1.0, 20.0, "exponent of the sums over a band"),
        _DETAIL_WEIGHT, _SMALLEST,
        *(number(f"adm_f{which}s{scale}", f"f{which}s{scale}", -1.0, -1.0, 10.0,
            f"sensitivity of {bands} at scale {scale}; negative: adm_csf_mode's")
            for which, bands in ((1, "straight bands"), (2, "the diagonal band")) for scale in SCALES),
        number("adm_skip_aim_scale", "sasc", -1, 0, 3, "scale that is left out of aim; default: none"),
        _SKIP_SCALE0,
    )  # fmt: skip
    features = (
        *(Feature(f"VMAF_feature_{n}_score", n) for n in ("adm2", "aim", "adm3")),
        *(Feature(f"VMAF_feature_adm_scale{s}_score", f"adm_scale{s}") for s in SCALES),
        *debug_features("adm"),
    )

    def key(self, feature: Feature) -> str:
        # libvmaf names this one figure alike whatever the settings.
        return feature.alias if feature.alias == "adm" else super().key(feature)

    @property
    def sharing(self) -> Hashable:
        return self.flag("adm_skip_scale0")

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Run:
        shared = SharedPass(members, [member.setting for member in members], _native.FLOAT_ADM_OUTPUTS)
        skip = members[0].flag("adm_skip_scale0")
        native = cpu.kernel(_native.FloatAdm, geometry, skip_scale0=skip, settings=shared.settings)
        return lambda frame: shared.figures(native.run(frame.ref.samples[0], frame.dis.samples[0]))

    @property
    def setting(self) -> _FloatSetting:
        """The settings that the native sums depend on."""
        bands = [tuple(self.number(f"adm_f{which}s{scale}") for scale in SCALES) for which in (1, 2)]
        return (
            (*self.csf, *bands),
            self.number("adm_enhn_gain_limit"),
            self.number("adm_noise_weight"),
            self.number("adm_p_norm"),
            not self.flag("adm_bypass_cm"),
            int(self.settings["adm_skip_aim_scale"]),
        )

    def combined(self, whole: Any, aim: Any) -> Any:
        if not self.flag("adm_adm3_apply_hm"):
            return super().combined(whole, aim)
        both = whole + aim
        return 2 * whole * aim / both if both else 0.0
