"""Visual information fidelity: how much of the reference's detail is still there.

In integer arithmetic and in single precision.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, Self

from acuity import _native
from acuity.errors import FeatureError, NoFilterError, UnfitPictureError
from acuity.features.extractor import CpuContext, Feature, Geometry, Run
from acuity.features.options import RESAMPLING, OptionValue, number, show, switch, word
from acuity.features.scales import DEBUG, SCALES, PassMember, SharedPass, at_least, debug_features

_GAIN_LIMIT: Final = number(
    "vif_enhn_gain_limit", "egl", 100.0, 1.0, 100.0, "limit of enhancement gain; 1 allows none"
)
_SKIP_SCALE0: Final = switch("vif_skip_scale0", "ssclz", "leave scale 0 out")
# The settings that one pass in single precision depends on; it serves several gain limits.
_SHARED: Final = (
    *("vif_kernelscale", "vif_prescale", "vif_prescale_method", "vif_sigma_nsq"),
    "vif_skip_scale0",
)


class _AnyVif(PassMember):
    """The base of Vif and FloatVif."""

    min_size = 16
    min_size_reason = "its coarsest scale is an eighth and needs two samples to reflect"

    @property
    def gain_limit(self) -> float:
        return self.number("vif_enhn_gain_limit")


class Vif(_AnyVif):
    name = "vif"
    summary = "visual information fidelity at four scales"
    options = (DEBUG, _GAIN_LIMIT, _SKIP_SCALE0)
    # In the order of the native outputs.
    features = (
        *(Feature(f"VMAF_integer_feature_vif_scale{s}_score", f"integer_vif_scale{s}") for s in SCALES),
        *debug_features("integer_vif"),
    )

    @property
    def sharing(self) -> Hashable:
        return self.flag("vif_skip_scale0")

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Run:
        shared = shared_vif(members)
        skip = members[0].flag("vif_skip_scale0")
        native = cpu.kernel(_native.Vif, geometry, skip_scale0=skip, gains=shared.settings)
        return lambda frame: shared.figures(native.run(frame.ref.samples[0], frame.dis.samples[0]))


def shared_vif(members: Sequence[Vif]) -> SharedPass[float]:
    return SharedPass(members, [member.gain_limit for member in members], _native.VIF_OUTPUTS)


class FloatVif(_AnyVif):
    name = "float_vif"
    summary = "visual information fidelity at four scales, single precision"
    options = (
        DEBUG,
        _GAIN_LIMIT,
        number("vif_kernelscale", "ks", 1.0, 0.1, 4.0, "how much wider its windows are; only some values"),
        number("vif_prescale", "ps", 1.0, 0.1, 4.0, "how much larger pictures are made first"),
        *(
            number(f"vif_scale{s}_min_val", f"s{s}miv", 0.0, 0.0, 1.0, f"smallest vif_scale{s}")
            for s in SCALES[1:]
        ),
        word("vif_prescale_method", "pm", "nearest", "how vif_prescale makes pictures", RESAMPLING),
        number("vif_sigma_nsq", "snsq", 2.0, 0.0, 5.0, "variance of the eye's own noise"),
        _SKIP_SCALE0,
    )
    # In the order of the native outputs.
    features = (
        *(Feature(f"VMAF_feature_vif_scale{s}_score", f"vif_scale{s}") for s in SCALES),
        *debug_features("vif"),
    )

    def __init__(self, given: Mapping[str, OptionValue] | None = None) -> None:
        super().__init__(given)
        if self.settings["vif_kernelscale"] != 1.0:
            self._smallest()

    def _smallest(self) -> int:
        """The smallest side that its windows can reflect; raises NoFilterError for unknown windows."""
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
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Run:
        first = members[0]
        gains = [member.gain_limit for member in members]
        shared = SharedPass(members, gains, _native.FLOAT_VIF_OUTPUTS)
        native = cpu.kernel(
            _native.FloatVif,
            geometry,
            kernel_scale=first.number("vif_kernelscale"),
            prescale=first.number("vif_prescale"),
            prescale_method=first.text("vif_prescale_method"),
            sigma_nsq=first.number("vif_sigma_nsq"),
            skip_scale0=first.flag("vif_skip_scale0"),
            gains=shared.settings,
        )
        return lambda frame: shared.figures(native.run(frame.ref.samples[0], frame.dis.samples[0]))

    def figures(self, values: Sequence[Any]) -> Sequence[Any]:
        found = list(values)
        for scale in SCALES[1:]:
            found[scale] = at_least(found[scale], self.number(f"vif_scale{scale}_min_val"))
        return found
