"""The options of `acuity score`, and the request they make."""

from __future__ import annotations

import argparse
import os
from fractions import Fraction
from typing import Any, Final

from acuity.cli.embedded import OPTIONS, Option, Wanted
from acuity.cli.getopt import BARE, UsageError
from acuity.cli.vmaf_options import DAMAGED, PAIRING
from acuity.models.choose import AUTO, VIEWINGS
from acuity.scoring.metrics import METRICS
from acuity.scoring.run import Request
from acuity.video.pairs.pair_options import PairOptions
from acuity.video.picture import DEPTHS, LAYOUTS
from acuity.video.readers.open import OpenOptions, RawGeometry

FORMATS: Final = ("json", "xml", "csv", "sub")


def whole(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number")
    return int(text)


def positive(text: str) -> int:
    if whole(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' should be 1 or more")
    return int(text)


def size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    if not (width.isdigit() and height.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is no size: write it as 1920x1080")
    return positive(width), positive(height)


def rate(text: str) -> Fraction:
    try:
        number = Fraction(text)
    except (ValueError, ZeroDivisionError):
        number = Fraction(0)
    if not 0 < number <= 1000:
        raise argparse.ArgumentTypeError(f"'{text}' is no frame rate: write it as 25 or 30000/1001")
    return number


_SWITCH: Final[dict[str, Any]] = {"action": "store_true"}


def _for_agents(option: Option) -> dict[str, Any]:
    """How argparse takes one of the options that both commands share."""

    def parse(text: str) -> Any:
        try:
            return option.bare if text == BARE else option.parse(text)
        except ValueError as why:
            raise argparse.ArgumentTypeError(f"'{text}' {why}") from None

    if not option.value:
        return _SWITCH
    # main.py's parser sees to it that no file's name is taken for a value that was left out.
    optional = {"nargs": "?"} if option.bare is not None else {}
    return {"metavar": option.value, "type": parse, **optional}


def _entry(*names: str, help: str, **settings: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    return names, {"help": help, **settings}


_MODEL = (
    "a name from 'acuity models', a file, or libvmaf's notation version=NAME:name=LABEL:...; "
    "may be repeated (default: vmaf_v0.6.1, for 4K vmaf_4k_v0.6.1)"
)
_VIEWING = "take the model of VMAF v1 for this way of watching, and for the frame rate: " + "; ".join(
    f"{name}, {viewing.seen}" for name, viewing in VIEWINGS.items()
)
_METRICS = f"what to measure, separated by commas: {', '.join(METRICS)} (default: vmaf)"
_FEATURE = "one more extractor from 'acuity features', as NAME or NAME=OPTION=VALUE:...; may be repeated"
_POOL = "show this figure too: mean, harmonic_mean, min, max or a percentile as p5; may be repeated"
_PRECISION = "digits in the report: legacy (six decimals, default), 1 to 17, max or full"

GROUPS: Final = {
    "what to measure": (
        _entry("-m", "--model", help=_MODEL, action="append", metavar="SPEC", dest="models"),
        _entry("--viewing", help=_VIEWING, choices=tuple(VIEWINGS)),
        _entry("--metrics", help=_METRICS, action="append", default=[], metavar="NAMES"),
        _entry("--feature", help=_FEATURE, action="append", default=[], metavar="SPEC", dest="features"),
        _entry("--pool", help=_POOL, action="append", default=[], metavar="METHOD", dest="pools"),
    ),
    "output": (
        _entry("-o", "--output", help="write a report: .json, .xml, .csv or .sub", metavar="FILE"),
        _entry("--format", help="format of the report, whatever its name", choices=FORMATS),
        _entry("--precision", help=_PRECISION, default="legacy", metavar="P"),
        _entry("--json", help="print one JSON document on standard output", action="store_true"),
        _entry("--per-frame", help="with --json: the figures of every frame too", action="store_true"),
        _entry("--worst", help="list N worst frames (default: 5)", type=whole, default=5, metavar="N"),
        _entry(
            "-q", "--quiet", help="no progress, only the score of each model or metric", action="store_true"
        ),
    ),
    "which frames": (
        _entry("--frames", help="stop after N frames", type=whole, default=0, metavar="N"),
        _entry("--skip", help="leave out the first N frames of both", type=whole, metavar="N"),
        _entry("--skip-ref", help="of the reference", type=whole, metavar="N"),
        _entry("--skip-dis", help="of the distorted", type=whole, metavar="N"),
        _entry(
            "--subsample",
            help="score every N-th frame only: faster, and blind to what lies between",
            type=positive,
            default=1,
            metavar="N",
        ),
        _entry("--allow-damaged", help=DAMAGED, action="store_true"),
    ),
    "where the two videos differ": tuple(
        _entry(f"--{name}", help=text, metavar="WORD") for name, text in PAIRING.items()
    ),
    "raw video, where the file name doesn't say it": (
        _entry("--size", help="width and height, as in 1920x1080", type=size, metavar="WxH"),
        _entry("-w", "--width", help="or each by itself", type=positive, metavar="N"),
        _entry("--height", help="of the pictures", type=positive, metavar="N"),
        _entry("-p", "--pixel-format", help="chroma", choices=tuple(LAYOUTS)),
        _entry("-b", "--bitdepth", help="bits a sample", type=int, choices=DEPTHS),
        _entry("--fps", help="frame rate, as in 25 or 30000/1001", type=rate, metavar="RATE"),
    ),
    "work (the scores are the same)": (
        _entry("--threads", help="threads (default and 0: all cores)", type=whole, metavar="N"),
        _entry("--cpu", help="instruction set, as 'acuity backends' lists them", metavar="SET"),
        _entry("--backend", help="auto or cpu", default="auto", metavar="NAME"),
    ),
    "for agents, while it runs": tuple(
        _entry(f"--{option.name.replace('_', '-')}", help=option.help, **_for_agents(option))
        for option in OPTIONS
    ),
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reference", metavar="REF", help="the original")
    parser.add_argument("distorted", metavar="DIS", help="the version to judge")
    for title, entries in GROUPS.items():
        group = parser.add_argument_group(title)
        for names, settings in entries:
            group.add_argument(*names, **settings)


def request(arguments: argparse.Namespace) -> Request:
    """What to score; refuses what can be refused before a file is opened."""
    if arguments.viewing and arguments.models and AUTO not in arguments.models:
        raise UsageError(
            "argument --viewing: it chooses the model, and --model names one: leave one of them out, or add "
            f"--model {AUTO}"
        )
    width, height = arguments.size or (arguments.width, arguments.height)
    words = {name: getattr(arguments, name) for name in PAIRING if getattr(arguments, name) is not None}
    skip = arguments.skip or 0
    return Request(
        arguments.reference,
        arguments.distorted,
        models=arguments.models or (AUTO,),
        viewing=arguments.viewing,
        features=arguments.features,
        metrics=arguments.metrics,
        geometry=RawGeometry(width, height, arguments.pixel_format, arguments.bitdepth),
        opening=OpenOptions(rate=arguments.fps, guess=True, allow_damaged=arguments.allow_damaged),
        pairing=PairOptions(
            **words,
            frame_skip_ref=skip if arguments.skip_ref is None else arguments.skip_ref,
            frame_skip_dis=skip if arguments.skip_dis is None else arguments.skip_dis,
            frame_count=arguments.frames,
        ),
        threads=arguments.threads or None,
        subsample=arguments.subsample,
        instruction_set=arguments.cpu,
        backend=arguments.backend,
    )


def embedding(arguments: argparse.Namespace) -> Wanted:
    """Where agents may connect while it runs."""
    return Wanted(**{option.field: getattr(arguments, option.name) for option in OPTIONS})


def report_format(arguments: argparse.Namespace) -> str:
    """The format of the report, from --format or the file's name."""
    from acuity.report.precision import parse_precision

    parse_precision(arguments.precision)
    if arguments.format or arguments.output is None:
        return str(arguments.format or "json")
    suffix = os.path.splitext(str(arguments.output))[1].lower().removeprefix(".")
    if suffix not in FORMATS:
        raise UsageError(
            f"'{arguments.output}' doesn't say its format: end it with .json, .xml, .csv or .sub, "
            "or pass --format"
        )
    return suffix


def check_pools(methods: list[str]) -> None:
    """Ask each method for the pool of one frame: a typing error shouldn't cost a whole run."""
    import numpy as np

    from acuity.measure import pool

    for method in methods:
        try:
            pool(np.ones(1), method)
        except ValueError as error:
            raise UsageError(f"argument --pool: {error}") from None
