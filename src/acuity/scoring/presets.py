"""Common test conditions: the models and features that `aom_ctc` and `nflx_ctc` stand for."""

from __future__ import annotations

from typing import Final, NamedTuple


class Preset(NamedTuple):
    """The models, features and conversion that a preset adds to a request."""

    models: tuple[str, ...]
    features: tuple[str, ...]
    # Score a pair of different depths at the greater one, also raw and Y4M. libvmaf 3.2 takes such a pair and
    # reads the samples of the lesser depth as if they had the greater.
    common_bitdepth: bool = False


_AOM_MODELS: Final = ("version=vmaf_v0.6.1:name=vmaf", "version=vmaf_v0.6.1neg:name=vmaf_neg")
_NFLX_MODELS: Final = ("version=vmaf_4k_v0.6.1:name=vmaf", "version=vmaf_4k_v0.6.1neg:name=vmaf_neg")

_AOM_V1: Final = (
    "psnr=reduced_hbd_peak=true:enable_apsnr=true:min_sse=0.5",
    "ciede",
    "float_ssim=enable_db=true:clip_db=true",
    "float_ms_ssim=enable_db=true:clip_db=true",
    "psnr_hvs",
)
_AOM_V3: Final = (*_AOM_V1, "cambi")
_AOM_V7: Final = tuple(
    "float_ssim=scale=1:enable_db=true:clip_db=true" if f.startswith("float_ssim=") else f for f in _AOM_V3
)

PRESETS: Final[dict[str, dict[str, Preset]]] = {
    "aom_ctc": {
        "v1.0": Preset(_AOM_MODELS, _AOM_V1),
        "v2.0": Preset(_AOM_MODELS, _AOM_V1),
        "v3.0": Preset(_AOM_MODELS, _AOM_V3),
        "v4.0": Preset(_AOM_MODELS, _AOM_V3),
        "v5.0": Preset(_AOM_MODELS, _AOM_V3),
        "v6.0": Preset(_AOM_MODELS, _AOM_V3, common_bitdepth=True),
        "v7.0": Preset(_AOM_MODELS, _AOM_V7, common_bitdepth=True),
    },
    "nflx_ctc": {
        "v1.0": Preset(
            _NFLX_MODELS,
            ("psnr=enable_chroma=true:enable_apsnr=true", "float_ssim=enable_db=true:clip_db=true", "cambi"),
        )
    },
}
