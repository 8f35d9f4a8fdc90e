"""Feature extractors: a file for each family, and a line for each in the table below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from acuity.errors import FeatureError
from acuity.features.adm import Adm, FloatAdm
from acuity.features.cambi import Cambi
from acuity.features.ciede import Ciede
from acuity.features.extractor import Extractor, Feature, Frame, Geometry
from acuity.features.moment import FloatMoment, Null
from acuity.features.motion import FloatMotion, Motion
from acuity.features.options import Option, OptionValue, parse_feature
from acuity.features.psnr import FloatAnsnr, FloatPsnr, Psnr
from acuity.features.psnr_hvs import PsnrHvs
from acuity.features.speed import SpeedChroma, SpeedTemporal
from acuity.features.ssim import FloatMsSsim, FloatSsim, Ssim
from acuity.features.ssimulacra2 import Ssimulacra2
from acuity.features.vif import FloatVif, Vif
from acuity.features.xpsnr import Xpsnr
from acuity.text import shortened

EXTRACTORS: Final[dict[str, type[Extractor]]] = {
    cls.name: cls
    for cls in (
        Adm, Cambi, Ciede, FloatAdm, FloatAnsnr, FloatMoment, FloatMotion, FloatMsSsim, FloatPsnr, FloatSsim,
        FloatVif, Motion, Null, Psnr, PsnrHvs, SpeedChroma, SpeedTemporal, Ssim, Ssimulacra2, Vif, Xpsnr,
    )
}  # fmt: skip

_PROVIDERS: Final = {feature.name: (cls, feature) for cls in EXTRACTORS.values() for feature in cls.features}

# The names of all figures in reports with default options, and of the other columns beside these.
RESERVED_NAMES: Final = frozenset(
    ("Frame", "frameNum", *_PROVIDERS, *(feature.alias for _, feature in _PROVIDERS.values()))
)


def get_extractor(name: str) -> type[Extractor]:
    """The extractor of that name; raises FeatureError if there is none."""
    try:
        return EXTRACTORS[name]
    except KeyError:
        raise FeatureError(
            f"unknown feature extractor '{shortened(name)}': use one of {', '.join(EXTRACTORS)}"
        ) from None


def make_extractor(text: str) -> Extractor:
    """The extractor for 'NAME' or 'NAME=OPTION=VALUE:…'; raises FeatureError."""
    name, options = parse_feature(text)
    return get_extractor(name)(options)


def extractor_for_feature(long_name: str) -> type[Extractor]:
    """The extractor that provides a feature; raises FeatureError if none does."""
    return _provider(long_name)[0]


def feature_key(long_name: str, options: Mapping[str, OptionValue]) -> str:
    """The key of a feature computed with these options, e.g. 'integer_vif_scale0_egl_1'."""
    extractor, feature = _provider(long_name)
    return extractor(options).key(feature)


def _provider(long_name: str) -> tuple[type[Extractor], Feature]:
    try:
        return _PROVIDERS[long_name]
    except KeyError:
        raise FeatureError(
            f"no extractor provides the feature '{long_name}': there are {', '.join(EXTRACTORS)}"
        ) from None


__all__ = [
    "EXTRACTORS", "RESERVED_NAMES", "Extractor", "Feature", "Frame", "Geometry", "Option", "OptionValue",
    "extractor_for_feature", "feature_key", "get_extractor", "make_extractor", "parse_feature",
]  # fmt: skip
