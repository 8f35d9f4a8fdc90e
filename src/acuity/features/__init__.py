"""Feature extractors: a file for each family, and a line for each in the table below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Final

from acuity.errors import FeatureError
from acuity.features.extractor import Extractor, Feature, Frame, Geometry
from acuity.features.options import Option, OptionValue, parse_feature
from acuity.text import shortened

# The file and the class of each; a file is loaded when one of its extractors is wanted.
_HOMES: Final = {
    "adm": "adm Adm",
    "cambi": "cambi Cambi",
    "ciede": "ciede Ciede",
    "float_adm": "adm FloatAdm",
    "float_ansnr": "psnr FloatAnsnr",
    "float_moment": "moment FloatMoment",
    "float_motion": "motion FloatMotion",
    "float_ms_ssim": "ssim FloatMsSsim",
    "float_psnr": "psnr FloatPsnr",
    "float_ssim": "ssim FloatSsim",
    "float_vif": "vif FloatVif",
    "motion": "motion Motion",
    "null": "moment Null",
    "psnr": "psnr Psnr",
    "psnr_hvs": "psnr_hvs PsnrHvs",
    "speed_chroma": "speed SpeedChroma",
    "speed_temporal": "speed SpeedTemporal",
    "ssim": "ssim Ssim",
    "ssimulacra2": "ssimulacra2 Ssimulacra2",
    "vif": "vif Vif",
    "xpsnr": "xpsnr Xpsnr",
}


class _Extractors(Mapping[str, type[Extractor]]):
    """The extractors by name, each loaded when it is asked for."""

    def __getitem__(self, name: str) -> type[Extractor]:
        module, kind = _HOMES[name].split()
        found: type[Extractor] = getattr(import_module(f"acuity.features.{module}"), kind)
        return found

    def __contains__(self, name: object) -> bool:
        return name in _HOMES

    def __iter__(self) -> Iterator[str]:
        return iter(_HOMES)

    def __len__(self) -> int:
        return len(_HOMES)


EXTRACTORS: Final[Mapping[str, type[Extractor]]] = _Extractors()
Extractor.known = EXTRACTORS


@cache
def reserved_names() -> frozenset[str]:
    """The names of all figures in reports with default options, and of the other columns beside these."""
    features = [feature for kind in EXTRACTORS.values() for feature in kind.features]
    names = (name for feature in features for name in (feature.name, feature.alias))
    return frozenset(("Frame", "frameNum", *names))


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


@cache
def _provider(long_name: str) -> tuple[type[Extractor], Feature]:
    # Mostly the name of the extractor is a part of the feature's.
    for name in sorted(EXTRACTORS, key=lambda name: name.removeprefix("float_") not in long_name):
        extractor = EXTRACTORS[name]
        for feature in extractor.features:
            if feature.name == long_name:
                return extractor, feature
    raise FeatureError(f"no extractor provides the feature '{long_name}': there are {', '.join(EXTRACTORS)}")


__all__ = [
    "EXTRACTORS", "Extractor", "Feature", "Frame", "Geometry", "Option", "OptionValue",
    "extractor_for_feature", "feature_key", "get_extractor", "make_extractor", "parse_feature",
    "reserved_names",
]  # fmt: skip
