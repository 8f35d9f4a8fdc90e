"""Whether this installation computes the golden digits: every extractor and model, on small made-up clips.

The clips are made by integer formulas, so their samples are the same everywhere. golden_digits.json has the pooled
figure of every feature and the score of every model on each of them. A golden entry is a row of that table: one
extractor with all its features, or one model.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from acuity.devices import device_for, open_backend, usable_instruction_sets
from acuity.errors import AcuityError, MissingExtra
from acuity.features import EXTRACTORS
from acuity.measure import Measurement
from acuity.models.load import load_model
from acuity.models.sources import model_files
from acuity.models.spec import ModelSpec
from acuity.scoring.speed import Unusable, find_places
from acuity.video.made_up import formula_pairs

if TYPE_CHECKING:
    from acuity.devices import Device
    from acuity.models.inputs import AnyModel
    from acuity.video.picture import Picture

GOLDEN: Final = Path(__file__).with_name("golden_digits.json")
FRAMES: Final = 5  # the widest window of motion
KINDS: Final = ("extractor", "model", "tiny model")
# ONNX Runtime computes tiny models with kernels of its own, in single precision, which differ between processors.
TINY_BOUND: Final = 1e-4

Figures = Mapping[str, float]


class Clip(NamedTuple):
    """A made-up clip."""

    width: int
    height: int
    layout: str
    depth: int

    @property
    def name(self) -> str:
        return f"{self.width}x{self.height} {self.layout} {self.depth} bit"

    def pairs(self) -> list[tuple[Picture, Picture]]:
        return list(formula_pairs(*self, FRAMES))


# Even and odd sizes. The smallest that SpEED takes, once with chroma at half scale, as VMAF v1 for phones has it,
# and that CAMBI and MS-SSIM take. libvmaf drops half a sample of odd 4:2:0, so odd sizes are 4:4:4.
CLIPS: Final = (
    Clip(352, 320, "420", 8),
    Clip(229, 181, "444", 8),
    Clip(336, 322, "420", 10),
    Clip(325, 321, "444", 10),
)


class Entry(NamedTuple):
    """A golden entry: what an extractor or a model has to give."""

    kind: str  # one of KINDS
    name: str
    libvmaf: str | None  # the version of libvmaf that gave these digits too; None: it lacks this
    required: bool  # it comes with Acuity, so it must be there
    figures: Mapping[str, Sequence[float]]  # by name, one for each clip

    @property
    def bound(self) -> float:
        """The most that a figure may be off."""
        return TINY_BOUND if self.kind == "tiny model" else 0.0


class Engine(NamedTuple):
    """What computes: the CPU with one instruction set, or a card with the CPU beside it."""

    name: str
    devices: Sequence[Device]

    def computes(self, entry: Entry) -> bool:
        """Whether it computes the entry by itself: a card leaves some extractors to the CPU."""
        if entry.kind != "extractor":
            return True
        return device_for(self.devices, EXTRACTORS[entry.name]) is self.devices[0]


class Difference(NamedTuple):
    """A figure that isn't the golden one."""

    figure: str
    clip: str
    golden: float
    found: float | None  # None: there is none

    @property
    def size(self) -> float:
        off = math.inf if self.found is None else abs(self.found - self.golden)
        return math.inf if math.isnan(off) else off


class Row(NamedTuple):
    """A golden entry on one engine."""

    entry: Entry
    engine: str
    found: Mapping[str, Sequence[float | None]]  # by name, one for each clip
    differences: tuple[Difference, ...]  # of more than the entry's bound, the largest first


def read_golden(path: Path = GOLDEN) -> list[Entry]:
    """The entries of the table."""
    return [Entry(**entry) for entry in json.loads(path.read_text())["entries"]]


def all_features(name: str) -> dict[str, bool]:
    """The options with which an extractor gives all its features."""
    return {feature.only_with: True for feature in EXTRACTORS[name].features if feature.only_with}


