"""Request: what to score and how, as one record that can be written as JSON.

The record is also the table that every way into Acuity is made from: the values, the meaning and the names of
each field. `fronts.py` makes options, arguments and remedies of it.
`vmaf --version` reads this table too, so it imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Final, Self

from acuity.devices import BACKENDS, DECODERS
from acuity.errors import InputError, ModelError, to_omit
from acuity.scoring.setting import MAX_TEXT as MAX_TEXT
from acuity.scoring.setting import SettingsRecord, setting
from acuity.text import quoted
from acuity.video.pairs.pair_options import WORDS, PairOptions

if TYPE_CHECKING:
    from fractions import Fraction

    from acuity.models.inputs import AnyModel
    from acuity.video.pairs.open_pair import Video
    from acuity.video.readers.open import OpenOptions, RawGeometry

MAX_ENTRIES: Final = 64  # features, or metrics, in one request
MAX_CRF: Final = 63  # of any encoder

# Groups of settings, under which `acuity score --help` lists them.
MEASURED: Final = "what to measure"
TINY: Final = "tiny models, from ONNX files (needs acuity-vmaf[tiny])"
FILES: Final = "the files"
FRAMES: Final = "which frames"
PICTURES: Final = "the pictures that are compared"
DIFFERENT: Final = "where the two videos differ"
RAW_VIDEO: Final = "raw video, where the file name doesn't say it"
WORK: Final = "work (the scores are the same)"


_EVERYWHERE: Final = "option getopt tool embedded"


def _word(name: str, help: str, group: str = DIFFERENT, offered: str = _EVERYWHERE) -> Any:
    """A word of PairOptions, which knows the choices and the default."""
    return setting(WORDS[name][0], "string", help, group, offered, choices=WORDS[name])


def _auto() -> tuple[str]:
    from acuity.models.choose import AUTO

    return (AUTO,)


class Request(SettingsRecord):
    reference: Video | None  # None, or not read, with no_reference
    distorted: Video
    # fmt: off
    models: Sequence[str | AnyModel] = setting(
        _auto, "array", "version=NAME (see {models}) or path=FILE, then :name=LABEL and "
        ":EXTRACTOR.OPTION=VALUE; 'auto' goes by the reference's size",
        MEASURED, _EVERYWHERE, option="model", getopt="model", tool="model", embedded="model",
        tune="vmaf_model")
    viewing: str | None = setting(
        None, "string", "take VMAF v1's model and display for this way of watching, and for the frame rate",
        MEASURED, "option tool embedded", choices="acuity.models.choose:VIEWINGS")
    metrics: Sequence[str] = setting(  # if 'vmaf' isn't among them, the default model isn't scored
        (), "array", "what to measure, by the usual names",
        MEASURED, "option tool embedded", choices="acuity.scoring.metrics:METRICS")
    features: Sequence[str] = setting(
        (), "array", "further extractors, as NAME or NAME=OPTION=VALUE:OPTION=VALUE; see {features}",
        MEASURED, option="feature", getopt="feature", tool="feature")
    predict: bool = setting(
        True, "boolean", "measure features only, predict no score",
        MEASURED, "getopt tool", getopt="no_prediction", tool="no_prediction")
    tiny_model: str | None = setting(
        None, "string", "score with this ONNX model too: a name from {models}, or a file", TINY,
        getopt="tiny-model")
    tiny_device: str = setting(
        "auto", "string", "what runs it; refused if it isn't there",
        TINY, choices="acuity.tiny.options:DEVICES", getopt="tiny-device")
    tiny_threads: int = setting(
        0, "integer", "threads of its own; 0: those that score", TINY, minimum=0, getopt="tiny-threads")
    tiny_fp16: bool = setting(
        False, "boolean", "refuse it unless it takes half precision (float16)", TINY, getopt="tiny-fp16")
    tiny_model_verify: bool = setting(
        False, "boolean", "load it only if a Sigstore bundle proves who made it; Acuity's own have none",
        TINY, getopt="tiny-model-verify")
    tiny_codec: str | None = setting(
        None, "string", "encoder of the distorted video, as libx264, for models that ask for it", TINY,
        getopt="tiny-codec")
    tiny_preset: str | None = setting(
        None, "string", "that encoder's preset", TINY, getopt="tiny-preset")
    tiny_crf: int | None = setting(
        None, "integer", "its CRF or QP", TINY, minimum=0, maximum=MAX_CRF, getopt="tiny-crf")
    tiny_resize: str = setting(
        "disabled", "string", "filter that scales pictures to the model's size; disabled refuses others",
        TINY, choices="acuity.tiny.options:RESIZES", getopt="tiny-resize")
    no_reference: bool = setting(
        False, "boolean", "score the distorted video alone, by a tiny model made for that", TINY,
        getopt="no-reference")
    width: int | None = setting(
        None, "integer", "width of raw video in pixels", RAW_VIDEO, _EVERYWHERE, minimum=1)
    height: int | None = setting(
        None, "integer", "height of raw video in pixels", RAW_VIDEO, _EVERYWHERE, minimum=1)
    pixel_format: str | None = setting(
        None, "string", "chroma layout of raw video: 420 is usual, 400 has luma only",
        RAW_VIDEO, _EVERYWHERE, choices="acuity.video.picture:LAYOUTS", tool="pixfmt", tune="pix_fmt")
    bitdepth: int | None = setting(
        None, "integer", "bits of a raw sample; above 8 in two bytes, little-endian",
        RAW_VIDEO, _EVERYWHERE, choices="acuity.video.picture:DEPTHS")
    fps: Fraction | None = setting(  # makes a field, whatever its type
        None, "string", "frame rate of raw video and images, as in 25 or 30000/1001", RAW_VIDEO, "option",
        tune="framerate")
    guess: bool = False  # complete a raw file's geometry from its name and length
    stream: int | None = setting(
        None, "integer", "the video stream of a file that has several, counted from 0 as FFmpeg's 0:v:N",
        FILES, "option getopt tune", minimum=0)
    stream_ref: int | None = setting(
        None, "integer", "the reference's video stream", FILES, "option getopt", minimum=0)
    stream_dis: int | None = setting(
        None, "integer", "the distorted video's stream", FILES, "option getopt", minimum=0,
        getopt="stream_dist")
    allow_network: bool = setting(
        False, "boolean", "read addresses of http and https, too", FILES, "option getopt")
    display: str | None = setting(
        None, "string", "scale both to fill this display; auto is the model's", PICTURES,
        "option tool embedded", choices=WORDS["display"])
    filter: str = _word("filter", "filter for scaling", PICTURES, "option tool")
    crop: str | None = setting(
        None, "string", "compare this part of both: WIDTH:HEIGHT:LEFT:TOP, or auto: without black bars",
        PICTURES, _EVERYWHERE)
    deinterlace: str = _word("deinterlace", "filter for interlaced video", PICTURES)
    scale: str = _word("scale", "if sizes differ: auto scales if one is a container, force other shapes too")
    convert: str = _word("convert", "if depth, chroma or range differ: as scale; depth: raw video too")
    colour: str = _word("colour", "if the tags of matrix, primaries or range differ")
    rate: str = _word("rate", "if rates differ: match leaves out frames of the faster, by-index ignores it")
    vfr: str = _word("vfr", "if the rate varies: by-time needs equal times in both, by-index ignores them")
    hdr: str = _word("hdr", "if only one is HDR")
    align: str = _word(
        "align", "if frames don't match: auto leaves out those that one video lacks")
    frames: int = setting(
        0, "integer", "stop after so many frames: a few hundred give an estimate",
        FRAMES, minimum=0, getopt="frame_cnt", tool="frame_cnt")
    skip_ref: int = setting(
        0, "integer", "leave out the reference's first frames",
        FRAMES, _EVERYWHERE, minimum=0, getopt="frame_skip_ref", tool="frame_skip_ref")
    skip_dis: int = setting(
        0, "integer", "leave out the distorted video's first frames",
        FRAMES, _EVERYWHERE, minimum=0, getopt="frame_skip_dist", tool="frame_skip_dist")
    subsample: int = setting(
        1, "integer", "score every Nth frame: faster, may miss short flaws", FRAMES, minimum=1)
    allow_damaged: bool = setting(
        False, "boolean", "score damaged frames as decoded, with a warning", FRAMES, _EVERYWHERE)
    resume: str | None = setting(
        None, "string", "go on from this partial JSON report, and complete it unless -o names another",
        FRAMES, "option")
    ahead: int | None = None  # pictures read ahead of each video
    threads: int | None = setting(
        None, "integer", "all cores unless given; no figure depends on it", WORK, minimum=1)
    cpu: str | None = setting(
        None, "string", "instruction set, as {backends} lists them", WORK, "option")
    backend: str = setting(
        "auto", "string", "what computes; refused if {backends} lacks it",
        WORK, choices=("auto", *BACKENDS))
    device: int | None = setting(
        None, "integer", "the card that computes, by its number from 0; any unless given", WORK, minimum=0)
    decoder: str = setting(
        "auto", "string", "what decodes: nvdec is the card's own decoder, refused if it can't",
        WORK, choices=DECODERS)
    default_model: bool = False  # whether nobody named the models
    excluded_backends: Collection[str] = ()  # that must not be chosen: names, or cards as in 'cuda:0'
    sequential_first: bool = False  # order figures as libvmaf does with --threads
    # fmt: on

    def __post_init__(self) -> None:
        for name, about in SETTINGS.items():
            value = getattr(self, name)
            if about.kind == "integer" and value is not None and not is_whole(value):
                raise InputError(f"{name}={quoted(value)} is no whole number")
        if (fault := tiny_fault({name: getattr(self, name) for name in SETTINGS})) is not None:
            raise ModelError(fault)
        self.pairing  # noqa: B018  # refuses an unknown word before any file is opened

    @property
    def pairing(self) -> PairOptions:
        return PairOptions(**{name: getattr(self, name) for name in PairOptions.fields})

    @property
    def pair(self) -> tuple[Video, Video]:
        """Both videos; raises InputError without a reference."""
        if self.reference is None or self.no_reference:
            raise InputError("there is no reference to compare with: name one, and ", to_omit("no_reference"))
        return self.reference, self.distorted

    @property
    def geometry(self) -> RawGeometry:
        from acuity.video.readers.open import RawGeometry

        return RawGeometry(self.width, self.height, self.pixel_format, self.bitdepth)

    @property
    def opening(self) -> OpenOptions:
        from acuity.video.readers.open import OpenOptions

        return OpenOptions(
            fps=self.fps, guess=self.guess, allow_damaged=self.allow_damaged, allow_network=self.allow_network
        )

    @property
    def streams(self) -> tuple[int | None, int | None]:
        """The video streams of the reference and the distorted video, where they are named."""
        one, other = (self.stream if own is None else own for own in (self.stream_ref, self.stream_dis))
        return one, other

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        fps = {"fps": frame_rate(document["fps"])} if "fps" in document else {}
        return cls(**{"reference": None, **document, **fps})


def is_whole(value: object) -> bool:
    """Whether a value is a whole number, of Python or numpy; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def frame_rate(value: object) -> Fraction:
    """The frame rate that a number or a text such as '30000/1001' says; raises InputError."""
    from fractions import Fraction

    try:
        rate = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        rate = Fraction(0)
    if not 0 < rate <= 1000:
        raise InputError(f"'{value}' is no frame rate: write it as 25 or 30000/1001")
    return rate


