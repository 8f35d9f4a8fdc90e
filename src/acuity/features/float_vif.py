"""Visual information fidelity, single precision: how much of the reference's detail is still there."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Final, Self

from acuity.errors import FeatureError, NoFilterError, UnfitPictureError
from acuity.features.extractor import CpuContext, Extractor, Feature, Frame, Geometry
from acuity.features.options import Option, OptionValue, show
from acuity.features.scales import DEBUG, SCALES, debug_features

# The settings that one pass depends on; it serves several gain limits.
_SHARED: Final = (
    "vif_kernelscale",
    "vif_prescale",
    "vif_prescale_method",
    "vif_sigma_nsq",
    "vif_skip_scale0",
)


class FloatVif(Extractor):
    name = "float_vif"
    summary = "visual information fidelity at four scales, single precision"
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
        Option(
            "vif_kernelscale",
            "ks",
            "float",
            1.0,
            0.1,
            4.0,
            help="how much wider its windows are; only some values",
        ),
        Option("vif_prescale", "ps", "float", 1.0, 0.1, 4.0, help="how much larger pictures are made first"),
        *(
            Option(f"vif_scale{s}_min_val", f"s{s}miv", "float", 0.0, 0.0, 1.0, help=f"smallest vif_scale{s}")
            for s in SCALES[1:]
        ),
        Option(
            "vif_prescale_method",
            "pm",
            "text",
            "nearest",
            choices=("nearest", "bilinear", "bicubic", "lanczos4"),
            help="how vif_prescale makes pictures",
        ),
        Option("vif_sigma_nsq", "snsq", "float", 2.0, 0.0, 5.0, help="variance of the eye's own noise"),
        Option("vif_skip_scale0", "ssclz", "bool", False, help="leave scale 0 out"),
    )
    # In the order of the native outputs.
    features = (
        *(Feature(f"VMAF_feature_vif_scale{s}_score", f"vif_scale{s}") for s in SCALES),
        *debug_features("vif"),
    )
    min_size = 16
    min_size_reason = "its coarsest scale is an eighth and needs two samples to reflect"

    def __init__(self, given: Mapping[str, OptionValue] | None = None) -> None:
        super().__init__(given)
        if self.settings["vif_kernelscale"] != 1.0:
            self._smallest()

    def _smallest(self) -> int:
        """The smallest side that its windows can reflect; raises NoFilterError for unknown windows."""
        from acuity import _native

        try:
            return _native.float_vif_min_size(self.number("vif_kernelscale"))
        except FeatureError as error:
            raise NoFilterError(str(error)) from None

    def check_size(self, geometry: Geometry) -> None:
        scale = self.number("vif_prescale")
        if scale == 1.0 and self.settings["vif_kernelscale"] == 1.0:
            super().check_size(geometry)
            return
        smallest = self._smallest()
        width, height = (int(side * scale + 0.5) for side in (geometry.width, geometry.height))
        if min(width, height) < smallest:
            raise UnfitPictureError(
                f"{self.name} with vif_kernelscale={show(self.settings['vif_kernelscale'])} needs pictures "
                f"of at least {smallest}x{smallest} samples, because its windows reflect at the edges of "
                f"every scale, and these, made {show(scale)} times as large by vif_prescale, are "
                f"{width}x{height}"
            )

    @property
    def sharing(self) -> Hashable:
        return tuple(self.settings[name] for name in _SHARED)

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> FloatVifRunner:
        return FloatVifRunner(members, geometry, cpu)

    def figures(self, values: Sequence[float]) -> list[float]:
        """Figures in the order of `features`, from one gain limit's native output."""
        found = list(values)
        for scale in SCALES[1:]:
            smallest = self.number(f"vif_scale{scale}_min_val")
            found[scale] = found[scale] if found[scale] > smallest else smallest
        return found


class FloatVifRunner:
    def __init__(self, members: Sequence[FloatVif], geometry: Geometry, cpu: CpuContext) -> None:
        from acuity import _native

        first = members[0]
        gains = list(dict.fromkeys(member.number("vif_enhn_gain_limit") for member in members))
        self._native = cpu.kernel(
            _native.FloatVif,
            geometry,
            kernel_scale=first.number("vif_kernelscale"),
            prescale=first.number("vif_prescale"),
            prescale_method=first.text("vif_prescale_method"),
            sigma_nsq=first.number("vif_sigma_nsq"),
            skip_scale0=first.flag("vif_skip_scale0"),
            gains=gains,
        )
        self._width = _native.FLOAT_VIF_OUTPUTS
        # Each member, its keys, and where its figures start in the native output.
        self._members = [
            (member, member.keys(late=False), gains.index(member.number("vif_enhn_gain_limit")) * self._width)
            for member in members
        ]

    def run(self, frame: Frame) -> dict[str, float]:
        values = self._native.run(frame.ref.luma, frame.dis.luma)
        found: dict[str, float] = {}
        for member, keys, start in self._members:
            # There are no keys for debug features unless they are requested.
            found.update(zip(keys, member.figures(values[start : start + self._width]), strict=False))
        return found
