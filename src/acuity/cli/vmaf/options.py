"""The options of `vmaf`: one table that the parser, `--help` and the documentation test read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from acuity.cli import embedded
from acuity.cli.getopt import Flag, UsageError, given_twice, one_of, parse_flags, unsigned, whole, wrapped
from acuity.cli.scoring import HELP, MOST, PAGE, WITHOUT_PAGE
from acuity.devices import BACKENDS
from acuity.errors import GEOMETRY
from acuity.scoring.fronts import VMAF
from acuity.scoring.request import DIFFERENT, MAX_CRF, PICTURES, SETTINGS, tiny_fault

if TYPE_CHECKING:
    from acuity.scoring.presets import Preset

DEFAULT_MODEL: Final = "version=vmaf_v0.6.1"


class CommandLine:
    common_bitdepth: bool = False  # score a pair of different depths at the greater one
    command: str = ""  # as reports say it
    output: str | None = None
    format: str = ""  # unless given, what the name of a page or plot says, otherwise XML
    pictures: int | None = None  # worst frames in a page
    precision: str = "legacy"
    cpumask: int = 0
    gpumask: int = 0
    quiet: bool = False
    strict: bool = False
    action: str = "score"  # or "help", "version", "list_backends"

    def __init__(self) -> None:
        self.request: dict[str, Any] = {}  # fields of a Request
        self.models: list[str] = []
        self.features: list[str] = []
        self.excluded: set[str] = set()  # backends that 'auto' may not choose
        self.embedded = embedded.EmbeddedOptions()
        self.devices: dict[str, str] = {}  # of the tiny model, by the option that names it


def _bitdepth(text: str) -> int:
    depth = unsigned(text)
    if depth not in (8, 10, 12, 14, 16):
        raise ValueError("should be 8, 10, 12, 14 or 16")
    return depth


def _precision(text: str) -> str:
    if text not in ("legacy", "max", "full") and not re.fullmatch(r"[1-9]|1[0-7]", text):
        raise ValueError("should be legacy, max, full or a number of significant digits from 1 to 17")
    return text


def _backend(text: str) -> str:
    name, colon, number = text.partition(":")
    one_of("auto", *BACKENDS)(name)
    if colon and not (name in BACKENDS[1:] and number.isascii() and number.isdigit()):
        raise ValueError("should be a name, or a name and the number of a card, as cuda:1")
    return text


def _choice(name: str) -> Callable[[str], str]:
    """A parser of a setting's words, which are looked up when one is given."""
    return lambda text: one_of(*map(str, SETTINGS[name].choices))(text)


_VIDEO, _MODEL, _OUT, _WORK, _MORE = "Videos", "Models and features", "Report", "Work", "Help"
_TINY = "Tiny models, from ONNX files (needs acuity-vmaf[tiny])"

_help = VMAF.help
# What is done where the videos differ, which libvmaf has no options for.
PAIRING: Final = [name for name in VMAF.settings if SETTINGS[name].group in (PICTURES, DIFFERENT)]

