"""What a measurement computes for each frame: extractors, grouped so that shared work is done once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from acuity.errors import InputError
from acuity.features.extractor import Extractor, Frame, Geometry
from acuity.measure.collector import Collector


@dataclass(frozen=True, slots=True)
class Group:
    """Extractors that one runner computes."""

    kind: type[Extractor]
    members: tuple[Extractor, ...]

    @property
    def every_frame(self) -> bool:
        return self.kind.every_frame


class ExtractorSet:
    """The extractors asked for, in order, each once."""

    def __init__(self) -> None:
        self._extractors: dict[str, Extractor] = {}

    def __bool__(self) -> bool:
        return bool(self._extractors)

    def add(self, extractor: Extractor) -> None:
        """Add an extractor, or widen one whose features have the same names."""
        known = self._extractors.get(extractor.identity)
        self._extractors[extractor.identity] = extractor if known is None else known.merge(extractor)

    @property
    def needs_chroma(self) -> bool:
        return any(extractor.needs_chroma for extractor in self._extractors.values())

    @property
    def lookback(self) -> int:
        return max((extractor.lookback for extractor in self._extractors.values()), default=0)

    def keys(self, *, late: bool) -> list[str]:
        return [key for extractor in self._extractors.values() for key in extractor.keys(late=late)]

    def all_keys(self) -> list[str]:
        """Figures of the frames themselves first, then those derived from them."""
        return [*self.keys(late=False), *self.keys(late=True)]

    def prepare(self, collector: Collector, geometry: Geometry) -> list[Group]:
        """Check sizes, make columns and derivations, and group the extractors."""
        groups: dict[tuple[type[Extractor], Hashable], list[Extractor]] = {}
        for extractor in self._extractors.values():
            extractor.check_size(geometry)
            groups.setdefault((type(extractor), extractor.sharing), []).append(extractor)
        collector.declare(self.all_keys())
        for extractor in self._extractors.values():
            if (derivation := extractor.derivation()) is not None:
                collector.derive(derivation)
        return [Group(kind, tuple(members)) for (kind, _), members in groups.items()]


def worker_factory(
    groups: list[Group], geometry: Geometry, collector: Collector, *, subsample: int, instruction_set: str
) -> Callable[[], Callable[[Frame], None]]:
    """What each worker thread calls to get its function from a frame to figures in the collector."""

    def make_worker() -> Callable[[Frame], None]:
        from acuity._native import Workspace

        workspace = Workspace()
        planes = None if any(group.kind.needs_chroma for group in groups) else 1
        runners = [
            (group.every_frame, group.kind.runner(group.members, geometry, workspace, instruction_set))
            for group in groups
        ]

        def work(frame: Frame) -> None:
            check_samples(frame, planes)
            figures: dict[str, float] = {}
            for every_frame, runner in runners:
                if every_frame or frame.index % subsample == 0:
                    figures.update(runner.run(frame))
            collector.write(frame.index, figures)

        return work

    return make_worker


def check_samples(frame: Frame, planes: int | None) -> None:
    """Refuse samples that are deeper than the video says: the figures would be nonsense."""
    from acuity._native import samples_fit

    for picture, name in ((frame.ref, "reference"), (frame.dis, "distorted video")):
        depth = picture.format.depth
        for plane in picture.planes[:planes]:
            if not samples_fit(plane, depth):
                raise InputError(
                    f"frame {frame.index} of the {name} has the sample {plane.max()}, and {depth} bits hold "
                    f"at most {(1 << depth) - 1}: pass the bit depth it really has"
                )
