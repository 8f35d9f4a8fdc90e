"""The options of `vmaf`: one table that the parser, `--help` and the documentation test read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from acuity.cli import embedded
from acuity.cli.getopt import Flag, UsageError, one_of, parse_flags, unsigned, wrapped
from acuity.devices import BACKENDS

if TYPE_CHECKING:
    from acuity.scoring.presets import Preset

# Acuity's own: what to do where the two videos differ.
PAIRING: Final = {
    "scale": "distorted of another size: auto (scale containers, refuse raw and Y4M), never or force",
    "convert": "other bit depth, chroma or range: auto (convert containers), never, force or depth "
    "(auto, and the depth of raw and Y4M)",
    "rate": "other frame rate: refuse, match (leave out frames of the faster) or by-index",
    "vfr": "variable frame rate: by-time or by-index",
    "hdr": "HDR against SDR: refuse or ignore",
}
DAMAGED: Final = "score damaged frames as the decoder makes them, with a warning, instead of refusing them"
DEFAULT_MODEL: Final = "version=vmaf_v0.6.1"


class Settings:
    """What the command line asked for."""

    reference: str = ""
    distorted: str = ""
    width: int | None = None
    height: int | None = None
    pixel_format: str | None = None
    bitdepth: int | None = None
    common_bitdepth: bool = False  # score a pair of different depths at the greater one
    output: str | None = None
    format: str = "xml"
    precision: str = "legacy"
    threads: int | None = None  # None: all cores
    sequential_first: bool = False  # the order of figures that libvmaf has with threads
    subsample: int = 1
    cpumask: int = 0
    gpumask: int = 0
    frame_cnt: int | None = None  # None: to the end
    frame_skip_ref: int = 0
    frame_skip_dist: int = 0
    allow_damaged: bool = False
    no_prediction: bool = False
    quiet: bool = False
    backend: str = "auto"
    action: str = "score"  # or "help", "version", "list_backends"

    def __init__(self) -> None:
        self.models: list[str] = []
        self.features: list[str] = []
        self.pairing: dict[str, str] = {}  # words for PairOptions, which checks them
        self.excluded: set[str] = set()
        self.embedded = embedded.Wanted()

    @property
    def raw(self) -> bool:
        """Whether the inputs are raw samples, as libvmaf decides it: any geometry option says so."""
        return any(v is not None for v in (self.width, self.height, self.pixel_format, self.bitdepth))


def _bitdepth(text: str) -> int:
    depth = unsigned(text)
    if depth not in (8, 10, 12, 14, 16):
        raise ValueError("should be 8, 10, 12, 14 or 16")
    return depth


def _positive(text: str) -> int:
    number = unsigned(text)
    if number < 1:
        raise ValueError("should be 1 or more")
    return number


def _precision(text: str) -> str:
    if text not in ("legacy", "max", "full") and not re.fullmatch(r"[1-9]|1[0-7]", text):
        raise ValueError("should be legacy, max, full or a number of significant digits from 1 to 17")
    return text


_VIDEO, _MODEL, _OUT, _WORK, _MORE = "Videos", "Models and features", "Report", "Work", "Help"

FLAGS: Final[tuple[Flag, ...]] = (
    Flag("reference", "the original: raw YUV, Y4M or any container", "r", "PATH", section=_VIDEO),
    Flag("distorted", "the version to judge", "d", "PATH", section=_VIDEO),
    Flag("width", "width of raw YUV", "w", "N", _positive, section=_VIDEO),
    Flag("height", "height of raw YUV", "h", "N", _positive, section=_VIDEO),
    Flag("pixel_format", "400, 420, 422 or 444; for raw YUV", "p", "FORMAT",
         one_of("400", "420", "422", "444"), section=_VIDEO),
    Flag("bitdepth", "8, 10, 12, 14 or 16; for raw YUV", "b", "N", _bitdepth, section=_VIDEO),
    Flag("frame_cnt", "stop after N frames (0: all)", "", "N", wrapped, section=_VIDEO),
    Flag("frame_skip_ref", "leave out the first N frames of the reference", "", "N", unsigned,
         section=_VIDEO),
    Flag("frame_skip_dist", "leave out the first N frames of the distorted", "", "N", unsigned,
         section=_VIDEO),
    *(Flag(name, text, "", "WORD", section=_VIDEO) for name, text in PAIRING.items()),
    Flag("allow_damaged", DAMAGED, section=_VIDEO),
    Flag("model", "version=NAME or path=FILE, then :name=LABEL, :disable_clip, :enable_transform and "
         ":EXTRACTOR.OPTION=VALUE; may be repeated (default: version=vmaf_v0.6.1)", "m", "SPEC",
         section=_MODEL),
    Flag("feature", "one more extractor: NAME or NAME=OPTION=VALUE:OPTION=VALUE; may be repeated", "",
         "SPEC", section=_MODEL),
    Flag("no_prediction", "extract features only, no model", "n", section=_MODEL),
    Flag("aom_ctc", "AOM common test conditions, v1.0 to v7.0", "", "VERSION", section=_MODEL),
    Flag("nflx_ctc", "Netflix common test conditions, v1.0", "", "VERSION", section=_MODEL),
    Flag("output", "write the report to this file ('-': standard output)", "o", "PATH", section=_OUT),
    Flag("xml", "as XML (default)", section=_OUT),
    Flag("json", "as JSON", section=_OUT),
    Flag("csv", "as CSV", section=_OUT),
    Flag("sub", "as subtitles", section=_OUT),
    Flag("precision", "digits of scores: legacy (six decimals, default), 1 to 17 significant digits, or "
         "max or full for all 17", "", "P", _precision, section=_OUT),
    Flag("threads", "worker threads (default and 0: all cores; the scores are the same)", "", "N", unsigned,
         section=_WORK),
    Flag("subsample", "score every N-th frame only", "", "N", unsigned, section=_WORK),
    Flag("backend", "auto, cpu, cuda, sycl, hip or metal; exit 100 if it can't start", "", "NAME",
         one_of("auto", *BACKENDS), section=_WORK),
    *(Flag(f"no_{name}", f"leave {name} out of 'auto'", section=_WORK) for name in BACKENDS[1:]),
    Flag("cpumask", "forbid instruction sets; the scores are the same. x86: 1 SSE2, 2 SSSE3, 4 SSE4.1, "
         "8 AVX2, 16 AVX-512; ARM: 1 NEON; -1: all of them", "c", "BITS", wrapped, section=_WORK),
    Flag("gpumask", "anything but 0 keeps 'auto' off GPUs", "", "BITS", wrapped, section=_WORK),
    *(Flag(option.name, option.help, "", option.value, option.parse, _WORK, option.bare)
      for option in embedded.OPTIONS),
    Flag("quiet", "no frame meter; with -o, no score on stderr either", "q", section=_WORK),
    Flag("list_backends", "print the backends as JSON and stop", section=_MORE),
    Flag("version", "print the version and stop", "v", section=_MORE),
    Flag("help", "print this page and stop", section=_MORE),
)  # fmt: skip

_Setter = Callable[[Settings, Any], None]


def _set(attribute: str, constant: object = None) -> _Setter:
    """A setter that stores the value, or a constant where the option is a switch."""
    return lambda s, v: setattr(s, attribute, v if constant is None else constant)


def _preset(family: str) -> _Setter:
    def add(settings: Settings, version: str) -> None:
        preset = _find_preset(family, version)
        settings.common_bitdepth |= preset.common_bitdepth
        settings.models += preset.models
        settings.features += preset.features

    return add


def _find_preset(family: str, version: str) -> Preset:
    """The preset, or a sentence saying which versions there are."""
    from acuity.scoring.presets import PRESETS

    versions = PRESETS[family]
    if family == "aom_ctc" and version == "proposed":
        raise UsageError(f"--aom_ctc proposed is deprecated: use one of {', '.join(versions)}")
    if version not in versions:
        raise UsageError(f"'{version}' is no version of --{family}: use one of {', '.join(versions)}")
    return versions[version]


def _pair(option: str) -> _Setter:
    return lambda s, v: s.pairing.__setitem__(option, v)


def _embed(attribute: str) -> _Setter:
    return lambda s, v: setattr(s.embedded, attribute, v)


def _threads(settings: Settings, count: int) -> None:
    settings.threads = count or None
    settings.sequential_first = count > 0


def _exclude(name: str) -> _Setter:
    return lambda s, v: s.excluded.add(name)


# What an option does, where it isn't "store the value under the option's own name".
_SETTERS: Final[dict[str, _Setter]] = {
    "model": lambda s, v: s.models.append(v),
    "feature": lambda s, v: s.features.append(v),
    "threads": _threads,
    "subsample": lambda s, v: setattr(s, "subsample", v or 1),
    "frame_cnt": lambda s, v: setattr(s, "frame_cnt", v or None),
    **{name: _set("format", name) for name in ("xml", "json", "csv", "sub")},
    **{name: _set("action", name) for name in ("list_backends", "version", "help")},
    **{f"no_{name}": _exclude(name) for name in BACKENDS[1:]},
    **{name: _pair(name) for name in PAIRING},
    **{option.name: _embed(option.field) for option in embedded.OPTIONS},
    "aom_ctc": _preset("aom_ctc"),
    "nflx_ctc": _preset("nflx_ctc"),
}


def parse(argv: Sequence[str]) -> Settings:
    """Settings from a command line; UsageError says what is wrong with it."""
    settings = Settings()
    for flag, value in parse_flags(FLAGS, argv):
        _SETTERS.get(flag.long, _set(flag.long))(settings, value)
        if settings.action != "score":
            return settings  # as libvmaf: -v answers at once, whatever follows
    _complete(settings)
    return settings


def _complete(settings: Settings) -> None:
    """Check what no single option can check, and fill in the default model."""
    if not settings.reference:
        raise UsageError("the reference video is missing: name it with -r/--reference")
    if not settings.distorted:
        raise UsageError("the distorted video is missing: name it with -d/--distorted")
    geometry = {
        "-w/--width": settings.width,
        "-h/--height": settings.height,
        "-p/--pixel_format": settings.pixel_format,
        "-b/--bitdepth": settings.bitdepth,
    }
    missing = [name for name, value in geometry.items() if value is None]
    if settings.raw and missing:
        raise UsageError(f"raw YUV needs its geometry: add {', '.join(missing)}")
    if not settings.models and not settings.no_prediction:
        settings.models.append(DEFAULT_MODEL)
