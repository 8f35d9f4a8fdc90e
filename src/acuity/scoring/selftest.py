"""Checks this installation against the golden digits: every extractor and model, on small made-up clips.

The clips are made by integer formulas, so their samples are the same everywhere. golden_digits.json has the
pooled figure of every feature and the score of every model on each of them. An entry of it is one extractor,
with all its features, or one model. tests/scoring/golden_digits.py writes it, and asks libvmaf.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from acuity.devices import describe_engine, device_for, open_backend, usable_instruction_sets
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
    from acuity.scoring.libvmaf import Libvmaf
    from acuity.video.picture import Picture

GOLDEN: Final = Path(__file__).with_name("golden_digits.json")
FRAMES: Final = 5  # the widest window of motion
KINDS: Final = ("extractor", "model", "tiny model")
# ONNX Runtime computes tiny models in single precision, with kernels that differ between processors.
TINY_BOUND: Final = 1e-4
# Powers of ten of the system's C library differ in their last bit from processor to processor.
_BOUNDS: Final = {"xpsnr": 1e-13}


class MadeClip(NamedTuple):
    width: int
    height: int
    layout: str
    depth: int

    @property
    def name(self) -> str:
        return f"{self.width}x{self.height} {self.layout} {self.depth} bit"

    def pairs(self) -> list[tuple[Picture, Picture]]:
        return list(formula_pairs(*self, FRAMES))


# Even and odd sizes, as small as CAMBI, MS-SSIM and SpEED take them; one is large enough for SpEED at half
# scale, as in VMAF v1 for phones. libvmaf drops chroma at the edge of odd 4:2:0, so odd sizes are 4:4:4.
CLIPS: Final = (
    MadeClip(352, 320, "420", 8),
    MadeClip(229, 181, "444", 8),
    MadeClip(336, 322, "420", 10),
    MadeClip(325, 323, "444", 10),
)


class GoldenEntry(NamedTuple):
    """A golden entry: the figures that an extractor or a model has to give."""

    kind: str  # one of KINDS
    name: str
    libvmaf: str | None  # the version of libvmaf that gave these digits too; None: it lacks this
    required: bool  # it comes with Acuity, so it must be there
    figures: Mapping[str, Sequence[float]]  # by name, one for each clip

    @property
    def bound(self) -> float:
        """The most that a figure may be off."""
        return TINY_BOUND if self.kind == "tiny model" else _BOUNDS.get(self.name, 0.0)


class Engine(NamedTuple):
    """An engine to check: the CPU with one instruction set, or a card with the CPU beside it."""

    name: str
    devices: Sequence[Device]

    def computes(self, entry: GoldenEntry) -> bool:
        """Whether it computes the entry by itself: a card leaves some extractors to the CPU."""
        if entry.kind != "extractor":
            return True
        return device_for(self.devices, EXTRACTORS[entry.name]) is self.devices[0]


class Mismatch(NamedTuple):
    """A figure that isn't the golden one."""

    figure: str
    clip: str
    golden: float
    found: float | None  # None: there is none

    @property
    def size(self) -> float:
        off = math.inf if self.found is None else abs(self.found - self.golden)
        return math.inf if math.isnan(off) else off


class SelftestRow(NamedTuple):
    """A golden entry on one engine."""

    entry: GoldenEntry
    engine: str
    found: Mapping[str, Sequence[float | None]]  # by name, one for each clip
    differences: tuple[Mismatch, ...]  # of more than the entry's bound, the largest first

    @property
    def compared(self) -> int:
        return len(self.found) * len(CLIPS)


