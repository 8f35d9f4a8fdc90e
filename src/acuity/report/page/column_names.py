"""How pages show the columns of reports: their names, which way is better, how many decimals."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, Literal, NamedTuple

_INTERVAL: Final = re.compile(r"_(bagging|stddev|ci_p95_(lo|hi)|\d{4})$")  # figures of a bootstrap collection


class ColumnName(NamedTuple):
    """How a column is shown."""

    label: str
    kind: Literal["score", "metric", "feature"] = "feature"
    unit: str = ""
    better: Literal["higher", "lower"] | None = None
    decimals: int = 4
    main: bool = False  # whether it has a card of its own


def _metric(
    label: str,
    unit: str = "",
    decimals: int = 2,
    better: Literal["higher", "lower"] = "higher",
    *,
    main: bool = True,
) -> ColumnName:
    return ColumnName(label, "metric", unit, better, decimals, main)


_TABLE: Final[dict[str, ColumnName]] = {
    "psnr_y": _metric("PSNR", "dB"),
    "psnr_cb": _metric("PSNR Cb", "dB", main=False),
    "psnr_cr": _metric("PSNR Cr", "dB", main=False),
    "float_psnr": _metric("PSNR (float)", "dB"),
    "xpsnr_w": _metric("XPSNR", "dB"),
    "xpsnr_y": _metric("XPSNR Y", "dB", main=False),
    "xpsnr_u": _metric("XPSNR U", "dB", main=False),
    "xpsnr_v": _metric("XPSNR V", "dB", main=False),
    "psnr_hvs": _metric("PSNR-HVS", "dB"),
    "psnr_hvs_y": _metric("PSNR-HVS Y", "dB", main=False),
    "psnr_hvs_cb": _metric("PSNR-HVS Cb", "dB", main=False),
    "psnr_hvs_cr": _metric("PSNR-HVS Cr", "dB", main=False),
    "float_ansnr": _metric("ANSNR", "dB"),
    "float_ssim": _metric("SSIM", decimals=4),
    "float_ms_ssim": _metric("MS-SSIM", decimals=4),
    "ssimulacra2": _metric("SSIMULACRA2"),
    "ciede2000": _metric("CIEDE2000", "dB"),
    "integer_vif": ColumnName("VIF", better="higher"),
    "integer_adm2": ColumnName("ADM", better="higher"),
    "integer_adm3": ColumnName("ADM3", better="higher"),
    "integer_aim": ColumnName("AIM", better="lower"),
    "cambi": _metric("CAMBI", better="lower"),
    "speed_chroma_uv": _metric("SpEED chroma", better="lower"),
    "speed_temporal": _metric("SpEED temporal", better="lower"),
    "VMAF_integer_feature_motion_sad_score": ColumnName("Motion SAD"),
    "integer_motion": ColumnName("Motion"),
    "integer_motion2": ColumnName("Motion 2"),
    "integer_motion3": ColumnName("Motion 3"),
    **{f"integer_vif_scale{n}": ColumnName(f"VIF scale {n}", better="higher") for n in range(4)},
    **{f"integer_adm_scale{n}": ColumnName(f"ADM scale {n}", better="higher") for n in range(4)},
}
_SCORE: Final = ColumnName("VMAF", "score", "", "higher", 2, main=True)


def column_name(name: str, scores: Collection[str] = (), asked: Collection[str] | None = None) -> ColumnName:
    """How a column is shown.

    `scores` are the columns of models, `asked` the main columns of the metrics that were asked for, if known.
    """
    if name in scores or (not scores and is_score(name)):
        label = "VMAF" if name == "vmaf" else name.replace("vmaf", "VMAF").replace("_", " ")
        return _SCORE._replace(label=label)
    found = _TABLE.get(name, ColumnName(name))
    if asked is None or found.kind == "score":
        return found
    return found._replace(main=name in asked, kind="metric" if name in asked else found.kind)


def is_score(name: str) -> bool:
    """Whether a name looks like that of a model's column."""
    return name.startswith("vmaf") and not _INTERVAL.search(name)