# The setting of each field that a front may show.
SETTINGS: Final = Request.settings_table()

_COMPANIONS: Final = [
    name for name, about in SETTINGS.items() if about.group == TINY and name != "tiny_model"
]
# Settings about a reference, or about both videos, which mean nothing where there is one video.
_OF_A_PAIR: Final = (
    *("viewing", "skip_ref", "stream_ref"),
    *(name for name, about in SETTINGS.items() if about.group == DIFFERENT),
)


def _in_python(setting: str) -> str:
    return SETTINGS[setting].names.get("option", setting)


def tiny_fault(given: Mapping[str, Any], spell: Callable[[str], str] = _in_python) -> str | None:
    """The sentence about faulty settings of tiny models among these; None if all are right.

    `spell` writes the name of a setting as the caller knows it.
    """

    def is_set(name: str) -> bool:
        return bool(given.get(name, SETTINGS[name].default) != SETTINGS[name].default)

    model, alone = spell("tiny_model"), spell("no_reference")
    if given.get("tiny_model") is None:
        if given.get("no_reference"):
            return f"{alone} requires {model}; no classic NR scorer exists"
        idle = next(filter(is_set, _COMPANIONS), None)
        return idle and f"{spell(idle)} has no effect without {model}"
    for name in filter(is_set, _COMPANIONS):
        about, value = SETTINGS[name], given[name]
        if about.choices and value not in about.choices:
            return f"{spell(name)} {value!r} is unknown: use one of {', '.join(map(str, about.choices))}"
        if about.minimum is not None and not about.minimum <= value <= (about.most or value):
            return f"{spell(name)} {value} should be from {about.minimum} to {about.most}"
    if not given.get("no_reference"):
        return None
    if any(model != "auto" for model in given.get("models") or ()):
        return f"a classic model needs the reference: leave out {spell('models')}, or {alone}"
    idle = next(filter(is_set, _OF_A_PAIR), None)
    return idle and f"{spell(idle)} has no effect with {alone}, which reads one video: leave it out"