FLAGS: Final[tuple[Flag, ...]] = (
    Flag("reference", "the original: raw YUV, Y4M or any container", "r", "PATH", section=_VIDEO),
    Flag("distorted", "the version to judge", "d", "PATH", section=_VIDEO),
    Flag("width", _help("width"), "w", "N", whole(1), section=_VIDEO),
    Flag("height", _help("height"), "h", "N", whole(1), section=_VIDEO),
    Flag("pixel_format", "400, 420, 422 or 444; for raw YUV", "p", "FORMAT",
         one_of("400", "420", "422", "444"), section=_VIDEO),
    Flag("bitdepth", "8, 10, 12, 14 or 16; for raw YUV", "b", "N", _bitdepth, section=_VIDEO),
    Flag("frame_cnt", "stop after N frames (0: all)", "", "N", wrapped, section=_VIDEO),
    Flag("frame_skip_ref", _help("skip_ref"), "", "N", unsigned,
         section=_VIDEO),
    Flag("frame_skip_dist", _help("skip_dis"), "", "N", unsigned,
         section=_VIDEO),
    *(Flag(name, _help(name), "", "WORD", section=_VIDEO) for name in PAIRING),
    Flag("allow_damaged", _help("allow_damaged"), section=_VIDEO),
    Flag("stream", _help("stream"), "", "N", unsigned, section=_VIDEO),
    Flag("stream_ref", _help("stream_ref"), "", "N", unsigned, section=_VIDEO),
    Flag("stream_dist", _help("stream_dis"), "", "N", unsigned, section=_VIDEO),
    Flag("allow_network", _help("allow_network"), section=_VIDEO),
    Flag("model", "version=NAME or path=FILE, then :name=LABEL, :disable_clip, :enable_transform and "
         ":EXTRACTOR.OPTION=VALUE; may be repeated (default: version=vmaf_v0.6.1)", "m", "SPEC",
         section=_MODEL),
    Flag("feature", "one more extractor: NAME or NAME=OPTION=VALUE:OPTION=VALUE; may be repeated", "",
         "SPEC", section=_MODEL),
    Flag("no_prediction", _help("predict"), "n", section=_MODEL),
    Flag("aom_ctc", "AOM common test conditions, v1.0 to v7.0", "", "VERSION", section=_MODEL),
    Flag("nflx_ctc", "Netflix common test conditions, v1.0", "", "VERSION", section=_MODEL),
    Flag("tiny-model", _help("tiny_model"), "", "MODEL", section=_TINY),
    Flag("tiny-device", "what runs it: auto, cpu, cuda, openvino, openvino-npu, openvino-cpu, openvino-gpu, "
         "coreml, coreml-ane, coreml-gpu, coreml-cpu or rocm; refused if it isn't there", "", "NAME",
         _choice("tiny_device"), section=_TINY),
    Flag("dnn-ep", "the same as --tiny-device", "", "NAME", _choice("tiny_device"), section=_TINY),
    Flag("tiny-threads", _help("tiny_threads"), "", "N", unsigned, section=_TINY),
    Flag("tiny-fp16", _help("tiny_fp16"), section=_TINY),
    Flag("tiny-model-verify", _help("tiny_model_verify"), section=_TINY),
    Flag("tiny-codec", _help("tiny_codec"), "", "ENCODER", section=_TINY),
    Flag("tiny-preset", _help("tiny_preset"), "", "PRESET", section=_TINY),
    Flag("tiny-crf", f"{_help('tiny_crf')}, 0 to {MAX_CRF}", "", "N", whole(0, MAX_CRF), section=_TINY),
    Flag("tiny-resize", "disabled, bilinear, nearest or bicubic: " + _help("tiny_resize"), "", "FILTER",
         _choice("tiny_resize"), section=_TINY),
    Flag("no-reference", _help("no_reference") + "; -r may be left out", section=_TINY),
    Flag("output", "write the report to this file ('-': standard output)", "o", "PATH", section=_OUT),
    Flag("xml", "as XML (default)", section=_OUT),
    Flag("json", "as JSON", section=_OUT),
    Flag("csv", "as CSV", section=_OUT),
    Flag("sub", "as subtitles", section=_OUT),
    Flag("html", "as a page to open in a browser; also if PATH ends in .html", section=_OUT),
    Flag("pictures", HELP, "", "N", whole(0, MOST), section=_OUT),
    Flag("precision", "digits of scores: legacy (six decimals, default), 1 to 17 significant digits, or "
         "max or full for all 17", "", "P", _precision, section=_OUT),
    Flag("threads", "worker threads (default and 0: all cores; the scores are the same)", "", "N", unsigned,
         section=_WORK),
    Flag("subsample", _help("subsample"), "", "N", unsigned, section=_WORK),
    Flag("backend", "auto, cpu, cuda, sycl, hip or metal, or a card, as cuda:1; exit 100 if it can't start",
         "", "NAME", _backend, section=_WORK),
    Flag("device", _help("device"), "", "N", unsigned, section=_WORK),
    Flag("decoder", _help("decoder"), "", "NAME", _choice("decoder"), section=_WORK),
    *(Flag(f"no_{name}", f"leave {name} out of 'auto'", section=_WORK) for name in BACKENDS[1:]),
    Flag("cpumask", "forbid instruction sets; the scores are the same. x86: 1 SSE2, 2 SSSE3, 4 SSE4.1, "
         "8 AVX2, 16 AVX-512; ARM: 1 NEON, 2 its dot products; -1: all of them", "c", "BITS", wrapped,
         section=_WORK),
    Flag("gpumask", "forbid cards: 1 the first, 2 the second, 4 the third, and so on; -1: every GPU", "",
         "BITS", wrapped, section=_WORK),
    *(flag._replace(section=_WORK) for flag in embedded.OPTIONS.values()),
    Flag("quiet", "no frame meter, no notes but warnings; with -o, no score on stderr either", "q",
         section=_WORK),
    Flag("strict", "exit with 3 if there is a warning", section=_WORK),
    Flag("list_backends", "print the backends as JSON and stop", section=_MORE),
    Flag("version", "print the version and stop", "v", section=_MORE),
    Flag("help", "print this page and stop", section=_MORE),
)  # fmt: skip

