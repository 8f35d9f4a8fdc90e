"""The options of `acuity score`, and the request they make."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterable
from fractions import Fraction
from typing import Any, Final, TypeAlias

from acuity.cli.embedded import OPTIONS, EmbeddedOptions
from acuity.cli.getopt import BARE, Flag, UsageError, given_twice, whole
from acuity.cli.scoring import HELP, MOST, PAGE, WITHOUT_PAGE
from acuity.cli.terminal.graphics import plot_way
from acuity.errors import InputError, OutputError
from acuity.models.choose import AUTO, VIEWINGS
from acuity.scoring.fronts import ACUITY, Front, sentence
from acuity.scoring.metrics import METRICS
from acuity.scoring.request import (
    DIFFERENT,
    FILES,
    FRAMES,
    MEASURED,
    PICTURES,
    RAW_VIDEO,
    SETTINGS,
    TINY,
    WORK,
    Request,
    frame_rate,
    tiny_fault,
)
from acuity.scoring.setting import Setting
from acuity.text import shortened
from acuity.video.picture import DEPTHS, LAYOUTS

FORMATS: Final = ("json", "xml", "csv", "sub", "html", "svg", "png")
RUNNING: Final = "while it runs: a page for you, a server for agents"  # the title of a group
LEGACY: Final = "legacy"  # the default precision


def typed(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """The type of an argument for argparse: a parser whose ValueError says what a value should be."""

    def parsed(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as why:
            raise argparse.ArgumentTypeError(f"'{shortened(text)}' {why}") from None

    return parsed


def size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    try:
        return whole(1)(width), whole(1)(height)
    except ValueError:
        raise ValueError("is no size: write it as 1920x1080") from None


def rate(text: str) -> Fraction:
    try:
        return frame_rate(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


_SWITCH: Final[dict[str, Any]] = {"action": "store_true"}


Entry: TypeAlias = tuple[tuple[str, ...], dict[str, Any]]  # the names and arguments of an option for argparse


def entry(*names: str, help: str, **settings: Any) -> Entry:
    """An option that takes a value if `metavar` names it, and is a switch otherwise."""
    usual = {} if settings.keys() & {"metavar", "choices"} else _SWITCH
    if "type" in settings:
        settings["type"] = typed(settings["type"])
    return names, {"help": help, **usual, **settings}


def _for_agents(flag: Flag) -> Entry:
    name = f"--{flag.long.replace('_', '-')}"
    if not flag.value:
        return entry(name, help=flag.help)
    # main.py's parser ensures that no file name is taken as an omitted value.
    optional = {"nargs": "?"} if flag.bare is not None else {}

    def parse(text: str) -> Any:
        return flag.bare if text == BARE else flag.parse(text)

    return entry(name, help=flag.help, metavar=flag.value, type=parse, **optional)


def _option(name: str) -> Entry:
    setting, (short, changes) = SETTINGS[name], _CHANGES.get(name, ("", {}))
    made: dict[str, Any] = {"help": ACUITY.help(name)}
    if setting.kind == "integer":
        made["type"] = typed(whole(int(setting.minimum or 0)))
    if setting.group == TINY and setting.kind != "boolean":
        made["action"] = _Once
    return setting_entry(name, setting, ACUITY, short, {**made, **changes})


def setting_entry(name: str, about: Setting, front: Front, letter: str, changes: dict[str, Any]) -> Entry:
    """The option for a setting of a request; `changes` are arguments for argparse besides the usual ones."""
    names = (*([f"-{letter}"] if letter else []), f"--{front.name(name)}")
    return names, {"dest": name, **_KINDS[about.kind], **changes}


_KINDS: Final[dict[str, dict[str, Any]]] = {
    "boolean": _SWITCH,
    "array": {"action": "append", "metavar": "SPEC"},
    "integer": {"metavar": "N"},
    "number": {"metavar": "X"},
    "string": {"metavar": "WORD"},
}


class _Once(argparse.Action):
    """An option that may not be repeated: argparse's own would drop the first value without a word."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        if getattr(namespace, self.dest) is not None:
            raise UsageError(given_twice(ACUITY.name(self.dest)))
        setattr(namespace, self.dest, values)


class _WithoutReference(argparse.Action):
    """The switch with which one video is enough: `spared` is the argument of the other."""

    spared: argparse.Action | None = None

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        setattr(namespace, self.dest, True)
        if self.spared is not None:
            self.spared.required = False  # argparse looks at it when all words are read


