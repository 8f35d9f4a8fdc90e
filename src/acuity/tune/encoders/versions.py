"""The versions of encoders: of the library that encodes, and of FFmpeg's around it."""

from __future__ import annotations

import ctypes
import os
import re
from contextlib import suppress
from typing import Final

import av

from acuity.errors import TuneError
from acuity.tune.encoders.encoder import Encoder
from acuity.tune.encoders.encoding import PyavEncoding, encode_gray, gray_job
from acuity.tune.encoders.external import program_version

# The names and versions that encoders write into the bitstream.
_SIGNED: Final = {
    "libx264": re.compile(rb"x264 - (core \d+(?: r\d+)?(?: [0-9a-f]{6,})?)"),
    "libx265": re.compile(rb"x265 \(build \d+\) - ([^:\s]+)"),
}
# Other encoders return their version: a part of the library's file name, and the function to call.
_ASKED: Final = {
    "libsvtav1": ("SvtAv1Enc", "svt_av1_get_version"),
    "libvpx-vp9": ("libvpx", "vpx_codec_version_str"),
}
_SIDE: Final = 64
_known: Final[dict[Encoder, str]] = {}  # versions that were found


def encoder_version(encoder: Encoder) -> str:
    """`libx265 4.1+54 (PyAV 18.0.0, libavcodec 62.11.100)`; part of results and of keys of the cache.

    A version that wasn't found is looked for again: one hiccup must not rename every later encode.
    """
    if not encoder.in_process:
        return f"{encoder.name} ({program_version()})"
    around = f"PyAV {av.__version__}, libavcodec {'.'.join(map(str, av.library_versions['libavcodec']))}"
    if encoder not in _known:
        version = _signed(encoder) if encoder.name in _SIGNED else _asked(encoder.name)
        if version is None:
            return f"{encoder.name} of unknown version ({around})"
        _known[encoder] = version
    return f"{encoder.name} {_known[encoder]} ({around})"


def _signed(encoder: Encoder) -> str | None:
    """The version that is in the bitstream of one frame."""
    job = gray_job(encoder.name, dict(encoder.options), (_SIDE, _SIDE), "yuv420p", threads=1)
    try:
        encoding = PyavEncoding(job, encoder.codec, encoder.name)
        encode_gray(encoding, job)
        data = encoding.extradata
        while (packet := encoding.receive()) is not None:
            data += bytes(packet)
        encoding.close()
    except (TuneError, OSError):
        return None
    found = _SIGNED[encoder.name].search(data)
    return None if found is None else found[1].decode()


def _asked(name: str) -> str | None:
    """The version that a function of the loaded library returns."""
    part, function = _ASKED.get(name, ("", ""))
    av.Codec(name, "w")  # loads FFmpeg's libraries, and theirs with them
    for path in _loaded(part):
        with suppress(OSError, AttributeError):
            ask = getattr(ctypes.CDLL(path), function)
            ask.restype = ctypes.c_char_p
            answer = ask()
            return None if answer is None else answer.decode("ascii", "replace").removeprefix("v")
    return None


def _loaded(part: str) -> list[str]:
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            paths = {line.split(maxsplit=5)[5].strip() for line in maps if "/" in line}
    except OSError:
        return []
    return sorted(path for path in paths if part in os.path.basename(path))