_Setter = Callable[[CommandLine, Any], None]


def _set(attribute: str, constant: object = None) -> _Setter:
    return lambda s, v: setattr(s, attribute, v if constant is None else constant)


def _preset(family: str) -> _Setter:
    def add(settings: CommandLine, version: str) -> None:
        preset = _find_preset(family, version)
        settings.common_bitdepth |= preset.common_bitdepth
        settings.models += preset.models
        settings.features += preset.features

    return add


def _find_preset(family: str, version: str) -> Preset:
    """The preset; raises an error with the known versions."""
    from acuity.scoring.presets import PRESETS

    versions = PRESETS[family]
    if family == "aom_ctc" and version == "proposed":
        raise UsageError(f"--aom_ctc proposed is deprecated: use one of {', '.join(versions)}")
    if version not in versions:
        raise UsageError(f"'{version}' is no version of --{family}: use one of {', '.join(versions)}")
    return versions[version]


def _embed(attribute: str) -> _Setter:
    return lambda s, v: setattr(s.embedded, attribute, v)


def _ask(name: str, value: Callable[[Any], Any] = lambda v: v) -> _Setter:
    return lambda s, v: s.request.__setitem__(name, value(v))


def _threads(settings: CommandLine, count: int) -> None:
    settings.request |= {"threads": count or None, "sequential_first": count > 0}


def _device(option: str) -> _Setter:
    return lambda s, v: s.devices.__setitem__(option, v)


def _exclude(name: str) -> _Setter:
    return lambda s, v: s.excluded.add(name)


# What an option does, unless it stores its value under its own name.
_SETTERS: Final[dict[str, _Setter]] = {
    **{VMAF.name(name): _ask(name) for name in ("reference", "distorted", *VMAF.settings)},
    "model": lambda s, v: s.models.append(v),
    "feature": lambda s, v: s.features.append(v),
    "threads": _threads,
    "subsample": _ask("subsample", lambda step: step or 1),
    "no_prediction": _ask("predict", lambda _: False),
    **{name: _set("format", name) for name in ("xml", "json", "csv", "sub", "html")},
    **{name: _set("action", name) for name in ("list_backends", "version", "help")},
    **{f"no_{name}": _exclude(name) for name in BACKENDS[1:]},
    **{flag.long: _embed(field) for field, flag in embedded.OPTIONS.items()},
    "tiny-device": _device("tiny-device"),
    "dnn-ep": _device("dnn-ep"),
    "aom_ctc": _preset("aom_ctc"),
    "nflx_ctc": _preset("nflx_ctc"),
}


def parse(argv: Sequence[str]) -> CommandLine:
    settings = CommandLine()
    tiny: set[str] = set()
    for flag, value in parse_flags(FLAGS, argv):
        if flag.section == _TINY and flag.value:
            if flag.long in tiny:
                raise UsageError(given_twice(flag.long))
            tiny.add(flag.long)
        _SETTERS.get(flag.long, _set(flag.long))(settings, value)
        if settings.action != "score":
            return settings  # as in libvmaf, -v takes effect at once, whatever follows
    _complete(settings)
    return settings