_CHOICES: Final = {
    name: ", ".join(map(str, SETTINGS[name].choices)) for name in ("tiny_device", "tiny_resize")
}
_MODEL = (
    f"a name, a file, or {ACUITY.help('models')}; may be repeated "
    "(default: vmaf_v0.6.1, for 4K vmaf_4k_v0.6.1)"
)
_VIEWING = f"{ACUITY.help('viewing')}: " + "; ".join(
    f"{name}, {viewing.seen}" for name, viewing in VIEWINGS.items()
)
_METRICS = f"{ACUITY.help('metrics')}, separated by commas: {', '.join(METRICS)} (default: vmaf)"
# The letter of an option, and argparse arguments besides those from the setting.
_CHANGES: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "models": ("m", {"help": _MODEL}),
    "viewing": ("", {"help": _VIEWING, "metavar": None, "choices": tuple(VIEWINGS)}),
    "metrics": ("", {"help": _METRICS, "metavar": "NAMES"}),
    "features": ("", {"help": f"{ACUITY.help('features')}; may be repeated"}),
    "width": ("w", {}),
    "pixel_format": ("p", {"metavar": None, "choices": tuple(LAYOUTS)}),
    "bitdepth": ("b", {"type": int, "metavar": None, "choices": DEPTHS}),
    "fps": ("", {"type": rate, "metavar": "RATE"}),
    "resume": ("", {"metavar": "FILE"}),
    "tiny_model": ("", {"metavar": "MODEL"}),
    "tiny_codec": ("", {"metavar": "ENCODER"}),
    "tiny_preset": ("", {"metavar": "PRESET"}),
    "tiny_device": ("", {"help": f"{ACUITY.help('tiny_device')}: {_CHOICES['tiny_device']}"}),
    "tiny_resize": ("", {"help": f"{ACUITY.help('tiny_resize')}: {_CHOICES['tiny_resize']}"}),
    "no_reference": ("", {"action": _WithoutReference, "nargs": 0}),
    "threads": ("", {"help": "threads (default and 0: all cores)", "type": typed(whole())}),
    "cpu": ("", {"metavar": "SET"}),
    "backend": ("", {"metavar": "NAME"}),
}
_POOL = "show this figure too: mean, harmonic_mean, min, max, median, stddev, a percentile as p5; repeatable"
_PRECISION = "digits in the report: legacy (six decimals, default), 1 to 17, max or full"

# Options that are no settings of a request.
# fmt: off
_OTHERS: Final[dict[str, tuple[Entry, ...]]] = {
    MEASURED: (entry("--pool", help=_POOL, action="append", default=[], metavar="METHOD", dest="pools"),),
    TINY: (),
    "output": (
        entry("-o", "--output", metavar="FILE",
              help="write a report: .json, .xml, .csv or .sub, a page: .html, a plot: .svg or .png"),
        entry("--format", choices=FORMATS, help="format of the report, whatever its name"),
        entry("--pictures", metavar="N", type=whole(0, MOST), help=HELP),
        entry("--precision", metavar="P", default=LEGACY, help=_PRECISION),
        entry("--json", help="print one JSON document on standard output"),
        entry("--per-frame", help="with --json: the figures of every frame too"),
        entry("--plot", metavar="WAY", nargs="?", type=plot_way,
              help="plot all scores and metrics at the end, as large as the terminal: auto (default), text, "
              "sixel or kitty"),
        entry("--worst", metavar="N", type=whole(), default=5, help="list N worst frames (default: 5)"),
        entry("-q", "--quiet", help="print only the score of each model or metric, and warnings on stderr"),
        entry("--strict", help="exit with 3 if there is a warning"),
    ),
    FILES: (),
    FRAMES: (entry("--skip", metavar="N", type=whole(), help="leave out the first N frames of both"),),
    PICTURES: (),
    DIFFERENT: (),
    RAW_VIDEO: (entry("--size", metavar="WxH", type=size, help="width and height, as in 1920x1080"),),
    WORK: (),
    RUNNING: tuple(map(_for_agents, OPTIONS.values())),
}
# fmt: on
GROUPS: Final = {
    title: (*(_option(name) for name in ACUITY.settings if SETTINGS[name].group == title), *others)
    for title, others in _OTHERS.items()
}


def configure(parser: argparse.ArgumentParser) -> None:
    distorted = add_videos(parser)
    add_groups(parser, GROUPS, spared=distorted)


def add_videos(parser: argparse.ArgumentParser) -> argparse.Action:
    parser.add_argument("reference", metavar="REF", help="the original")
    return parser.add_argument("distorted", metavar="DIS", help="the version to judge")


