"""PictureExtractor: a network on pictures as an extractor, so that a measurement's threads run it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Self

from acuity.errors import ModelError
from acuity.features.extractor import CpuContext, Extractor, Frame, Geometry
from acuity.tiny.network import Network
from acuity.tiny.picture_input import Colours


class PictureExtractor(Extractor):
    """One network with its options. Its figures are hidden: reports have them as the model's scores."""

    name = "tiny"
    summary = "a tiny model that reads pictures"
    options = ()
    features = ()
    min_size = 1
    min_size_reason = "it needs a sample"

    def __init__(self, network: Network, colours: Colours) -> None:
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
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> PictureRunner:
        (member,) = members
        return PictureRunner(member)


class PictureRunner:
    """Runs the network on one frame; sessions may be used by several threads."""

    def __init__(self, extractor: PictureExtractor) -> None:
        self._network = extractor.network
        self._colours = extractor.colours
        self._keys = extractor.hidden_keys()

    def run(self, frame: Frame) -> dict[str, float]:
        try:
            scores = self._network.score_frame(frame, self._colours)
        except ModelError as error:
            raise ModelError(*error.args, f" (frame {frame.index})") from None
        return dict(zip(self._keys, scores, strict=True))
