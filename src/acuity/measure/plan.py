"""The plan of a frame: the extractors to compute, grouped so that shared work is done once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from acuity.errors import FeatureError
from acuity.features.extractor import Extractor, Geometry
from acuity.records import NamedTuple, Record, field


class ExtractorSet:
    """An immutable set of extractors, in the order in which they were requested."""

    def __init__(self, extractors: Iterable[Extractor] = ()) -> None:
        self._extractors: dict[str, Extractor] = {}
        for extractor in extractors:
            known = self._extractors.setdefault(extractor.identity, extractor)
            if known != extractor:  # the same features with other options: merge them
                self._extractors[extractor.identity] = known.merge(extractor)
        self._check_names()

    def _check_names(self) -> None:
        owners: dict[str, Extractor] = {}
        for extractor in self:
            for key in (*extractor.listed(last=False), *extractor.listed(last=True)):
                owner = owners.setdefault(key, extractor)
                if owner is not extractor:
                    raise FeatureError(
                        f"{owner.identity} and {extractor.identity} would both give '{key}': leave one of "
                        "them out, or its debug figures"
                    )

    def __bool__(self) -> bool:
        return bool(self._extractors)

    def __iter__(self) -> Iterator[Extractor]:
        return iter(self._extractors.values())

    @property
    def uses_chroma(self) -> bool:
        return any(extractor.uses_chroma for extractor in self)

    def keys(self, frames: int = 2) -> list[str]:
        """The keys in report order: figures of single frames first, then those derived from several.

        libvmaf derives those of sequential extractors during the run, the others after the last frame. Of a
        single frame all are derived at the end.
        """
        late = list(self) if frames == 1 else self._sequential_first()
        own = [key for extractor in self for key in extractor.listed(last=False)]
        return own + [key for extractor in late for key in extractor.listed(last=True)]

    def keys_of_threads(self, frames: int) -> list[str]:
        """The keys that come first if libvmaf has threads, which compute all but sequential extractors."""
        ordered = self._sequential_first()
        if frames == 1:
            return [key for last in (False, True) for entry in ordered for key in entry.listed(last=last)]
        return ExtractorSet(extractor for extractor in self if extractor.sequential).keys()

    def _sequential_first(self) -> list[Extractor]:
        return sorted(self, key=lambda extractor: not extractor.sequential)

    def hidden_keys(self) -> list[str]:
        """The keys of figures that are collected but not reported."""
        return [key for extractor in self for key in extractor.hidden_keys()]

    def check_size(self, geometry: Geometry) -> None:
        """Refuse pictures that are too small for one of the extractors."""
        for extractor in self:
            extractor.check_size(geometry)


class ExtractorGroup(NamedTuple):
    """Extractors that one runner computes."""

    kind: type[Extractor]
    members: tuple[Extractor, ...]

    @property
    def every_frame(self) -> bool:
        return any(member.every_frame for member in self.members)


class Plan(Record):
    """The work of one frame."""

    groups: tuple[ExtractorGroup, ...]
    extractors: Mapping[str, Extractor] = field(compare=False)  # by identity
    every_frame: bool = field(compare=False)  # whether frames that subsampling leaves out need work too
    lookback: int = field(compare=False)  # how many earlier pairs of pictures it needs
    planes: int | None = field(compare=False)  # how many planes it reads; None: all

    def __iter__(self) -> Iterator[Extractor]:
        return iter(self.extractors.values())


def make_plan(extractors: Iterable[Extractor]) -> Plan:
    """The plan that computes all of these."""
    merged = list(ExtractorSet(extractors))
    groups: dict[tuple[type[Extractor], Hashable], list[Extractor]] = {}
    for extractor in merged:
        groups.setdefault((type(extractor), extractor.sharing), []).append(extractor)
    return Plan(
        groups=tuple(ExtractorGroup(kind, tuple(members)) for (kind, _), members in groups.items()),
        extractors=MappingProxyType({extractor.identity: extractor for extractor in merged}),
        every_frame=any(extractor.every_frame for extractor in merged),
        lookback=max((extractor.lookback for extractor in merged), default=0),
        planes=None if any(extractor.uses_chroma for extractor in merged) else 1,
    )


NOTHING: Final = make_plan(())