def add_entries(parser: argparse.ArgumentParser, title: str, entries: Iterable[Entry]) -> None:
    group = parser.add_argument_group(title)
    for names, settings in entries:
        group.add_argument(*names, **settings)


def add_groups(
    parser: argparse.ArgumentParser,
    titles: Iterable[str],
    leave_out: Collection[str] = (),
    spared: argparse.Action | None = None,
) -> None:
    """Add the options of these groups, but not those that set one of `leave_out`."""
    for title in titles:
        group = parser.add_argument_group(title)
        for names, settings in GROUPS[title]:
            if settings.get("dest") not in leave_out:
                action = group.add_argument(*names, **settings)
                if isinstance(action, _WithoutReference):
                    action.spared = spared


# Options that do nothing without another one, and why.
_NEEDS: Final = (
    ("per_frame", "json", "--per-frame: it adds to the JSON document: pass --json too"),
    ("format", "output", "--format: it is the report's: pass -o FILE too"),
    ("precision", "output", "--precision: it is the report's: pass -o FILE too"),
)


def check_needs(arguments: argparse.Namespace) -> None:
    for name, needed, why in _NEEDS:
        if getattr(arguments, name, None) not in (None, False, LEGACY) and not getattr(arguments, needed):
            raise UsageError(f"argument {why}")


def _check_combinations(arguments: argparse.Namespace) -> None:
    check_needs(arguments)
    if arguments.plot and (arguments.quiet or arguments.json):
        name = "--json" if arguments.json else "--quiet"
        raise UsageError(f"argument --plot: {name} prints no plot: leave one of them out")
    if arguments.pools and arguments.quiet and not arguments.json:
        raise UsageError(
            "argument --pool: --quiet prints the score alone: leave one of them out, or pass --json"
        )


def request(arguments: argparse.Namespace) -> Request:
    _check_combinations(arguments)
    return scoring_request(arguments)


def scoring_request(arguments: argparse.Namespace) -> Request:
    if arguments.size is not None and (arguments.width or arguments.height):
        raise UsageError("argument --size: it is the width and the height: leave out --width and --height")
    if arguments.viewing and arguments.models and AUTO not in arguments.models:
        raise UsageError(
            "argument --viewing: it chooses the model, and --model names one: leave one of them out, or add "
            f"--model {AUTO}"
        )
    given = {name: value for name in SETTINGS if (value := getattr(arguments, name, None)) is not None}
    if arguments.size is not None:
        given["width"], given["height"] = arguments.size
    if arguments.skip is not None:
        both = {} if getattr(arguments, "no_reference", False) else {"skip_ref": arguments.skip}
        given = {**both, "skip_dis": arguments.skip, **given}
    given["threads"] = arguments.threads or None
    if (fault := tiny_fault(given, lambda name: f"--{ACUITY.name(name)}")) is not None:
        raise UsageError(fault)
    return Request(*videos(arguments), **given, guess=True)


def videos(arguments: argparse.Namespace) -> tuple[str | None, str]:
    """The reference, and the distorted video, which may come alone with --no-reference."""
    if arguments.distorted is None:
        return None, arguments.reference
    return arguments.reference, arguments.distorted


def embedding(arguments: argparse.Namespace) -> EmbeddedOptions:
    return EmbeddedOptions(**{field: getattr(arguments, flag.long) for field, flag in OPTIONS.items()})


def report_format(arguments: argparse.Namespace) -> str:
    from acuity.report import format_of
    from acuity.report.precision import parse_precision

    parse_precision(arguments.precision)
    return format_by(format_of, arguments)


def format_by(of_name: Callable[[str], str], arguments: argparse.Namespace) -> str:
    """The format from --format or the file's name; refuses pictures that it has no place for."""
    try:
        named = of_name(arguments.output) if arguments.output is not None and not arguments.format else "json"
    except OutputError as error:
        raise UsageError(sentence(error, "acuity")) from None
    found = str(arguments.format or named)
    if arguments.pictures is not None and (arguments.output is None or found != PAGE):
        raise UsageError(f"argument --pictures: {WITHOUT_PAGE}")
    return found


def check_pools(methods: list[str]) -> None:
    """Pool one frame with each method, so that a typing error is found before the run."""
    from acuity.measure import pool

    for method in methods:
        try:
            pool([0.0], method)
        except ValueError as error:
            raise UsageError(f"argument --pool: {error}") from None
