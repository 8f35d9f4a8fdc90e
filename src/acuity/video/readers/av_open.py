"""Opens a video from its bytes with PyAV, and chooses its stream. Importing this module imports PyAV."""

from __future__ import annotations

import os
from fractions import Fraction
from shlex import quote
from typing import Any, Final, NoReturn

import av
import av.error
from av.stream import Discard, Disposition

from acuity.errors import GEOMETRY, FormatError, InputError, NoFramesError, to_give
from acuity.video.source import Source
from acuity.video.source import reason as reason  # also for those who catch AV_ERRORS

# PyAV before 19 refuses tags that aren't UTF-8 unless it is told otherwise; later ones have no such argument.
_LENIENT: Final[dict[str, Any]] = (
    {"metadata_errors": "replace"} if int(av.__version__.partition(".")[0]) < 19 else {}
)

# The errors that PyAV raises for a file that it can't read.
AV_ERRORS: Final = (av.error.FFmpegError, OSError, ValueError, RuntimeError)

# Formats that only refer to other files, and the one that accepts any text as a picture.
_REFUSED: Final = frozenset(
    ("hls", "applehttp", "dash", "webm_dash_manifest", "concat", "imf", "sdp", "rtsp", "image2", "tty")
)
# Texts that are no video, by their first characters in lower case, after blanks.
_PLAYLIST: Final = "a playlist"
_TEXTS: Final = {
    **dict.fromkeys((b"#extm3u", b"ffconcat", b"<mpd", b"v=0\n", b"v=0\r", b"[playlist]"), _PLAYLIST),
    b"<?xml": "XML, such as a playlist",
    **dict.fromkeys((b"<!doctype html", b"<html"), "a web page"),
}

# Image formats of film work by FFmpeg's names, and how `ffmpeg` makes BT.709 video of them.
_FILM: Final = {
    "exr_pipe": ("OpenEXR, whose samples are linear light", "-apply_trc bt709 -i {} -vf {}"),
    "dpx_pipe": ("DPX, whose samples may be logarithmic", "-i {} -vf lut3d=TO_BT709.cube,{}"),
}
_TO_YUV: Final = "scale=out_color_matrix=bt709:out_range=tv:flags=accurate_rnd+full_chroma_int"

_HEAD: Final = 32  # bytes that tell what FFmpeg isn't asked to read
_WEBP_ANIMATION: Final = 2  # a flag in the header of an extended WebP

_READ_BYTES: Final = 1 << 18
_MOST_BOXES: Final = 64  # of an MP4 that are looked at; in fragments there may be thousands
_TASTE: Final = 4096  # bytes of a pipe that are looked at before FFmpeg gets them


