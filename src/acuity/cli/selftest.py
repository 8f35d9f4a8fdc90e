"""Check that this installation computes the right digits: every extractor and model, on each backend.

    acuity selftest
    acuity selftest --backend cuda --json

Small made-up clips, the same on every machine, are measured with each instruction set of the processor and
on each card. Their figures must equal the golden digits in the package to the last bit; only tiny models may
be off, by 0.0001, and XPSNR by 1e-13. The exit code is 1 if a figure differs, or if a model that comes with
Acuity is missing.

Where libvmaf is at hand, in PyAV or as the program that VMAF_REFERENCE_BIN names, it measures the clips too.
Its differences are shown and don't count: it prints six decimals, and its SIMD differs from its C code."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from acuity.cli.bench import printer, progress_line, silent
from acuity.cli.exits import BACKEND, FAILED, OK
from acuity.cli.terminal.style import Style, count, wrapped_columns
from acuity.errors import BackendError
from acuity.report.document import plain
from acuity.scoring.fronts import sentence
from acuity.scoring.libvmaf import Libvmaf, find_libvmaf
from acuity.scoring.selftest import (
    CLIPS,
    KINDS,
    TINY_BOUND,
    Mismatch,
    SelfTest,
    SelftestRow,
    as_document,
    compare_libvmaf,
    find_engines,
    read_golden,
)
from acuity.scoring.speed import Unusable

SCHEMA: Final = "acuity.selftest/1"
_CPU: Final = re.compile(r"cpu \((.*)\)")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--backend",
        action="append",
        default=[],
        metavar="B",
        help="check this one: cpu, cuda (every card), a card, as cuda:1, or auto; repeatable (default: all)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(arguments: argparse.Namespace) -> int:
    rows: list[SelftestRow] = []
    lost: list[Unusable] = []
    with progress_line() as tell:
        tell("looking for backends")
        engines, unusable = find_engines(arguments.backend)
        libvmaf = find_libvmaf()
        test = SelfTest(read_golden())
        for engine in engines:
            try:
                rows += test.check(engine, tell)
            except BackendError as error:
                lost.append(Unusable(engine.name, sentence(error, "acuity")))
        beside = {} if libvmaf is None else compare_libvmaf(test, libvmaf, tell)
        say = silent if arguments.json else printer(tell)
        style = Style(sys.stdout)
        say(*_table(rows, beside, libvmaf, style), "")
        for text in (*_summaries(rows), *_about_libvmaf(libvmaf, beside)):
            say(*style.paragraph(None, text, hanging=2))
        for text in _unchecked([*test.skipped, *unusable, *lost]):
            say(*style.paragraph(None, text, hanging=2))
    if arguments.json:
        listed = {"unusable": [entry._asdict() for entry in (*unusable, *lost)]}
        document = {"schema": SCHEMA, **as_document(test, rows, libvmaf, beside), **listed}
        print(json.dumps(plain(document), indent=2, allow_nan=False))
    for row in rows:
        if row.differences:
            print(f"acuity: {row.entry.name} on {row.engine}: {_worst(row)}", file=sys.stderr)
    for entry in test.missing:
        print(f"acuity: {entry.name} can't be checked: {entry.reason}", file=sys.stderr)
    if test.missing or any(row.differences for row in rows):
        return FAILED
    # Of a backend that was named a card may be missing, but not all of them.
    named = {entry.name for entry in unusable}.intersection(arguments.backend)
    return BACKEND if not rows or named or lost else OK


def _table(
    rows: Sequence[SelftestRow], beside: Mapping[str, Mismatch], libvmaf: Libvmaf | None, style: Style
) -> list[str]:
    alike: dict[tuple[str, str], list[SelftestRow]] = {}
    for name in dict.fromkeys(row.entry.name for row in rows):
        for row in rows:
            if row.entry.name == name:
                alike.setdefault((name, _result(row)), []).append(row)
    lines = [["checked", "backend", f"digits, {CLIPS[0].name}", "libvmaf", "result"]]
    for (name, result), members in alike.items():
        figure, digits = next(iter(members[0].found.items()))
        shown = repr(digits[0]) if figure == name else f"{figure} {digits[0]!r}"
        theirs = f"{beside[name].size:.1e}" if name in beside else "-"
        lines.append([name, _backends(row.engine for row in members), shown, theirs, result])
    if libvmaf is None:
        for line in lines:
            del line[3]
    return wrapped_columns(lines, style)


def _result(row: SelftestRow) -> str:
    if row.differences:
        return f"DIFFERS: {_worst(row)}"
    return f"{row.compared} " + (f"within {row.entry.bound:g}" if row.entry.bound else "equal")


def _worst(row: SelftestRow) -> str:
    worst = row.differences[0]
    wrong = "there is none" if worst.found is None else f"it is {worst.found!r}, off by {worst.size:.1e}"
    more = f", and {count(len(row.differences) - 1, 'other')}" if row.differences[1:] else ""
    return f"{worst.figure} of {worst.clip} should be {worst.golden!r}: {wrong}{more}"


def _backends(names: Iterable[str]) -> str:
    """The names, with the instruction sets of the CPU in one pair of brackets."""
    listed = list(names)
    sets = [found[1] for name in listed if (found := _CPU.fullmatch(name))]
    cards = [name for name in listed if not _CPU.fullmatch(name)]
    return ", ".join([f"cpu ({', '.join(sets)})", *cards] if sets else cards)


def _summaries(rows: Sequence[SelftestRow]) -> list[str]:
    sentences = []
    for engine in dict.fromkeys(row.engine for row in rows):
        own = [row for row in rows if row.engine == engine]
        numbers = {kind: sum(row.entry.kind == kind for row in own) for kind in KINDS}
        which = " and ".join(count(number, kind) for kind, number in numbers.items() if number)
        figures, wrong = sum(row.compared for row in own), sum(len(row.differences) for row in own)
        if wrong:
            sentences.append(f"{wrong} of {figures} figures of {which} DIFFER on {engine}")
            continue
        close = sum(row.compared for row in own if row.entry.kind == "tiny model")
        but = f" ({close} of tiny models within {TINY_BOUND:g})" if close else ""
        sentences.append(f"{figures} figures of {which} equal on {engine}{but}")
    return sentences


def _about_libvmaf(libvmaf: Libvmaf | None, beside: Mapping[str, Mismatch]) -> list[str]:
    if libvmaf is None or not beside:
        return []
    name, worst = max(beside.items(), key=lambda one: one[1].size)
    return [
        f"libvmaf {libvmaf.version} ({libvmaf.where}, its {libvmaf.code} code) differs by at most "
        f"{worst.size:.1e}: {worst.figure} of {name}, {worst.clip}; it prints six decimals"
    ]


def _unchecked(entries: Iterable[Unusable]) -> list[str]:
    names: dict[str, list[str]] = {}
    for entry in entries:
        names.setdefault(entry.reason, []).append(entry.name)
    return [f"not checked: {', '.join(found)}: {reason}" for reason, found in names.items()]
