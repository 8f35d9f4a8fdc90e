"""Metrics by friendly names: each line names the extractor or model, and the main figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal

from acuity.errors import FeatureError
from acuity.models.choose import AUTO
from acuity.records import NamedTuple
from acuity.text import shortened

if TYPE_CHECKING:
    from fractions import Fraction

_MOST_RATE: Final = 1000.0  # frames a second; higher declared rates are ignored


class Metric(NamedTuple):
    """A name, and what it stands for: a model or an extractor with its options."""

    name: str
    help: str
    feature: str = ""  # as --feature takes it
    model: str = ""  # as --model takes it
    key: str = ""  # the main column; of 'auto', every model's
    clip: str = ""  # the figure of the whole clip, if it isn't the mean of the frames
    rate_option: str = ""  # the extractor's option for the frame rate
    better: Literal["higher", "lower"] = "higher"
    unit: str = ""
    decimals: int = 2  # to print
    harmonic: bool = False  # whether a harmonic mean, which weights bad frames more, is meaningful

    def spec(self, rate: Fraction | None) -> str:
        """The extractor with its options, for video of this frame rate."""
        if not self.rate_option or rate is None:
            return self.feature
        separator = ":" if "=" in self.feature else "="
        return f"{self.feature}{separator}{self.rate_option}={min(float(rate), _MOST_RATE):.6g}"

    @property
    def worst(self) -> tuple[str, str]:
        """The pooling methods for the worst frame, and for the figure that all but the worst 5 % reach."""
        return ("min", "p5") if self.better == "higher" else ("max", "p95")


class Headline(NamedTuple):
    """The main column of a metric in one measurement."""

    metric: Metric
    key: str
    label: str  # the model's version or path; otherwise the extractor with its options


# fmt: off
METRICS: Final[Mapping[str, Metric]] = {metric.name: metric for metric in (
    Metric("vmaf", "how good it looks, 0 to 100: the model that is named or chosen", model=AUTO,
           harmonic=True),
    Metric("vmaf-neg", "VMAF without credit for sharpening or contrast",
           model="version=vmaf_v0.6.1neg:name=vmaf_neg", key="vmaf_neg", harmonic=True),
    Metric("psnr", "peak signal to noise ratio of luma", "psnr", key="psnr_y", unit="dB"),
    Metric("xpsnr", "PSNR of luma and chroma, weighted by what hides errors", "xpsnr", key="xpsnr_w",
           clip="axpsnr_w", rate_option="frame_rate", unit="dB"),
    Metric("psnr-hvs", "PSNR weighted as eyes see", "psnr_hvs", key="psnr_hvs", unit="dB"),
    Metric("ansnr", "signal to noise ratio after smoothing", "float_ansnr", key="float_ansnr", unit="dB"),
    Metric("ssim", "structural similarity, 1 is equal", "float_ssim", key="float_ssim", decimals=4),
    Metric("ms-ssim", "structural similarity over five scales, 1 is equal", "float_ms_ssim",
           key="float_ms_ssim", decimals=4),
    Metric("ssimulacra2", "perceptual distance of pictures, 100 is equal", "ssimulacra2", key="ssimulacra2"),
    Metric("ciede", "difference of colours, CIEDE2000 on a scale of dB", "ciede", key="ciede2000", unit="dB"),
    Metric("vif", "visual information kept, 1 is all", "vif=debug=true", key="integer_vif", decimals=4),
    Metric("adm", "detail kept, 1 is all", "adm", key="integer_adm2", decimals=4),
    Metric("cambi", "banding, 0 is none", "cambi", key="cambi", better="lower"),
    Metric("speed-chroma", "information lost in chroma, 0 is none", "speed_chroma", key="speed_chroma_uv",
           better="lower"),
    Metric("speed-temporal", "information lost between frames, 0 is none", "speed_temporal",
           key="speed_temporal", better="lower"),
)}
# fmt: on

_LIST: Final = ", ".join(METRICS)


def find_metrics(names: Iterable[str]) -> list[Metric]:
    """The metrics named, each once, in the order given; FeatureError explains a name that is unknown.

    A name may be several, separated by commas.
    """
    found: dict[str, Metric] = {}
    for name in (part for several in names for part in several.split(",")):
        plain = name.strip().lower().replace("_", "-")
        if plain not in METRICS:
            raise FeatureError(_unknown(name))
        found.setdefault(plain, METRICS[plain])
    return list(found.values())


def headlines(metrics: Sequence[Metric], models: Mapping[str, str]) -> list[Headline]:
    theirs = {metric.key for metric in metrics if metric.model and metric.model != AUTO}
    found = []
    for metric in metrics:
        if metric.model == AUTO:
            found += [Headline(metric, name, label) for name, label in models.items() if name not in theirs]
        else:
            found.append(Headline(metric, metric.key, models.get(metric.key, metric.feature)))
    return found


def _unknown(name: str) -> str:
    import difflib  # only for this message

    from acuity.features import EXTRACTORS

    by_extractor = {metric.feature.partition("=")[0]: metric.name for metric in METRICS.values()}
    close = by_extractor.get(name) or next(iter(difflib.get_close_matches(name.lower(), METRICS, n=1)), None)
    if close is None and name in EXTRACTORS:
        return (
            f"'{shortened(name)}' is an extractor and no metric: ask for it as a feature; metrics are {_LIST}"
        )
    hint = f"did you mean '{close}'? there are " if close else "use one of "
    return f"unknown metric '{shortened(name)}': {hint}{_LIST}"
