"""Features as the input of a model: rank 2, frames x features, in the sidecar's order and normalisation.

A short name such as adm2 stands for the figure of the integer extractors, which VMAF's own models read. A
name that only other extractors have, or a long one as in model files, stands for their figure.

A second input may have the codec block: which encoder made the distorted video and how, as numbers. Two
layouts are in use. Both are a one-hot vector of encoders, then the preset's ordinal over 9 and the CRF
over 63. Version 2, an input called `codec`, has 14 numbers and a place for unknown encoders. Version 3, an
input called `codec_block`, has 18 numbers and no such place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.errors import ModelError, to_give, to_set
from acuity.features import EXTRACTORS
from acuity.models.inputs import ModelFeature
from acuity.text import quoted, shortened
from acuity.tiny.graph import Tensor
from acuity.tiny.options import MAX_CRF, TinyOptions
from acuity.tiny.sidecar import Sidecar

UNKNOWN: Final = "unknown"
_BESIDES: Final = 2  # preset and CRF, after the encoders
_MIDDLE: Final = 5  # the ordinal of a preset that isn't known
_MOST: Final = 9

# The encoders of each layout, by the number of values.
VOCABULARIES: Final[dict[int, tuple[str, ...]]] = {
    14: (
        *("libx264", "libx265", "libsvtav1", "libvvenc", "libvpx-vp9"),
        *("h264_nvenc", "hevc_nvenc", "av1_nvenc", "h264_qsv", "hevc_qsv", "av1_qsv", UNKNOWN),
    ),
    18: (
        *("libx264", "libaom-av1", "libx265", "h264_nvenc", "hevc_nvenc", "av1_nvenc"),
        *("h264_amf", "hevc_amf", "av1_amf", "h264_qsv", "hevc_qsv", "av1_qsv", "libvvenc", "libsvtav1"),
        *("h264_videotoolbox", "hevc_videotoolbox"),
    ),
}
_OTHER_NAMES: Final = {
    "libx264": ("h264", "x264", "avc"),
    "libx265": ("hevc", "h265", "x265"),
    "libsvtav1": ("av1", "svtav1", "svt-av1"),
    "libaom-av1": ("aom", "libaom"),
    "libvpx-vp9": ("vp9", "libvpx"),
    "libvvenc": ("vvc", "h266", "vvenc"),
}
ALIASES: Final = {other: encoder for encoder, others in _OTHER_NAMES.items() for other in others}
# Encoders by name, whether a layout has a place for them or not.
_ENCODERS: Final = frozenset(name for names in VOCABULARIES.values() for name in names) - {UNKNOWN}

_PRESETS: Final = (
    *("ultrafast", "superfast", "veryfast", "faster", "fast"),
    *("medium", "slow", "slower", "veryslow", "placebo"),
)
_X264: Final = {name: ordinal for ordinal, name in enumerate(_PRESETS)}
_QSV: Final = {name: ordinal for name, ordinal in _X264.items() if 2 <= ordinal <= 8}
_NVENC: Final = {f"p{number}": ordinal for number, ordinal in enumerate((0, 2, 3, 5, 6, 7, 9), 1)}
# The ordinals of each encoder's presets, 0 the fastest and 9 the slowest of x264.
PRESETS: Final[dict[str, dict[str, int]]] = {
    "libx264": _X264,
    "libx265": _X264,
    "libsvtav1": {str(number): min(number, _MOST) for number in range(14)},
    "libvvenc": {"faster": 1, "fast": 3, "medium": 5, "slow": 7, "slower": 8},
    "libvpx-vp9": {"realtime": 0, "good": 5, "best": 9},
    **dict.fromkeys(("h264_nvenc", "hevc_nvenc", "av1_nvenc"), _NVENC),
    **dict.fromkeys(("h264_qsv", "hevc_qsv", "av1_qsv"), _QSV),
}


class CodecBlock(NamedTuple):
    """The values of a codec block, and what they stand for."""

    encoder: str  # the place in the layout
    preset: int  # the ordinal
    crf: int
    values: NDArray[np.float32]

    def describe(self) -> dict[str, object]:
        return {"encoder": self.encoder, "preset_ordinal": self.preset, "crf": self.crf}


def make_block(
    label: str, size: int | None, vocabulary: tuple[str, ...] | None, options: TinyOptions
) -> CodecBlock:
    """The block of `size` values for these options; raises ModelError where they don't say enough.

    `vocabulary` is the encoders of the model's sidecar; None: those of the layout of this size. The graph may
    leave the size open (None).
    """
    size = size or _BESIDES + len(vocabulary or ())
    encoders = vocabulary or VOCABULARIES.get(size)
    if encoders is None:
        raise ModelError(
            f"the model {label!r} has a codec input of {size} values, and only layouts of "
            f"{' and '.join(map(str, VOCABULARIES))} are known: add encoder_vocab to its sidecar"
        )
    if len(encoders) + _BESIDES != size:
        raise ModelError(
            f"the model {label!r} has a codec input of {size} values, and its encoder_vocab of "
            f"{len(encoders)} encoders makes {len(encoders) + _BESIDES} with preset and CRF"
        )
    encoder, place = _encoder(label, encoders, options.codec)
    ordinal = _ordinal(encoder, options.preset)
    if options.crf is None:
        raise ModelError(f"the model {label!r} reads the CRF of the encode: ", to_give("tiny_crf"))
    values = np.zeros(size, np.float32)
    values[place] = 1
    values[-2] = ordinal / _MOST
    values[-1] = options.crf / MAX_CRF
    return CodecBlock(encoders[place], ordinal, options.crf, values)


def _encoder(label: str, encoders: tuple[str, ...], codec: str | None) -> tuple[str, int]:
    """The encoder's name and its place in the layout."""
    if codec is None:
        raise ModelError(
            f"the model {label!r} reads which encoder made the video: ",
            to_give("tiny_codec"),
            f" as one of {', '.join(encoders)}",
        )
    name = codec.strip().lower()
    name = name if name in encoders else ALIASES.get(name, name)
    if name in encoders:
        return name, encoders.index(name)
    if name in _ENCODERS and UNKNOWN in encoders:
        return name, encoders.index(UNKNOWN)
    raise ModelError(
        to_set("tiny_codec", shortened(codec)),
        f" is no encoder that the model {label!r} knows: ",
        to_give("tiny_codec"),
        f" as one of {', '.join(encoders)}",
    )


