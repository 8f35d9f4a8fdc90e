"""Additive detail measure, single precision: how much of the reference's detail is visibly kept or lost."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Self

from acuity.features.extractor import CpuContext, Extractor, Feature, Frame, Geometry
from acuity.features.options import Option
from acuity.features.scales import DEBUG, SCALES, debug_features

# Mode, view distance, display height, scale, diagonal scale, straight and diagonal figures of each scale.
_Sensitivity = tuple[int, float, int, float, float, tuple[float, ...], tuple[float, ...]]
# Sensitivity, gain limit, noise weight, exponent, masking, the scale that is left out of the impairment.
_Setting = tuple[_Sensitivity, float, float, float, bool, int]


def _sensitivity_options(number: int, bands: str) -> list[Option]:
    return [
        Option(
            f"adm_f{number}s{scale}",
            f"f{number}s{scale}",
            "float",
            -1.0,
            -1.0,
            10.0,
            help=f"sensitivity of {bands} at scale {scale}; negative: adm_csf_mode's",
        )
        for scale in SCALES
    ]


class FloatAdm(Extractor):
    name = "float_adm"
    summary = "additive detail measure at four scales, single precision"
    options = (
        DEBUG,
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
        Option("adm_noise_weight", "nw", "float", 0.03125, 0.0, 1500.0, help="weight of the noise floor"),
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
        Option("adm_ref_display_height", "rdf", "int", 1080, 1, 4320, help="display height in lines"),
        Option(
            "adm_csf_mode",
            "csf",
            "int",
            0,
            0,
            9,
            help="contrast sensitivity: 1 Barten, 2 Li; all others Watson",
        ),
        Option("adm_bypass_cm", "bcm", "int", 0, 0, 1, help="1: neighbours mask nothing"),
        Option("adm_adm3_apply_hm", "aah", "bool", False, help="adm3 is a harmonic mean of adm2 and aim"),
        Option("adm_p_norm", "apn", "float", 3.0, 1.0, 20.0, help="exponent of the sums over a band"),
        Option(
            "adm_dlm_weight",
            "dlmw",
            "float",
            0.5,
            0.0,
            1.0,
            help="weight of detail loss in adm3; 1: it alone",
        ),
        Option("adm_min_val", "min", "float", 0.0, 0.0, 1.0, help="smallest adm3"),
        *_sensitivity_options(1, "straight bands"),
        *_sensitivity_options(2, "the diagonal band"),
        Option(
            "adm_skip_aim_scale", "sasc", "int", -1, 0, 3, help="scale that is left out of aim; default: none"
        ),
        Option("adm_skip_scale0", "ssz", "bool", False, help="leave scale 0 out"),
    )
    features = (
        *(Feature(f"VMAF_feature_{n}_score", n) for n in ("adm2", "aim", "adm3")),
        *(Feature(f"VMAF_feature_adm_scale{s}_score", f"adm_scale{s}") for s in SCALES),
        *debug_features("adm"),
    )
    min_size = 17
    min_size_reason = "its coarsest bands are a sixteenth and need two rows and columns for masking"

    def key(self, feature: Feature) -> str:
        # libvmaf names this one figure alike whatever the settings.
        return feature.alias if feature.alias == "adm" else super().key(feature)

    @property
    def sharing(self) -> Hashable:
        return self.flag("adm_skip_scale0")

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> FloatAdmRunner:
        return FloatAdmRunner(members, geometry, cpu)

    def setting(self) -> _Setting:
        """The settings that the native sums depend on."""
        sensitivity: _Sensitivity = (
            int(self.settings["adm_csf_mode"]),
            self.number("adm_norm_view_dist"),
            int(self.settings["adm_ref_display_height"]),
            self.number("adm_csf_scale"),
            self.number("adm_csf_diag_scale"),
            tuple(self.number(f"adm_f1s{scale}") for scale in SCALES),
            tuple(self.number(f"adm_f2s{scale}") for scale in SCALES),
        )
        return (
            sensitivity,
            self.number("adm_enhn_gain_limit"),
            self.number("adm_noise_weight"),
            self.number("adm_p_norm"),
            not self.flag("adm_bypass_cm"),
            int(self.settings["adm_skip_aim_scale"]),
        )

    def figures(self, values: Sequence[float]) -> list[float]:
        """Figures in the order of `features`, from one setting's native output."""
        whole, aim, *rest = values
        if self.flag("adm_adm3_apply_hm"):
            both = whole + aim
            adm3 = 2 * whole * aim / both if both else 0.0
        else:
            weight = self.number("adm_dlm_weight")
            adm3 = whole * weight + (1 - aim) * (1 - weight)
        smallest = self.number("adm_min_val")
        adm3 = adm3 if adm3 > smallest else smallest  # not max(), which would keep a NaN
        return [whole, aim, adm3, *rest[:4], whole, *rest[4:]]


class FloatAdmRunner:
    def __init__(self, members: Sequence[FloatAdm], geometry: Geometry, cpu: CpuContext) -> None:
        from acuity import _native

        settings = list(dict.fromkeys(member.setting() for member in members))
        self._native = cpu.kernel(
            _native.FloatAdm, geometry, skip_scale0=members[0].flag("adm_skip_scale0"), settings=settings
        )
        self._width = _native.FLOAT_ADM_OUTPUTS
        # Each member, its keys, and where its figures start in the native output.
        self._members = [
            (member, member.keys(late=False), settings.index(member.setting()) * self._width)
            for member in members
        ]

    def run(self, frame: Frame) -> dict[str, float]:
        values = self._native.run(frame.ref.luma, frame.dis.luma)
        found: dict[str, float] = {}
        for member, keys, start in self._members:
            # Keys end where the debug features start, unless those are asked for.
            found.update(zip(keys, member.figures(values[start : start + self._width]), strict=False))
        return found
