"""Features as the input of a model: rank 2, frames x features, in the sidecar's order and normalisation.

A short name such as adm2 stands for the figure of the integer extractors, which VMAF's own models read. A
name that only the others have, or a long one as in model files, stands for that figure.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.errors import ModelError
from acuity.features import EXTRACTORS
from acuity.models.inputs import ModelFeature
from acuity.text import quoted
from acuity.tiny.codec_block import CodecBlock
from acuity.tiny.graph import Tensor
from acuity.tiny.sidecar import Sidecar

# The features of VMAF v0.6.1, and of most tiny models.
USUAL: Final = ("adm2", "vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3", "motion2")


class FeatureInput(NamedTuple):
    """The input of features, and the codec block beside it if the model has one."""

    name: str
    features: tuple[ModelFeature, ...]
    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    type: np.dtype[Any]
    single: bool  # takes one frame at a time
    codec_name: str | None = None
    codec_type: np.dtype[Any] | None = None
    block: CodecBlock | None = None

    def feeds(self, rows: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
        """The inputs for these frames (frames x features)."""
        with np.errstate(all="ignore"):  # what isn't finite is found in the scores
            values = ((rows - self.mean) / self.std).astype(self.type)
        found: dict[str, NDArray[Any]] = {self.name: values}
        if self.codec_name is not None and self.block is not None:
            block = np.broadcast_to(self.block.values, (len(rows), len(self.block.values)))
            found[self.codec_name] = np.ascontiguousarray(block, self.codec_type)
        return found


def make_feature_input(
    label: str, tensor: Tensor, sidecar: Sidecar, codec: Tensor | None, block: CodecBlock | None
) -> FeatureInput:
    """The input of features of a model; raises ModelError."""
    assert tensor.shape is not None
    sidecar.check_use(pictures=False)
    batch, count = tensor.shape
    where = f"the input '{tensor.name}' of '{label}'"
    if batch not in (None, 1):
        raise ModelError(f"{where} takes {batch} frames at once, and it must take 1, or leave that open")
    names = sidecar.features
    if count is None:
        count = len(names) or None
    if not names:
        if count != len(USUAL):
            size = "an unknown number of" if count is None else str(count)
            raise ModelError(
                f"{where} reads {size} features, and nothing says which: write a sidecar beside it with "
                '{"features": ["adm2", …]}, one name for each'
            )
        names = USUAL
    if len(names) != count:
        raise sidecar.fail(f"it names {len(names)} features, and the input '{tensor.name}' reads {count}")
    mean, std = sidecar.feature_mean, sidecar.feature_std
    if mean and len(mean) != count:
        raise sidecar.fail(
            f"it has means of {len(mean)} features, and the input '{tensor.name}' reads {count}"
        )
    if std and len(std) != count:
        raise sidecar.fail(f"it has deviations of {len(std)} features, and '{tensor.name}' reads {count}")
    return FeatureInput(
        name=tensor.name,
        features=tuple(find_feature(label, name) for name in names),
        mean=np.array(mean or (0.0,) * count),
        std=np.array(std or (1.0,) * count),
        type=np.dtype(tensor.type),
        single=batch == 1 or (codec is not None and (codec.shape or (None,))[0] == 1),
        codec_name=None if codec is None else codec.name,
        codec_type=None if codec is None else np.dtype(codec.type),
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