def _ordinal(encoder: str, preset: str | None) -> int:
    """The ordinal of a preset; that of an unknown one where none is given."""
    if preset is None or preset.strip().lower() == UNKNOWN:
        return _MIDDLE
    known = PRESETS.get(encoder, {})
    name = preset.strip().lower()
    if name in known:
        return known[name]
    if not known:
        raise ModelError(
            to_set("tiny_preset", shortened(preset)),
            f" has no place in the codec block, which knows no presets of "
            f"{encoder}: leave it out, or pass {UNKNOWN!r}",
        )
    raise ModelError(
        to_set("tiny_preset", shortened(preset)),
        f" is no preset of {encoder}: ",
        to_give("tiny_preset"),
        f" as one of {', '.join(known)} or {UNKNOWN}",
    )


# The features of VMAF v0.6.1, and of most tiny models.
USUAL: Final = ("adm2", "vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3", "motion2")


class FeatureInput(NamedTuple):
    """The input of features, and the codec block beside it if the model has one."""

    name: str
    features: tuple[ModelFeature, ...]  # that are measured; none where a table has them
    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    type: np.dtype[Any]
    single: bool  # takes one frame at a time
    codec: Tensor | None = None
    block: CodecBlock | None = None  # None where each row has its own

    def feeds(self, rows: NDArray[np.float64], blocks: NDArray[Any] | None = None) -> dict[str, NDArray[Any]]:
        """The inputs for these frames (frames x features)."""
        with np.errstate(all="ignore"):  # what isn't finite is found in the scores
            values = ((rows - self.mean) / self.std).astype(self.type)
        found: dict[str, NDArray[Any]] = {self.name: values}
        if self.block is not None:
            blocks = np.broadcast_to(self.block.values, (len(rows), len(self.block.values)))
        if self.codec is not None and blocks is not None:
            found[self.codec.name] = np.ascontiguousarray(blocks, np.dtype(self.codec.type))
        return found


def make_feature_input(
    label: str,
    tensor: Tensor,
    sidecar: Sidecar,
    codec: Tensor | None = None,
    block: CodecBlock | None = None,
    columns: Sequence[str] = (),
) -> FeatureInput:
    """The input of features of a model, or of the columns of a table; raises ModelError."""
    sidecar.check_use(pictures=False)
    batch, count = tensor.shape or (None, None)
    where = f"the input '{tensor.name}' of '{label}'"
    if batch not in (None, 1):
        raise ModelError(f"{where} takes {batch} frames at once, and it must take 1, or leave that open")
    names = columns or sidecar.features
    if not names and count != len(USUAL):
        size = "an unknown number of" if count is None else str(count)
        raise ModelError(
            f"{where} reads {size} features, and nothing says which: write a sidecar beside it with "
            '{"features": ["adm2", …]}, one name for each'
        )
    names = names or USUAL
    if count not in (None, len(names)):
        raise ModelError(
            f"{where} takes {count} features, and there are {len(names)}: {', '.join(names)}; name them as "
            '"features" in a sidecar'
        )
    for what, numbers in (("means", sidecar.feature_mean), ("deviations", sidecar.feature_std)):
        if numbers and len(numbers) != len(names):
            raise sidecar.fail(f"it has {what} of {len(numbers)} features, and {where} reads {len(names)}")
    return FeatureInput(
        name=tensor.name,
        features=() if columns else tuple(find_feature(label, name) for name in names),
        mean=np.array(sidecar.feature_mean or (0.0,) * len(names)),
        std=np.array(sidecar.feature_std or (1.0,) * len(names)),
        type=np.dtype(tensor.type),
        single=batch == 1 or (codec is not None and (codec.shape or (None,))[0] == 1),
        codec=codec,
        block=block,
    )


def find_feature(label: str, name: str) -> ModelFeature:
    """The feature that a sidecar means by a name; raises ModelError if nothing measures it."""
    for wanted in (f"integer_{name}", name):
        for extractor in EXTRACTORS.values():
            for feature in extractor.features:
                if wanted in (feature.alias, feature.name) and not feature.hidden:
                    options = {feature.only_with: True} if feature.only_with else {}
                    return ModelFeature(feature.name, options)
    raise ModelError(
        f"the model '{label}' reads the feature {quoted(name)}, which nothing here measures: name one that "
        "'acuity features' lists"
    )