def read_golden(path: Path = GOLDEN) -> list[GoldenEntry]:
    return [GoldenEntry(**entry) for entry in json.loads(path.read_text())["entries"]]


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

    def __init__(self, entries: Iterable[GoldenEntry]) -> None:
        self.entries: list[GoldenEntry] = []  # those that can be checked here
        self.missing: list[Unusable] = []  # required ones that can't, and why
        self.skipped: list[Unusable] = []  # others, and why
        self._models: dict[str, AnyModel] = {}
        files = model_files()
        for entry in entries:
            try:
                if entry.kind != "extractor":
                    self._models[entry.name] = load(entry.kind, entry.name)
                self.entries.append(entry)
            except MissingExtra as error:
                self.skipped.append(Unusable(entry.name, str(error)))
            except AcuityError as error:
                if entry.required or entry.name in files:
                    self.missing.append(Unusable(entry.name, str(error)))
                else:
                    self.skipped.append(Unusable(entry.name, "no package carries it"))
            files.pop(entry.name, None)
        self.skipped += [Unusable(name, "it has no golden digits") for name in files]

    @cached_property
    def clips(self) -> list[list[tuple[Picture, Picture]]]:
        return [clip.pairs() for clip in CLIPS]

    def check(self, engine: Engine, tell: Callable[[str], None]) -> Iterator[SelftestRow]:
        """Compute everything on an engine, and compare it; raises BackendError if the engine fails."""
        entries = [entry for entry in self.entries if engine.computes(entry)]
        features = [entry.name for entry in entries if entry.kind == "extractor"]
        found = []
        for number, pairs in enumerate(self.clips, 1):
            tell(f"{engine.name}: clip {number} of {len(self.clips)}")
            found.append(measure(pairs, features, self._models.values(), engine.devices))
        for entry in entries:
            columns = {name: [figures.get(name) for figures in found] for name in entry.figures}
            wrong = [one for one in _compared(entry, columns) if one.size > entry.bound]
            yield SelftestRow(entry, engine.name, columns, tuple(sorted(wrong, key=lambda one: -one.size)))


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


def compare_libvmaf(test: SelfTest, libvmaf: Libvmaf, tell: Callable[[str], None]) -> dict[str, Mismatch]:
    """The largest difference of libvmaf from the golden digits, by the names of the entries that it has."""
    entries = [entry for entry in test.entries if entry.libvmaf is not None]
    features = {entry.name: all_features(entry.name) for entry in entries if entry.kind == "extractor"}
    models = [entry.name for entry in entries if entry.kind == "model"]
    found: dict[str, Mismatch] = {}
    for clip, pairs in enumerate(test.clips):
        tell(f"libvmaf: clip {clip + 1} of {len(CLIPS)}")
        figures = libvmaf.figures(pairs, features, models)
        for entry in entries:
            theirs = {name: [figures.get(name)] for name in entry.figures if name in figures}
            known = [found[entry.name]] if entry.name in found else []
            if every := [*known, *_compared(entry, theirs, clip)]:
                found[entry.name] = max(every, key=lambda one: one.size)
    return found


def _compared(
    entry: GoldenEntry, found: Mapping[str, Sequence[float | None]], first: int = 0
) -> Iterator[Mismatch]:
    for name, figures in found.items():
        for clip, figure in enumerate(figures, first):
            yield Mismatch(name, CLIPS[clip].name, entry.figures[name][clip], figure)


def as_document(
    test: SelfTest, rows: Sequence[SelftestRow], libvmaf: Libvmaf | None, beside: Mapping[str, Mismatch]
) -> dict[str, Any]:
    return {
        "engine": describe_engine(),
        "clips": [{**clip._asdict(), "name": clip.name, "frames": FRAMES} for clip in CLIPS],
        "equal": bool(rows) and not test.missing and not any(row.differences for row in rows),
        "results": [_entry(row) for row in rows],
        "libvmaf": None
        if libvmaf is None
        else {
            "version": libvmaf.version,
            "where": libvmaf.where,
            "code": libvmaf.code,
            "largest": {name: _difference(one) for name, one in beside.items()},
        },
        "missing": [entry._asdict() for entry in test.missing],
        "skipped": [entry._asdict() for entry in test.skipped],
    }


def _entry(row: SelftestRow) -> dict[str, Any]:
    return {
        "kind": row.entry.kind,
        "name": row.entry.name,
        "backend": row.engine,
        "equal": not row.differences,
        "bound": row.entry.bound,
        "confirmed_by": f"libvmaf {row.entry.libvmaf}" if row.entry.libvmaf else None,
        "figures": row.found,
        "differences": [_difference(one) for one in row.differences],
    }


def _difference(one: Mismatch) -> dict[str, Any]:
    return {**one._asdict(), "difference": one.size}
