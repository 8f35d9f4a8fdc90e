"""ComparisonRequest: which encodes to compare with which references, and how each pair is scored."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from acuity.errors import InputError, to_omit
from acuity.scoring.request import Request
from acuity.video.source import STDIN


class ComparePair(NamedTuple):
    reference: str
    distorted: str
    name: str = ""  # in tables and reports; empty: made from the file's name
    encoder: str | None = None  # encodes of one encoder are points of one curve
    kbps: float | None = None  # that a list says


@dataclass(frozen=True)
class ComparisonRequest:
    """Pairs of videos, and how all of them are scored. The names of the pairs are made distinct."""

    pairs: Sequence[ComparePair]
    scoring: Request = field(default_factory=lambda: Request("", ""))  # whose two videos are not read
    remember: bool = True  # take figures of an earlier run where nothing has changed, and keep those of this

    def __post_init__(self) -> None:
        if not self.pairs:
            raise InputError("there is nothing to compare: name a reference and at least one encode")
        for name in ("resume", "no_reference"):
            if getattr(self.scoring, name):
                raise InputError(
                    "a comparison scores whole encodes against their references: ", to_omit(name)
                )
        if any(STDIN in (os.fspath(pair.reference), os.fspath(pair.distorted)) for pair in self.pairs):
            raise InputError("a comparison reads files, and standard input is none: name a file")
        object.__setattr__(self, "pairs", distinct(self.pairs))

    def of(self, pair: ComparePair) -> Request:
        return replace(self.scoring, reference=pair.reference, distorted=pair.distorted)


def distinct(pairs: Sequence[ComparePair]) -> list[ComparePair]:
    """The pairs with names that differ.

    Files of one name get the folders that tell them apart, a file that comes again a number. Names that were
    given are changed only if two are equal.
    """
    paths = [os.path.normpath(os.fspath(pair.distorted)).split(os.sep) for pair in pairs]
    names = [pair.name or path[-1] for pair, path in zip(pairs, paths, strict=True)]
    for depth in range(2, max(map(len, paths)) + 1):
        # The same file twice counts once: its folders tell nothing.
        files = Counter(
            name for name, _ in {(name, tuple(path)) for name, path in zip(names, paths, strict=True)}
        )
        if max(files.values()) == 1:
            break
        names = [
            name if files[name] == 1 or pair.name or len(path) < depth else os.sep.join(path[-depth:])
            for name, pair, path in zip(names, pairs, paths, strict=True)
        ]
    taken: set[str] = set()
    for index, name in enumerate(names):
        number, free = 2, name
        while free in taken or (free != name and free in names):
            free, number = f"{name} ({number})", number + 1
        names[index] = free
        taken.add(free)
    return [pair._replace(name=name) for pair, name in zip(pairs, names, strict=True)]
