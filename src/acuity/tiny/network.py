"""A network: a session with what it is fed and what is read from it. It doesn't know about measurements."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from acuity.errors import ModelError
from acuity.features.extractor import Frame
from acuity.tiny.feature_input import FeatureInput
from acuity.tiny.graph import Graph, Tensor
from acuity.tiny.options import TinyOptions
from acuity.tiny.picture_input import Colours, PictureInput
from acuity.tiny.session import Session
from acuity.tiny.sidecar import Sidecar

_NUMBERS: Final = ("float16", "float32", "float64", "int32", "int64", "uint8")
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Network:
    """A loaded graph; one of `pictures` and `features` is what it reads."""

    label: str
    sha256: str
    graph: Graph
    options: TinyOptions
    session: Session
    outputs: tuple[str, ...]
    pictures: tuple[PictureInput, ...] = ()
    features: FeatureInput | None = None

    def __eq__(self, other: object) -> bool:
        """Whether both give the same figures."""
        return isinstance(other, Network) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    @property
    def identity(self) -> tuple[Any, ...]:
        return self.sha256, tuple(sorted(self.graph.external.items())), self.outputs, self.options

    @property
    def half(self) -> bool:
        """Whether it takes numbers of half precision."""
        inputs = self.pictures or ((self.features,) if self.features else ())
        return any(entry.type == np.float16 for entry in inputs)

    def score_frame(self, frame: Frame, colours: Colours) -> list[float]:
        """The outputs for a frame's pictures, NaN if it can't judge them; NaN and infinity are handed on."""
        feeds = {entry.name: entry.tensor(frame, colours, self.options.resize) for entry in self.pictures}
        if not all(entry.judges(feeds[entry.name]) for entry in self.pictures):
            return [math.nan] * len(self.outputs)
        return [float(values[0]) for values in self._run(feeds, 1)]

    def score_rows(self, rows: Array, at_once: int = 1) -> list[Array]:
        """The outputs for feature values (frames x features), as one array an output.

        By default each frame is run on its own: its figure is then the same whichever frames are beside it.
        """
        assert self.features is not None
        step = 1 if self.features.single else at_once
        found = np.empty((len(self.outputs), len(rows)))
        for first in range(0, len(rows), step):
            part = rows[first : first + step]
            found[:, first : first + step] = self._run(self.features.feeds(part), len(part))
        return list(found)

    def _run(self, feeds: Mapping[str, NDArray[Any]], frames: int) -> list[Array]:
        found = self.session.run(feeds, list(self.outputs))
        return [self._scalars(name, values, frames) for name, values in zip(self.outputs, found, strict=True)]

    def _scalars(self, name: str, values: Any, frames: int) -> Array:
        """One number a frame, from an output of shape [N], [N, 1] or []."""
        if isinstance(values, np.ndarray) and values.dtype.kind in "fiu":
            shape = values.shape
            if shape in ((frames,), (frames, 1)) or (frames == 1 and shape == ()):
                return values.reshape(frames).astype(np.float64)
        shape = getattr(values, "shape", None)
        raise ModelError(
            f"the output '{name}' of '{self.label}' has the shape {shape} for {frames} frame"
            f"{'s' * (frames != 1)}, and a score is one number a frame: [N], [N, 1] or a scalar"
        )


def choose_outputs(label: str, graph: Graph, sidecar: Sidecar) -> tuple[str, ...]:
    """The outputs to read: those that the sidecar names, or all; refuses what can't be scores."""
    known = {tensor.name: tensor for tensor in graph.outputs}
    for name in sidecar.outputs:
        if name not in known:
            raise sidecar.fail(f"it names the output '{name}', and the graph has {', '.join(known)}")
    names = sidecar.outputs or tuple(known)
    if not names:
        raise ModelError(f"the model '{label}' has no output, so it gives no score")
    for name in names:
        _check_output(label, known[name])
    return names


def _check_output(label: str, tensor: Tensor) -> None:
    where = f"the output '{tensor.name}' of '{label}'"
    if tensor.type not in _NUMBERS:
        raise ModelError(f"{where} is of the type {tensor.type}, and a score is a number")
    shape = tensor.shape
    if shape is None:
        return  # seen with the first frame
    if len(shape) > 2 or any(size not in (None, 1) for size in shape):
        opened = ("N", "any")  # a size that the file leaves open, first or later
        shown = ", ".join(str(size or opened[place > 0]) for place, size in enumerate(shape))
        raise ModelError(
            f"{where} has the shape [{shown}], and a score is one number a frame: [N], [N, 1] or []"
        )
