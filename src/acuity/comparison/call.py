"""acuity.compare(), which scores many encodes of a reference and returns a report on all of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from acuity.comparison.encodes import Encodes, find_encodes
from acuity.comparison.front import run_comparison
from acuity.comparison.report import CompareReport
from acuity.comparison.request import ComparePair
from acuity.measure.feed import ProgressCallback
from acuity.scoring.python_request import OPTIONS, python_request

_OF_ONE: Final = ("resume", "no_reference")  # options that mean nothing for several encodes


def compare(
    reference: str | os.PathLike[str],
    encodes: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Mapping[str, str] = (),
    *,
    encoder_from: str = "auto",
    against: str | None = None,
    remember: bool = True,
    progress: ProgressCallback | None = None,
    **options: Any,
) -> CompareReport:
    """Score many encodes of a reference, and compare them.

        report = acuity.compare("original.mkv", ["x264.mp4", "x265.mp4"], metrics=["vmaf", "psnr"])
        print(report.scores, report.errors)
        report.write("compare.html")

    `encodes` are paths, patterns ('encodes/*.mp4'), folders, lists in CSV or YAML, or a mapping of names to
    paths. A list may name references of its own: then it may be all, as in compare("encodes.csv").
    Every score has the digits of score() with the same `options`, which are score()'s, by the same names.
    An encode that fails doesn't end the others: `report.errors` says why.

    `encoder_from` says where the encoder of an encode is known from unless a list has it: 'auto', 'name',
    'folder', 'metadata', 'none', or a regular expression with the group `encoder`. If two encoders
    have several encodes, `report.analysis.rates` has their BD-rates, against the encoder `against`
    or the first. `report.analysis.differences` compares encodes frame by frame, with 95 % intervals.

    With `remember`, figures of an earlier run are taken where neither files nor options have changed.
    `progress` is called with the frames of all encodes done, how many there are (None: not known), and None.

    Raises AcuityError for what is wrong with all pairs alike.
    """
    if unknown := [name for name in options if name not in OPTIONS or name in _OF_ONE]:
        known = ", ".join(sorted(OPTIONS.difference(_OF_ONE)))
        raise TypeError(f"compare() has no option '{unknown[0]}': of score()'s it takes {known}")
    scoring = python_request("", "", **options)
    if isinstance(encodes, Mapping):
        named = [ComparePair(os.fspath(reference), os.fspath(path), name) for name, path in encodes.items()]
        found = Encodes(named, [None] * len(named), [])
    else:
        others = [encodes] if isinstance(encodes, str | os.PathLike) else list(encodes)
        found = find_encodes([os.fspath(word) for word in (reference, *others)])
    return run_comparison(
        found,
        scoring,
        encoder_from=encoder_from,
        against=against,
        remember=remember,
        progress=progress,
    )
