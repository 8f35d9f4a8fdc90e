"""Pictures as inputs of a model: rank 4, batch x channels x rows x columns.

    1 channel    luma, x = Y / (2^depth - 1)
    2 channels   luma of the reference, luma of the distorted picture
    3 channels   red, green and blue of 0 to 1, by the video's matrix and range

A model with one input of 1 or 3 channels reads the distorted picture alone. One with two inputs reads the
reference and the distorted picture, told apart by their names, or else in this order. Values are normalised
to (x - norm_mean) / norm_std; RGB by ImageNet's numbers unless the sidecar has others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.errors import ModelError, UnfitPictureError, to_give
from acuity.features.extractor import Frame, Geometry
from acuity.tiny.graph import Tensor
from acuity.tiny.session import import_runtime
from acuity.tiny.sidecar import Sidecar
from acuity.video.rgb import rgb_planes

Floats = NDArray[np.float32]

RGB_CHANNELS: Final = 3
_BOTH: Final = ("ref", "dis")
# ImageNet's, with which networks for photographs are trained.
_RGB_MEAN: Final = (0.485, 0.456, 0.406)
_RGB_STD: Final = (0.229, 0.224, 0.225)


class ColourCoding(NamedTuple):
    """How the samples of a video stand for colours; None: the matrix that players assume."""

    matrix: str | None = None
    full_range: bool = False


class PictureInput(NamedTuple):
    """One input: which pictures it takes, and how."""

    name: str
    pictures: tuple[str, ...]  # 'ref', 'dis' or both, as channels
    channels: int
    height: int | None  # None: any
    width: int | None
    type: np.dtype[np.float32] | np.dtype[np.float16] | np.dtype[np.float64]
    mean: tuple[float, ...]  # a number for each channel
    std: tuple[float, ...]
    sidecar: Sidecar  # what a picture must be and show

    @property
    def selective(self) -> bool:
        """Whether it leaves out pictures that its model can't judge."""
        return self.sidecar.min_deviation > 0 or self.sidecar.max_roughness < math.inf

    def judges(self, tensor: NDArray[np.floating]) -> bool:
        """Whether an input shows something: its samples deviate, and neighbours are more alike than chance.

        Roughness is the mean step from a sample to the next in its row, over the standard deviation: 1.13 for
        noise, 0.5 for a noisy picture, 0.1 for a smooth one.
        """
        if not self.selective:
            return True
        deviation = float(tensor.std(dtype=np.float64))
        rough = float(np.abs(np.diff(tensor, axis=3)).mean(dtype=np.float64)) if tensor.shape[3] > 1 else 0.0
        least, roughest = self.sidecar.min_deviation, self.sidecar.max_roughness
        return deviation >= least and rough <= roughest * deviation

    @property
    def uses_chroma(self) -> bool:
        return self.channels == RGB_CHANNELS

    def check_size(self, label: str, geometry: Geometry, filter: str) -> None:
        """Refuse pictures that are too small, or of another size than the model's and not to be resized."""
        least = self.sidecar.min_width, self.sidecar.min_height
        if geometry.width < least[0] or geometry.height < least[1]:
            raise UnfitPictureError(
                f"the model '{label}' needs pictures of at least {least[0]}x{least[1]} samples, "
                f"because it was made for no smaller ones, and these are {geometry.width}x{geometry.height}"
            )
        height, width = self.height or geometry.height, self.width or geometry.width
        if filter == "disabled" and (height, width) != (geometry.height, geometry.width):
            raise UnfitPictureError(
                f"the model '{label}' takes pictures of {width}x{height}, and these are "
                f"{geometry.width}x{geometry.height}: ",
                to_give("tiny_resize"),
                " as bilinear, nearest or bicubic, or give a model of this size",
            )

    def tensor(self, frame: Frame, colours: ColourCoding, filter: str) -> NDArray[np.floating]:
        """The input for a frame: 1 x channels x rows x columns."""
        planes = self._planes(frame, colours)
        height, width = self.height or planes.shape[1], self.width or planes.shape[2]
        if planes.shape[1:] != (height, width):
            planes = resize(planes, height, width, filter)
        if any(self.mean) or any(value != 1 for value in self.std):  # `planes` belong to this call
            planes -= np.array(self.mean, np.float32).reshape(-1, 1, 1)
            planes /= np.array(self.std, np.float32).reshape(-1, 1, 1)
        return np.ascontiguousarray(planes[np.newaxis], self.type)

    def _planes(self, frame: Frame, colours: ColourCoding) -> Floats:
        """Red, green and blue, or the luma of each picture."""
        pictures = [frame.ref if which == "ref" else frame.dis for which in self.pictures]
        if self.uses_chroma:
            return rgb_planes(pictures[0], colours.matrix, colours.full_range)
        planes = np.empty((len(pictures), *pictures[0].luma.shape), np.float32)
        for plane, picture in zip(planes, pictures, strict=True):
            top = np.float32((1 << picture.format.depth) - 1)
            np.divide(picture.luma, top, out=plane, dtype=np.float32, casting="unsafe")
        return planes


