"""The table of encoders: those of PyAV, and those that only an `ffmpeg` program brings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from acuity.tune.encoders.encoder import PRESETS, Encoder, Options


def _numbers(*values: int) -> dict[str, str]:
    return dict(zip(PRESETS, map(str, values), strict=True))


def _words(*words: str) -> dict[str, Options]:
    return {word: (("tune", word),) for word in words}


_AV1: Final = (".mp4", ".mkv", ".webm")  # and VP9; FFmpeg writes neither into a .mov

# fmt: off
IN_PROCESS: Final = (
    Encoder(
        "libx264", "h264", "crf", 0, 51, 23, ("x264", "h264", "h.264", "avc"),
        presets={word: word for word in PRESETS},
        tunes=_words("film", "animation", "grain", "stillimage", "psnr", "ssim", "fastdecode", "zerolatency"),
        params="x264-params",
        # Without it, AVX-512 code of x264 165 makes other bytes of the same frames at each run.
        options=(("x264-params", "cpu-independent=1"),),
        fixed_keyframes=(
            ("g", "{interval}"), ("keyint_min", "{interval}"), ("sc_threshold", "0"), ("forced-idr", "1"),
        ),
        threads=4, trials=(18, 23, 28, 33), decimals=True,
    ),
    Encoder(
        "libx265", "hevc", "crf", 0, 51, 28, ("x265", "h265", "h.265", "hevc"),
        presets={word: word for word in PRESETS},
        tunes=_words("psnr", "ssim", "grain", "zerolatency", "fastdecode", "animation"),
        params="x265-params",
        options=(("x265-params", "log-level=error:frame-threads=3"),),
        fixed_keyframes=(("x265-params", "keyint={interval}:min-keyint={interval}:scenecut=0:open-gop=0"),),
        least_threads=2, trials=(20, 25, 30, 35), decimals=True,
    ),
    Encoder(
        "libsvtav1", "av1", "crf", 1, 63, 35, ("svtav1", "svt-av1", "svt", "av1"),
        presets=_numbers(13, 12, 11, 10, 9, 7, 5, 3, 1, 0), own_presets=tuple(map(str, range(14))),
        tunes={
            name: (("svtav1-params", f"tune={number}"),) for number, name in enumerate(("vq", "psnr", "ssim"))
        },
        params="svtav1-params",
        fixed_keyframes=(("g", "{interval}"), ("svtav1-params", "irefresh-type=2:scd=0")),
        containers=_AV1, trials=(25, 32, 40, 48),
    ),
    Encoder(
        "libvpx-vp9", "vp9", "crf", 0, 63, 32, ("vpx-vp9", "libvpx", "vp9"),
        preset_option="cpu-used",
        presets=_numbers(5, 5, 5, 5, 4, 3, 2, 1, 0, 0), own_presets=tuple(map(str, range(9))),
        tunes=_words("psnr", "ssim"),
        options=(("deadline", "good"), ("b", "0"), ("row-mt", "1")),
        fixed_keyframes=(("g", "{interval}"), ("keyint_min", "{interval}")),
        least_threads=2, containers=_AV1, trials=(20, 28, 36, 44),
    ),
)

# Keyframes at fixed places, with options of the `ffmpeg` program that all its encoders follow.
_FORCED: Final = (("g", "{interval}"), ("force_key_frames", "expr:gte(n,n_forced*{interval})"))
_TEN_BIT: Final[tuple[str, ...]] = ("yuv420p", "yuv420p10le")
# Their presets, in the order of PRESETS.
_SPEEDS: Final = ("p1", "p1", "p2", "p2", "p3", "p4", "p5", "p6", "p7", "p7")  # of nvenc
_QSV: Final = (*["veryfast"] * 3, "faster", "fast", "medium", "slow", "slower", *["veryslow"] * 2)
_AMF: Final = (*["speed"] * 4, *["balanced"] * 2, *["quality"] * 4)
_VVENC: Final = (*["faster"] * 4, "fast", "medium", "slow", *["slower"] * 3)
# fmt: on


def _external(
    name: str,
    codec: str,
    knob: str,
    best: int,
    worst: int,
    default: int,
    presets: Sequence[str] = (),
    **more: Any,
) -> Encoder:
    """A row for an encoder of the `ffmpeg` program; its presets in the order of PRESETS."""
    defaults: dict[str, Any] = {
        "in_process": False,
        "preset_option": "preset" if presets else None,
        "presets": dict(zip(PRESETS, presets, strict=True)) if presets else {},
        "own_presets": tuple(dict.fromkeys(presets)),
        "pixel_formats": _TEN_BIT,
        "fixed_keyframes": _FORCED,
        "containers": _AV1 if codec == "av1" else (".mp4", ".mkv", ".mov"),
    }
    return Encoder(name, codec, knob, best, worst, default, **{**defaults, **more})


# fmt: off
def _hardware() -> Iterator[Encoder]:
    """The encoders of graphics cards, a family of codecs each."""
    for codec in ("h264", "hevc", "av1"):
        depths = _TEN_BIT[:1] if codec == "h264" else _TEN_BIT
        yield _external(
            f"{codec}_nvenc", codec, "cq", 1, 51, 23, _SPEEDS, options=(("rc", "vbr"), ("b", "0")),
            pixel_formats=depths)
        yield _external(f"{codec}_qsv", codec, "global_quality", 1, 51, 23, _QSV, pixel_formats=depths)
        yield _external(
            f"{codec}_amf", codec, "qp_i", 0, 51, 23, _AMF, preset_option="quality", options=(("rc", "cqp"),),
            also=("qp_p",), pixel_formats=depths)
    for codec in ("h264", "hevc"):
        depths = _TEN_BIT if codec == "hevc" else _TEN_BIT[:1]
        yield _external(f"{codec}_videotoolbox", codec, "q:v", 100, 0, 50, pixel_formats=depths)


EXTERNAL: Final = (
    _external(
        "libaom-av1", "av1", "crf", 0, 63, 35, "8876543210", preset_option="cpu-used",
        own_presets=tuple("012345678"), options=(("b", "0"), ("row-mt", "1")),
        aliases=("aom", "libaom", "aom-av1"), trials=(25, 32, 40, 48),
        pixel_formats=tuple(f"yuv{layout}p{depth}" for depth in ("", "10le") for layout in (420, 422, 444))),
    _external(
        "libvvenc", "vvc", "qp", 0, 63, 32, _VVENC, aliases=("vvenc", "vvc", "h266"),
        pixel_formats=("yuv420p10le",), containers=(".mp4", ".mov"), trials=(22, 27, 32, 37)),
    *_hardware(),
    *(_external(
        name, "prores", "profile", 3, 0, 2, pixel_formats=("yuv422p10le",), containers=(".mov", ".mkv"),
        fixed_keyframes=()) for name in ("prores_ks", "prores_videotoolbox")),
)
# fmt: on

ENCODERS: Final[Mapping[str, Encoder]] = {encoder.name: encoder for encoder in (*IN_PROCESS, *EXTERNAL)}
