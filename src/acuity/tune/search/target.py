"""Target: what an encode has to reach, as a pooled score or as a limit of its bitrate or size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from acuity.errors import TuneError
from acuity.measure.pooling import POOLS, pool
from acuity.scoring.metrics import METRICS, Metric
from acuity.text import shortened
from acuity.tune.points.point import Point

Kind = Literal["quality", "bitrate", "size"]


# For each column: the tolerance of a search, and the figure of a perfect encode. Scores crowd near that
# figure, so the tolerance is smaller there.
_SCALES: Final = {
    **dict.fromkeys(("psnr_y", "xpsnr_w", "psnr_hvs", "float_ansnr", "ciede2000"), (0.2, math.inf)),
    **dict.fromkeys(("float_ssim", "float_ms_ssim"), (0.001, 1.0)),
    "integer_vif": (0.005, 1.0),
    "integer_adm2": (0.002, 1.0),
    "cambi": (0.2, 0.0),
    **dict.fromkeys(("speed_chroma_uv", "speed_temporal"), (0.1, 0.0)),
}
_SCORES: Final = (0.5, 100.0)  # of VMAF, and of other scores of 0 to 100
_NEAR_PERFECT: Final = 0.25  # tolerance, as a part of the distance from a target to the perfect figure
_LIMIT_TOLERANCE: Final = 0.02  # of a bitrate or a size: this part of it

_BY_KEY: Final = {metric.key: metric for metric in METRICS.values() if metric.key}


@dataclass(frozen=True, slots=True)
class Target:
    """A score that an encode must reach, or a bitrate or size that it must not exceed.

    `column` is a metric's name (`psnr`) or the name of its figures (`psnr_y`); lower figures are better where
    the metric says so. `pool` is as acuity.measure.pooling has it. `value` is in kbit/s for a bitrate and in
    bytes for a size, for the video alone.
    """

    value: float
    column: str = "vmaf"
    pool: str = "mean"
    kind: Kind = "quality"

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", _metric(self.column).key or self.column)
        if not math.isfinite(self.value):
            raise TuneError(f"the target {self.value:g} is not a number that an encode could reach")
        if self.kind != "quality":
            if self.value <= 0:
                raise TuneError(f"a {self.kind} of {self.value:g} can't be reached: it must be above 0")
            return
        if self.column == "vmaf" and not 0 <= self.value <= 100:
            raise TuneError(f"the target VMAF {self.value:g} must be between 0 and 100")
        try:
            pool(np.zeros(1), self.pool)
        except ValueError:
            raise TuneError(
                f"unknown pooling '{shortened(self.pool)}' of a target: use one of {', '.join(POOLS)}, "
                "or p with a percentile, as p5"
            ) from None

    @property
    def lower_is_better(self) -> bool:
        return self.kind == "quality" and _metric(self.column).better == "lower"

    @property
    def tolerance(self) -> float:
        """How near to the target a search may end, unless it is told."""
        if self.kind != "quality":
            return self.value * _LIMIT_TOLERANCE
        tolerance, perfect = _SCALES.get(self.column, _SCORES)
        return min(tolerance, _NEAR_PERFECT * abs(perfect - self.value))

    def figure(self, point: Point) -> float:
        if self.kind != "quality":
            return point.bitrate_kbps if self.kind == "bitrate" else float(point.bytes)
        if self.column not in point.scores:
            raise TuneError(
                f"the target's column '{shortened(self.column)}' was not measured: "
                f"there are {', '.join(sorted(point.scores))}"
            )
        return point.pool(self.column, self.pool)

    def met(self, figure: float) -> bool:
        return self.spare(figure) >= 0

    def spare(self, figure: float) -> float:
        """By how much a figure is better than the target; negative if it misses it."""
        if self.kind != "quality" or self.lower_is_better:
            return self.value - figure
        return figure - self.value

    def shown(self, figure: float, digits: str = "") -> str:
        """A figure as people write it: `VMAF 93.41`, `1,830 kbit/s`."""
        if self.kind != "quality":
            whole = f"{figure:,.0f}" if figure >= 100 or self.kind == "size" else f"{figure:.3g}"
            return f"{whole} {'kbit/s' if self.kind == 'bitrate' else 'bytes'}"
        metric = _metric(self.column)
        name = metric.name if metric.key else self.column
        how = "" if self.pool == "mean" else f"{self.pool.replace('_', ' ')} "
        return f"{how}{name.upper()} {figure:{digits or f'.{metric.decimals}f'}} {metric.unit}".rstrip()

    def __str__(self) -> str:
        return self.shown(self.value, ".12g")


_MODEL: Final = Metric("", "")  # of columns that are models' scores


def _metric(column: str) -> Metric:
    return METRICS.get(column.lower().replace("_", "-")) or _BY_KEY.get(column, _MODEL)
