"""Runs a comparison for the command, Python and the server: encodes are found, scored and told apart."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from acuity.comparison.encoder_names import AUTO, Finder, encoder_finder
from acuity.comparison.report import CompareReport, CompareRow
from acuity.comparison.request import CompareRequest
from acuity.comparison.run import WatchCallback, compare_videos
from acuity.devices import open_backend, open_decoder
from acuity.errors import InputError, listed
from acuity.features import make_extractor
from acuity.models import load_model
from acuity.models.choose import AUTO as CHOSEN
from acuity.scoring.metrics import find_metrics
from acuity.text import quoted
from acuity.video.readers.image_names import is_pattern
from acuity.video.source import is_web_address

if TYPE_CHECKING:
    from acuity.comparison.encodes import Encodes
    from acuity.measure.feed import ProgressCallback
    from acuity.scoring.request import Request


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
    request = CompareRequest(encodes.pairs, scoring, remember=remember)
    report = compare_videos(request, progress=progress, watch=watch)
    rows = [_completed(row, find, kbps) for row, kbps in zip(report.rows, encodes.kbps, strict=True)]
    notes = [*encodes.notes, *report.notes]
    known = list(dict.fromkeys(row.encoder for row in rows if row.encoder is not None))
    if against is not None and against not in known:
        instead = (
            f"BD-rates are against {known[0]}, the first of {listed(known)}" if known else "none is known"
        )
        notes.append(f"no encode is of the encoder {quoted(against)}: {instead}")
    return replace(report, rows=rows, notes=notes, against=against)


def _check_references(encodes: Encodes) -> None:
    """Refuse references of which none is there: one sentence instead of a row for each encode."""
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
    """Raise what is wrong with all pairs alike, which would be the error of every row otherwise."""
    opened = open_backend(scoring.backend, scoring.excluded_backends, scoring.cpu, scoring.device)
    open_decoder(scoring.decoder, opened.devices)
    find_metrics(scoring.metrics)
    for model in scoring.models:
        if isinstance(model, str) and model != CHOSEN:
            load_model(model)
    for feature in scoring.features:
        make_extractor(feature)


def _completed(row: CompareRow, find: Finder, kbps: float | None) -> CompareRow:
    """The row with its encoder, and with the bitrate that a list gives."""
    info: dict[str, Any] | None = None if row.report is None else row.report.input.get("distorted")
    encoder = row.encoder or find(row.distorted, info)
    return replace(row, encoder=encoder, kbps=row.kbps if kbps is None else kbps)