class AvFile:
    """The file object that PyAV reads: a source without its name, so that FFmpeg goes by its content alone.

    FFmpeg takes an error of reading for the end of the file, and PyAV loses some, so the error is kept.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._buffer = memoryview(bytearray(_READ_BYTES))
        self._position = 0
        self._error: BaseException | None = None

    def check(self) -> None:
        """Raise the error of reading, if there was one."""
        if self._error is not None:
            raise self._error

    def read(self, count: int) -> bytes:
        if self._error is not None:
            return b""
        try:
            count = self._source.readinto_some(self._buffer[:count])
        except BaseException as error:  # KeyboardInterrupt as well
            self._error = error
            return b""
        self._position += count
        return bytes(self._buffer[:count])

    def seekable(self) -> bool:
        return self._source.seekable

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._source.size or 0}[whence]
        self._source.seek(max(start + offset, 0))
        self._position = max(start + offset, 0)
        return self._position

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        self._source.close()


def open_container(source: Source, file: AvFile) -> av.container.InputContainer:
    """Open the container; raises FormatError for what is none, or only refers to other files."""
    path = source.path
    head = source.peek(_HEAD)
    if not head:
        raise NoFramesError(f"'{path}' is empty: there is no frame to score")
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if what := next((what for start, what in _TEXTS.items() if text.startswith(start)), None):
        raise FormatError(f"'{path}' is {what}, not a video: pass the video file itself")
    if head[8:16] == b"WEBPVP8X" and head[20:21] and head[20] & _WEBP_ANIMATION:
        raise FormatError(
            f"'{path}' is an animated WebP, which FFmpeg can't read: convert it first, to PNG images with"
            " libwebp's anim_dump, say"
        )
    if not source.seekable and _index_is_last(source.peek(_TASTE)):
        raise FormatError(
            f"'{path}' is an MP4 or MOV whose index comes after its frames, which takes a file, or a server"
            " that answers requests for ranges: pass the file itself, or write it with FFmpeg's"
            " -movflags +faststart"
        )
    try:
        container: av.container.InputContainer = av.open(
            file,
            mode="r",
            buffer_size=_READ_BYTES,
            **_LENIENT,
            container_options={"protocol_whitelist": "none"},
            io_open=_refuse,
        )
    except AV_ERRORS as error:
        file.check()
        raise FormatError(
            f"'{path}' is not a video that can be read ({reason(error)}): check that it is complete;"
            " if it is raw YUV, ",
            to_give(*GEOMETRY),
        ) from error
    kind = container.format
    if _REFUSED.intersection(kind.name.split(",")) or kind.name in _FILM:
        container.close()
        if kind.name in _FILM:
            raise film_refused(path, kind.name)
        raise FormatError(f"'{path}' is not a video ({kind.long_name}): pass the video file itself")
    return container


def film_refused(path: str, format: str, files: str | None = None) -> FormatError:
    """The refusal of film's image formats, which PyAV would decode, but not to what a display shows.

    `files` is what the images are called for FFmpeg, if that isn't `path`.
    """
    what, options = _FILM[format]
    convert = options.format(quote(files or path), _TO_YUV)
    return FormatError(
        f"'{path}' is {what}, and VMAF compares what a display shows: convert it with the transfer"
        f" that it is meant for, as in: ffmpeg {convert} -pix_fmt yuv444p10le -strict -1 out.y4m"
    )


def choose_stream(container: av.container.InputContainer, path: str, wanted: int | None) -> av.VideoStream:
    """The wanted video stream; None: the only one that is not a cover picture."""
    streams = list(container.streams.video)
    pictures = [s for s in streams if not s.disposition & Disposition.attached_pic]
    if not pictures:
        raise FormatError(f"'{path}' has no video in it ({container.format.long_name})")
    if wanted is None and len(pictures) > 1:
        listed = "; ".join(f"{streams.index(s)}: {_described(s)}" for s in pictures)
        raise FormatError(
            f"'{path}' has {len(pictures)} video streams ({listed}): ",
            to_give("stream", verb="choose one with"),
        )
    if wanted is not None and not 0 <= wanted < len(streams):
        has = "one, number 0" if len(streams) == 1 else f"{len(streams)}, counted from 0"
        one = to_give("stream_ref", "stream_dis", verb="choose for one of the videos with")
        raise InputError(f"'{path}' has no video stream {wanted}: it has {has}; ", one)
    chosen = pictures[0] if wanted is None else streams[wanted]
    if chosen.codec_context is None:
        raise FormatError(f"'{path}' has a video codec without a decoder here: convert it first")
    for stream in container.streams:
        if stream.index != chosen.index:
            stream.discard = Discard.all
    return chosen


def known(ratio: Fraction | None) -> Fraction | None:
    """A ratio of PyAV's as a fraction; None where it isn't known, for which PyAV 19 has a ratio of 0."""
    return Fraction(ratio.numerator, ratio.denominator) if ratio else None


def _described(stream: av.VideoStream) -> str:
    context = stream.codec_context
    what = "unknown codec" if context is None else f"{context.width}x{context.height} {context.name}"
    return f"{what}, {float(stream.guessed_rate):.6g} fps" if stream.guessed_rate else what


def _refuse(url: str, flags: int, options: dict[str, str]) -> NoReturn:
    raise PermissionError(f"a video may not open another file ({url})")


def _index_is_last(start: bytes) -> bool:
    """Whether an MP4 or MOV that begins so has its frames before the index that says where they are."""
    if start[4:8] not in (b"ftyp", b"wide", b"mdat"):
        return False
    at = 0
    while at + 16 <= len(start):
        length, kind = int.from_bytes(start[at : at + 4]), start[at + 4 : at + 8]
        if kind in (b"moov", b"moof", b"mdat"):
            return kind == b"mdat"
        at += int.from_bytes(start[at + 8 : at + 16]) if length == 1 else max(length, 8)
    return False


def joined_at(source: Source) -> int | None:
    """Where another MP4 begins in a file: of those joined byte by byte, FFmpeg reads the first alone."""
    if not source.concurrent or source.size is None:
        return None
    at, head = 0, bytearray(16)
    for _ in range(_MOST_BOXES):
        if source.read_at(at, memoryview(head)) < 8:
            return None
        length, kind = int.from_bytes(head[:4]), head[4:8]
        if (kind == b"ftyp") != (at == 0):
            return at or None  # where it isn't the first, it is another one's
        at += int.from_bytes(head[8:]) if length == 1 else length or source.size
    return None