def find_engines(backends: Sequence[str] = ()) -> tuple[list[Engine], list[Unusable]]:
    """Each instruction set of the CPU, and each card, of these backends or of all; raises BackendError."""
    places, unusable = find_places(backends)
    engines = [Engine(place.name, place.devices) for place in places if place.number is not None]
    if any(place.number is None for place in places):
        engines[:0] = [
            Engine(f"cpu ({name})", open_backend("cpu", instruction_set=name).devices)
            for name in usable_instruction_sets()
        ]
    return engines, unusable


class SelfTest:
    """Checks the golden entries on one engine after the other."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries: list[Entry] = []  # those that can be checked here
        self.missing: list[Unusable] = []  # required ones that can't, and why
        self.skipped: list[Unusable] = []  # others, and why
        self._models: dict[str, AnyModel] = {}
        for entry in entries:
            try:
                if entry.kind != "extractor":
                    self._models[entry.name] = load(entry.kind, entry.name)
                self.entries.append(entry)
            except MissingExtra as error:
                self.skipped.append(Unusable(entry.name, str(error)))
            except AcuityError as error:
                there = entry.required or entry.name in model_files()
                (self.missing if there else self.skipped).append(Unusable(entry.name, str(error)))
        known = {entry.name for entry in entries}
        self.skipped += [
            Unusable(name, "it has no golden digits") for name in model_files() if name not in known
        ]

    @cached_property
    def clips(self) -> list[list[tuple[Picture, Picture]]]:
        """The pictures of each clip."""
        return [clip.pairs() for clip in CLIPS]

    def check(self, engine: Engine, tell: Callable[[str], None]) -> Iterator[Row]:
        """Compute everything on an engine, and compare it; raises BackendError if the engine fails."""
        entries = [entry for entry in self.entries if engine.computes(entry)]
        features = [entry.name for entry in entries if entry.kind == "extractor"]
        found = []
        for number, pairs in enumerate(self.clips, 1):
            tell(f"{engine.name}: clip {number} of {len(self.clips)}")
            found.append(measure(pairs, features, self._models.values(), engine.devices))
        for entry in entries:
            columns = {name: [figures.get(name) for figures in found] for name in entry.figures}
            yield Row(entry, engine.name, columns, tuple(_differences(entry, columns)))


def load(kind: str, name: str) -> AnyModel:
    """A model of this installation by its name, which is also that of its column."""
    if kind == "model":
        return load_model(ModelSpec(version=name, name=name))
    from acuity.tiny.load import load_tiny_model

    return load_tiny_model(name)


def measure(
    pairs: Sequence[tuple[Picture, Picture]],
    features: Iterable[str],
    models: Iterable[AnyModel],
    devices: Sequence[Device],
) -> dict[str, float]:
    """Pooled figures by name: means, and those of the whole clip."""
    with Measurement(backend=devices) as measurement:
        for feature in features:
            measurement.add_feature(feature, all_features(feature))
        for model in models:
            measurement.add_model(model)
        for pair in pairs:
            measurement.add(*pair)
        measurement.flush()
        results = measurement.results()
    return {name: results.pool(name) for name in results.columns} | dict(results.aggregate)


def _differences(entry: Entry, found: Mapping[str, Sequence[float | None]]) -> list[Difference]:
    every = (
        Difference(name, clip.name, golden, figure)
        for name, goldens in entry.figures.items()
        for clip, golden, figure in zip(CLIPS, goldens, found[name], strict=True)
    )
    return sorted((one for one in every if one.size > entry.bound), key=lambda one: -one.size)


def as_entry(row: Row) -> dict[str, Any]:
    """A row as plain values for JSON."""
    return {
        "kind": row.entry.kind,
        "name": row.entry.name,
        "backend": row.engine,
        "equal": not row.differences,
        "bound": row.entry.bound,
        "golden_by": f"libvmaf {row.entry.libvmaf}" if row.entry.libvmaf else "acuity",
        "figures": row.found,
        "differences": [{**one._asdict(), "difference": one.size} for one in row.differences],
    }