def make_picture_inputs(label: str, tensors: Sequence[Tensor], sidecar: Sidecar) -> list[PictureInput]:
    """The inputs of a model whose inputs are all of rank 4; raises ModelError."""
    sidecar.check_use(pictures=True)
    sides = _sides(tensors)
    found = []
    for tensor, side in zip(tensors, sides, strict=True):
        channels, height, width = _shape(label, tensor)
        if channels == 2 and len(tensors) == 2:
            raise ModelError(
                f"the input '{tensor.name}' of '{label}' has 2 channels, which hold both pictures, and there "
                "is another input beside it: give each 1 or 3 channels"
            )
        pictures = _BOTH if channels == 2 else (side,)
        form = (channels, height, width, np.dtype(tensor.type), *_normalisation(channels, sidecar))
        found.append(PictureInput(tensor.name, pictures, *form, sidecar))
    return found


def _sides(tensors: Sequence[Tensor]) -> tuple[str, ...]:
    """Which picture each input takes."""
    if len(tensors) == 1:
        return ("dis",)
    names = [tensor.name.lower() for tensor in tensors]
    reference = ["ref" in name for name in names]
    distorted = ["dis" in name or "dist" in name for name in names]
    swapped = (distorted[0] and not distorted[1]) or (reference[1] and not reference[0])
    return ("dis", "ref") if swapped else _BOTH


def _shape(label: str, tensor: Tensor) -> tuple[int, int | None, int | None]:
    """Channels, rows and columns of an input of rank 4."""
    assert tensor.shape is not None
    batch, channels, height, width = tensor.shape
    where = f"the input '{tensor.name}' of '{label}'"
    if batch not in (None, 1):
        raise ModelError(f"{where} takes {batch} pictures at once, and it must take 1, or leave that open")
    if channels is None:
        raise ModelError(f"{where} leaves its channels open: export it with 1 (luma), 2 (both) or 3 (RGB)")
    if channels not in (1, 2, 3):
        if width in (1, 2, 3):
            raise ModelError(
                f"{where} has its channels last (NHWC): export it as batch x channels x rows x columns (NCHW)"
            )
        raise ModelError(f"{where} has {channels} channels, and it must have 1 (luma), 2 (both) or 3 (RGB)")
    return channels, height, width


def _normalisation(channels: int, sidecar: Sidecar) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation of each channel."""
    if not sidecar.norm_mean:
        plain = (0.0,) * channels, (1.0,) * channels
        return (_RGB_MEAN, _RGB_STD) if channels == RGB_CHANNELS else plain
    for key, numbers in (("norm_mean", sidecar.norm_mean), ("norm_std", sidecar.norm_std)):
        if len(numbers) not in (1, channels):
            raise sidecar.fail(
                f"{key} has {len(numbers)} numbers, and pictures of {channels} channels need 1 or {channels}"
            )
    mean, std = (one * channels if len(one) == 1 else one for one in (sidecar.norm_mean, sidecar.norm_std))
    return mean, std


# Attributes of ONNX's Resize operator. The edge is repeated, and nothing is clipped: bicubic may leave the
# range of the samples a little.
_RESIZES: Final[dict[str, dict[str, Any]]] = {
    "bilinear": {"mode": "linear", "coordinate_transformation_mode": "half_pixel"},
    "nearest": {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
    "bicubic": {"mode": "cubic", "coordinate_transformation_mode": "half_pixel", "cubic_coeff_a": -0.5},
}


def resize(planes: Floats, height: int, width: int, filter: str) -> Floats:
    """The planes (channels x rows x columns) in another size, as ONNX's own operator makes it."""
    if planes.shape[1:] == (height, width):
        return planes
    found: Floats = _resizer(len(planes), height, width, filter).run(None, {"x": planes[np.newaxis]})[0][0]
    return found


@lru_cache(maxsize=32)
def _resizer(channels: int, height: int, width: int, filter: str) -> Any:
    """A session that resizes, which any thread may use."""
    from onnx import TensorProto, helper

    runtime = import_runtime()
    before, after = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, channels, *size])
        for name, size in (("x", (None, None)), ("y", (height, width)))
    )
    sizes = helper.make_tensor("sizes", TensorProto.INT64, [4], [1, channels, height, width])
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **_RESIZES[filter])
    graph = helper.make_graph([node], "resize", [before], [after], [sizes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    settings = runtime.SessionOptions()
    settings.intra_op_num_threads = 1
    return runtime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
