"""TinyModel: a model in an ONNX file, as measurements use models.

Its network is a session with its inputs and outputs, and doesn't know about measurements.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from acuity.errors import ModelError
from acuity.features.extractor import CpuContext, Extractor, Frame, Geometry, Run
from acuity.models.inputs import ModelFeature, ReadsFeatures
from acuity.models.model import Columns, as_matrix
from acuity.text import bounded, note
from acuity.tiny.feature_input import FeatureInput
from acuity.tiny.graph import Graph, Tensor
from acuity.tiny.options import TinyOptions
from acuity.tiny.picture_input import ColourCoding, PictureInput
from acuity.tiny.session import Session
from acuity.tiny.sidecar import Sidecar
from acuity.video.picture import Picture

Array = NDArray[np.float64]
_PLAYERS: Final = ColourCoding()  # what players assume
_NUMBERS: Final = ("float16", "float32", "float64", "int32", "int64", "uint8")


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
        return any(entry.type == np.float16 for entry in self.inputs)

    @property
    def inputs(self) -> tuple[PictureInput | FeatureInput, ...]:
        return self.pictures or ((self.features,) if self.features else ())

    def score_frame(self, frame: Frame, colours: ColourCoding) -> list[float]:
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
    # Of none, it is seen with the first frame.
    if shape is not None and (len(shape) > 2 or any(size not in (None, 1) for size in shape)):
        opened = ("N", "any")  # a size that the file leaves open, first or later
        shown = ", ".join(str(size or opened[place > 0]) for place, size in enumerate(shape))
        raise ModelError(
            f"{where} has the shape [{shown}], and a score is one number a frame: [N], [N, 1] or []"
        )


@dataclass(frozen=True, eq=False)
class TinyModel(ReadsFeatures):
    """A loaded tiny model. It reads features of the collector, or pictures by an extractor of its own."""

    name: str  # the column of its scores in reports
    label: str  # the name or path that was given, for people
    path: Path
    kind: str  # 'fr' or 'nr'
    network: Network
    sidecar: Sidecar = field(default_factory=Sidecar)
    signer: str | None = None  # who signed the file, if that was checked
    colours: ColourCoding = _PLAYERS  # of the pictures that will be scored; matters to RGB alone
    options: str = ""  # changed options, in the notation of --model: tiny models have none

    lenient: ClassVar[bool] = True  # a figure that isn't a number is left undefined, beside other models

    def __repr__(self) -> str:
        return f"<TinyModel {self.label}: {self.name!r}, {self.kind}>"

    @property
    def features(self) -> tuple[ModelFeature, ...]:
        """The features it reads; none if it reads pictures."""
        return self.network.features.features if self.network.features is not None else ()

    @property
    def no_reference(self) -> bool:
        """Whether it reads the distorted picture alone."""
        return bool(self.network.pictures) and all(p.pictures == ("dis",) for p in self.network.pictures)

    @property
    def selective(self) -> bool:
        """Whether it has no score of pictures that show nothing, or nothing but noise."""
        return any(entry.selective for entry in self.network.pictures)

    @property
    def uses_chroma(self) -> bool:
        """Whether pictures must come with chroma for it."""
        return any(extractor.uses_chroma for extractor in self.make_extractors())

    @property
    def presumes_preset(self) -> bool:
        """Whether it reads the encoder's preset and wasn't told it."""
        features = self.network.features
        return features is not None and features.block is not None and self.network.options.preset is None

    def in_colours(self, matrix: str | None, full_range: bool) -> Self:
        """The model for pictures of this matrix and range, which a model of RGB must know."""
        return replace(self, colours=ColourCoding(matrix, full_range))

    def feature_keys(self) -> list[str]:
        """The keys of the columns that outputs() takes, in order."""
        if self.network.pictures:
            return self._extractor().hidden_keys()
        return super().feature_keys()

    def make_extractors(self) -> list[Extractor]:
        """The extractors that a measurement computes for it."""
        return [self._extractor()] if self.network.pictures else super().make_extractors()

    def outputs(self, columns: Columns, at_once: int = 1) -> dict[str, Array]:
        """The score columns by name, from the columns of feature_keys().

        `at_once` frames go through a feature network together: faster for large tables, and figures may then
        differ in the last digits from those of single frames.
        """
        matrix = as_matrix(columns, len(self.feature_keys()))
        scores = list(matrix.T) if self.network.pictures else self.network.score_rows(matrix, at_once)
        return dict(zip(self.output_names(), scores, strict=True))

    def score_pictures(self, dis: Picture, ref: Picture | None = None) -> list[float]:
        """The scores of one frame, for trying a model that reads pictures; `ref` if it reads that too."""
        extractor = self._extractor()
        extractor.check_size(Geometry(dis.width, dis.height, dis.format.depth))
        return self.network.score_frame(Frame(0, dis if ref is None else ref, dis), extractor.colours)

    def output_names(self) -> list[str]:
        names = self.network.outputs
        if len(names) == 1:
            return [self.name]
        return [f"{self.name}_{re.sub(r'[^A-Za-z0-9_.-]+', '_', name)}" for name in names]

    def renamed(self, name: str) -> Self:
        """The model under another name."""
        return replace(self, name=name)

    def _extractor(self) -> PictureExtractor:
        return PictureExtractor(self.network, self.colours)

    def describe(self) -> dict[str, Any]:
        """The `tiny_model` block of reports."""
        network = self.network
        found: dict[str, Any] = {
            "name": self.name,
            "path": str(self.path),
            "sha256": network.sha256,
            "kind": self.kind,
            "opset": network.graph.opset,
            "inputs": bounded({tensor.name: list(tensor.shape or ()) for tensor in network.graph.inputs}),
            "outputs": bounded(self.output_names()),
            "provider": network.session.provider,
            "threads": network.session.threads,
            "fp16": network.half,
            "resize": network.options.resize,
        }
        if network.features is not None:
            found["features"] = [feature.key for feature in network.features.features]
            if network.features.block is not None:
                found["codec"] = network.features.block.describe()
        if network.graph.external:
            found["external_data"] = dict(network.graph.external)
        if self.signer is not None:
            found["signed_by"] = note(self.signer)
        if self.sidecar.limits is not None:
            found["limits"] = self.sidecar.limits
        if self.sidecar.file:
            found["sidecar"] = {"path": self.sidecar.file, "sha256": self.sidecar.digest}
        found["normalisation"] = {
            entry.name: {"mean": [float(x) for x in entry.mean], "std": [float(x) for x in entry.std]}
            for entry in network.inputs
        }
        return {**found, **self.sidecar.facts}


class PictureExtractor(Extractor):
    """One network with its options. Its figures are hidden: reports have them as the model's scores."""

    name = "tiny"
    summary = "a tiny model that reads pictures"
    options = ()
    features = ()

    def __init__(self, network: Network, colours: ColourCoding) -> None:
        super().__init__()
        self.network = network
        self.colours = colours
        self.settings = {
            "model": network.sha256,
            "resize": network.options.resize,
            "outputs": ",".join(network.outputs),
            "matrix": colours.matrix or "",
            "full_range": colours.full_range,
        }
        self.suffix = f"_{network.sha256[:16]}_{network.options.resize}"

    def hidden_keys(self) -> list[str]:
        return [f"{self.identity}:{output}" for output in self.network.outputs]

    @property
    def uses_chroma(self) -> bool:
        return any(entry.uses_chroma for entry in self.network.pictures)

    @property
    def reads_reference(self) -> bool:
        return any(entry.pictures != ("dis",) for entry in self.network.pictures)

    @property
    def sharing(self) -> Hashable:
        return self.identity

    def check_size(self, geometry: Geometry) -> None:
        for entry in self.network.pictures:
            entry.check_size(self.network.label, geometry, self.network.options.resize)

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Run:
        (member,) = members
        network, colours, keys = member.network, member.colours, member.hidden_keys()

        def run(frame: Frame) -> dict[str, float]:
            """Run the network on one frame; several threads may use its session."""
            try:
                scores = network.score_frame(frame, colours)
            except ModelError as error:
                raise ModelError(*error.args, f" (frame {frame.index})") from None
            return dict(zip(keys, scores, strict=True))

        return run
