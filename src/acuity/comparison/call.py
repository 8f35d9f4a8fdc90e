"""acuity.compare(), and run_comparison(), which the command and the server call as well."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from acuity.comparison.encoder_names import AUTO, Finder, encoder_finder
from acuity.comparison.encodes import Encodes, find_encodes
from acuity.comparison.report import CompareReport
from acuity.comparison.request import ComparePair, ComparisonRequest
from acuity.comparison.row import CompareRow, is_part
from acuity.comparison.run import WatchCallback, compare_videos
from acuity.devices import open_backend, open_decoder
from acuity.errors import InputError, listed
from acuity.features import make_extractor
from acuity.measure.feed import ProgressCallback
from acuity.models import load_model
from acuity.models.choose import AUTO as CHOSEN
from acuity.scoring.metrics import find_metrics
from acuity.scoring.python_request import OPTIONS, python_request
from acuity.scoring.request import Request
from acuity.text import quoted
from acuity.video.readers.image_names import is_pattern
from acuity.video.source import is_web_address


def run_comparison(
    encodes: Encodes,
    scoring: Request,
    *,
    encoder_from: str = AUTO,
    against: str | None = None,
    remember: bool = True,
    progress: ProgressCallback | None = None,
    watch: WatchCallback | None = None,
) -> CompareReport:
    """Score all encodes; what goes wrong with one is in its row.

    `encoder_from` says how the encoders are found that a list doesn't name; BD-rates compare them with the
    one called `against`, or the first.
    """
    unnamed = [pair.distorted for pair in encodes.pairs if not pair.encoder]
    find = encoder_finder(encoder_from, unnamed)  # a typing error should cost nothing
    check_scoring(scoring)
    _check_references(encodes)
    _check_against(against, encodes, find)
    request = ComparisonRequest(encodes.pairs, scoring, remember=remember)
    report = compare_videos(request, progress=progress, watch=watch)
    part = is_part(scoring)
    said = [None if part else pair.kbps for pair in encodes.pairs]  # a list's bitrates are of whole files
    rows = [_completed(row, find, kbps) for row, kbps in zip(report.rows, said, strict=True)]
    notes = [*encodes.notes, *report.notes, *(_about_rates(rows) if part else ())]
    known = list(dict.fromkeys(row.encoder for row in rows if row.encoder is not None))
    if against is not None and against not in known:
        instead = (
            f"BD-rates are against {known[0]}, the first of {listed(known)}" if known else "none is known"
        )
        notes.append(f"no encode is of the encoder {quoted(against)}: {instead}")
    return replace(report, rows=rows, notes=notes, against=against)


def _about_rates(rows: list[CompareRow]) -> Iterator[str]:
    yield "bitrates are those of the frames that are scored, sizes are of whole files"
    if unknown := [row.name for row in rows if row.kbps is None and row.report is not None]:
        yield f"no bitrate of {listed(unknown)}: which packets have the frames that are scored isn't known"


def _check_references(encodes: Encodes) -> None:
    """Refuse references that are all missing: one sentence instead of a row for each encode."""
    references = list(dict.fromkeys(pair.reference for pair in encodes.pairs))
    if not any(os.path.exists(path) or is_pattern(path) or is_web_address(path) for path in references):
        which = f"the reference {quoted(references[0])} does" if len(references) == 1 else "the references do"
        raise InputError(f"{which} not exist: check the path")


def _check_against(against: str | None, encodes: Encodes, find: Finder) -> None:
    """Refuse an encoder that no encode is of, if all are known before anything is read."""
    known = [pair.encoder or find(pair.distorted, None) for pair in encodes.pairs]
    if against is not None and against not in known and None not in known:
        there = ", ".join(dict.fromkeys(name for name in known if name is not None))
        raise InputError(f"no encode is of the encoder {quoted(against)}: there are {there}")


def check_scoring(scoring: Request) -> None:
    """Raise an error that concerns all pairs alike; every row would have it otherwise."""
    opened = open_backend(scoring.backend, scoring.excluded_backends, scoring.cpu, scoring.device)
    open_decoder(scoring.decoder, opened.devices)
    find_metrics(scoring.metrics)
    for model in scoring.models:
        if isinstance(model, str) and model != CHOSEN:
            load_model(model)
    for feature in scoring.features:
        make_extractor(feature)


def _completed(row: CompareRow, find: Finder, kbps: float | None) -> CompareRow:
    info: dict[str, Any] | None = None if row.report is None else row.report.input.get("distorted")
    encoder = row.encoder or find(row.distorted, info)
    return replace(row, encoder=encoder, kbps=row.kbps if kbps is None else kbps)


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
        found = Encodes(named, [])
    else:
        others = [encodes] if isinstance(encodes, str | os.PathLike) else list(encodes)
        found = find_encodes([os.fspath(word) for word in (reference, *others)])
    return run_comparison(
        found, scoring, encoder_from=encoder_from, against=against, remember=remember, progress=progress
    )