def _format_of(output: str | None) -> str:
    """XML whatever the name says, as in libvmaf, except for pages and plots, which libvmaf doesn't have."""
    if output is None or "." not in output:
        return "xml"
    from acuity.report import SHOWN

    ending = output.rpartition(".")[2].lower()
    return ending if ending in SHOWN else "xml"


def _complete(settings: CommandLine) -> None:
    """Check combinations of options, and fill in the default model and format."""
    asked = settings.request
    settings.format = settings.format or _format_of(settings.output)
    if settings.pictures is not None and (settings.output is None or settings.format != PAGE):
        raise UsageError(f"--pictures: {WITHOUT_PAGE}")
    for device in settings.devices.values():
        asked.setdefault("tiny_device", device)
    if len({*settings.devices.values()}) > 1:
        both = " and ".join(f"--{option} {device}" for option, device in settings.devices.items())
        raise UsageError(f"{both} are the same option and name two devices: leave one of them out")
    alone = asked.get("no_reference", False)
    if alone:
        asked.setdefault("reference", None)
    for name, letter in (("reference", "r"), ("distorted", "d")):
        if not asked.get(name) and not (alone and name == "reference"):
            hint = ", or pass --no-reference" if name == "reference" and asked.get("tiny_model") else ""
            raise UsageError(f"the {name} video is missing: name it with -{letter}/--{name}{hint}")
    # As in libvmaf, any geometry option means that the inputs are raw samples.
    missing = [flag.spelling for flag in FLAGS if flag.long in GEOMETRY and flag.long not in asked]
    if missing and len(missing) < len(GEOMETRY):
        raise UsageError(f"raw YUV needs its geometry: add {', '.join(missing)}")
    given = {**asked, "models": settings.models}
    if (fault := tiny_fault(given, lambda name: f"--{VMAF.name(name)}")) is not None:
        raise UsageError(fault)
    if not settings.models and asked.get("predict", True) and not alone:
        settings.models.append(DEFAULT_MODEL)
        asked["default_model"] = True


# ---- the help page ---------------------------------------------------------------------------------


_INTRO = """\
Usage: vmaf -r REFERENCE -d DISTORTED [options]

Score DISTORTED against REFERENCE with VMAF: 100 looks like the reference, 0 is as bad as it gets.
Takes libvmaf's options and writes libvmaf's reports, with the digits of libvmaf's C code.

  vmaf -r original.mp4 -d encoded.mp4
  vmaf -r ref.y4m -d dis.y4m -o report.json --json
  vmaf -r ref.yuv -d dis.yuv -w 1920 -h 1080 -p 420 -b 8 -m version=vmaf_v0.6.1neg
"""

_OUTRO = """\
Words in option names may be joined with dashes or underscores, and names may be shortened.
'acuity models' and 'acuity features' list what -m and --feature take; 'acuity score' is the
friendlier command. Exit codes: 0 done, 1 bad option, 255 bad input, 234 pictures that an extractor
can't take, 3 scored with a warning (--strict), 100 the backend can't start, 101 no frames.
"""

_INDENT = 30
_WIDTH = 100


def help_page() -> str:
    parts = [_INTRO]
    for section in dict.fromkeys(flag.section for flag in FLAGS):
        lines = [line for flag in FLAGS if flag.section == section for line in _entry(flag)]
        parts.append(f"{section}:\n" + "\n".join(lines) + "\n")
    return "\n".join([*parts, _OUTRO])


def _entry(flag: Flag) -> list[str]:
    names = f"  -{flag.short}, --{flag.long}" if flag.short else f"      --{flag.long}"
    head = f"{names} {flag.value}".rstrip() if flag.bare is None else f"{names}[={flag.value}]"
    import textwrap

    body = textwrap.wrap(flag.help, _WIDTH - _INDENT)
    if len(head) > _INDENT - 2:
        return [head, *(f"{'':{_INDENT}}{line}" for line in body)]
    return [f"{head:{_INDENT}}{body[0]}", *(f"{'':{_INDENT}}{line}" for line in body[1:])]
