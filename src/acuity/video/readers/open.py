"""open_video(), which chooses the reader for a file from a table."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from acuity.errors import GEOMETRY, TO_OMIT_GEOMETRY, FormatError, InputError, NoFramesError, to_give
from acuity.records import Record
from acuity.video.buffers import Allocate, allocate
from acuity.video.local_file import local_size, restricted
from acuity.video.notes import info
from acuity.video.picture import PixelFormat, split_format
from acuity.video.readers.guess import (
    CONTAINER_SUFFIXES,
    IMAGE_SUFFIXES,
    RawFormat,
    guess_geometry,
    is_raw_name,
)
from acuity.video.readers.raw import RawReader
from acuity.video.readers.reader import BaseReader
from acuity.video.source import STDIN, Y4M_MAGIC, Place, Source, is_web_address, name_of, open_source

if TYPE_CHECKING:
    from fractions import Fraction

# Signatures of formats that carry their own size: offset, bytes, name.
_SIGNATURES: Final = (
    (0, Y4M_MAGIC, "Y4M"),
    (4, b"ftyp", "MP4 or MOV"),
    (0, b"\x1aE\xdf\xa3", "Matroska or WebM"),
    (0, b"RIFF", "AVI"),
)
_TASTE: Final = 16


class RawGeometry(Record):
    """The caller's geometry of raw video; None: not given."""

    width: int | None = None
    height: int | None = None
    pixel_format: str | None = None
    bitdepth: int | None = None

    @property
    def missing(self) -> list[str]:
        """The names of the missing values."""
        return [name for name in GEOMETRY if getattr(self, name) is None]

    @property
    def said(self) -> bool:
        return len(self.missing) < 4

    def complete(self) -> RawFormat | None:
        """The complete format, or None if something is missing."""
        if self.width is None or self.height is None or self.pixel_format is None or self.bitdepth is None:
            return None
        return RawFormat(self.width, self.height, PixelFormat.parse(self.pixel_format, self.bitdepth))


class OpenOptions(Record):
    """How videos are opened, besides the geometry of raw ones: see open_video()."""

    fps: Fraction | None = None
    guess: bool = False
    threads: int = 0
    luma_only: bool = False
    allow_damaged: bool = False
    stream: int | None = None
    allow_network: bool = False
    allocate: Allocate = allocate  # memory that raw video and Y4M are read into
    containers: Callable[..., BaseReader] | None = None  # opens them in ContainerReader's place, as it does


def open_video(
    path: str | os.PathLike[str],
    *,
    width: int | None = None,
    height: int | None = None,
    pixel_format: str | None = None,
    bitdepth: int | None = None,
    fps: Fraction | None = None,
    guess: bool = False,
    threads: int = 0,
    luma_only: bool = False,
    allow_damaged: bool = False,
    stream: int | None = None,
    allow_network: bool = False,
) -> BaseReader:
    """Open raw YUV, Y4M, any container PyAV decodes, or images; '-' is standard input.

        with open_video("clip.mp4") as video:
            for picture in video:
                print(picture.pts, picture.luma.mean())

    Geometry (`width`, `height`, `pixel_format`, `bitdepth`) means that the file is raw, and all four are
    needed. With `guess` the missing values come from the file's name and length, if only one format fits; a
    note on the reader says what was guessed.

    Images are named by a pattern, as 'shot.%04d.png' or 'shots/*.png', or by their folder. `fps` is the
    frame rate of raw video and images. `threads` is for the decoder, 0 lets it choose. With `luma_only`
    pictures may come without chroma. With `allow_damaged` damaged frames give a warning and are used as the
    decoder returns them; otherwise they are refused. `stream` is the video stream of a container that has
    several, counted from 0. With `allow_network` the path may be an address of http or https. Raises
    InputError.
    """
    geometry = RawGeometry(width, height, pixel_format, bitdepth)
    options = OpenOptions(fps, guess, threads, luma_only, allow_damaged, stream, allow_network)
    return open_as(path, geometry, options)


def open_as(path: str | os.PathLike[str], said: RawGeometry, options: OpenOptions) -> BaseReader:
    """open_video() with its arguments as two values."""
    kind = _kind(path)
    name = os.fspath(path)
    if not said.said and kind != "raw":
        return _OPENERS[kind](path, options)
    if kind == "images":
        from acuity.video.readers.image_names import find_images

        find_images(name)  # raises if there is none
        raise FormatError(f"'{name}' is a sequence of images, which say their own size: ", TO_OMIT_GEOMETRY)
    if local_size(name) is not None:
        _check_raw(name, kind)
    geometry = said.complete()
    if geometry is not None:
        return _open_raw(path, geometry, options)
    if not options.guess:
        raise _incomplete(name, said)
    geometry = _guessed(name, said, options)
    reader = _open_raw(path, geometry, options)
    reader.notes.append(info("guessed", f"'{name}' is read as {geometry}, going by its name and length"))
    return reader


def says_its_size(path: str | os.PathLike[str]) -> bool:
    """Whether a file carries its own size, judged by its first bytes or its extension.

    Pipes and devices can't be read without losing bytes, so only their names count.
    """
    name = os.fspath(path)
    kind = _kind(path)
    if kind in ("pipe", "raw"):
        return False
    suffix = os.path.splitext(name)[1].lower()
    if kind in ("y4m", "images") or suffix in CONTAINER_SUFFIXES or suffix in IMAGE_SUFFIXES:
        return True
    with open_source(name) as source:
        return _signature(source.peek(_TASTE)) is not None


def is_container(path: str | os.PathLike[str]) -> bool:
    """Whether a file is read by PyAV, judged as open_video() does."""
    return _kind(path) == "container"


def _signature(start: bytes) -> str | None:
    """The name of the format that begins with these bytes."""
    return next((what for at, magic, what in _SIGNATURES if start[at : at + len(magic)] == magic), None)


def _check_raw(name: str, kind: str) -> None:
    """Refuse what can't be raw video, before its bytes are taken for samples."""
    with open_source(name) as source:
        if source.size == 0:
            raise NoFramesError(f"'{name}' is empty: there is no frame to score")
        start = source.peek(_TASTE)
    known = _signature(start)
    # Raw samples may look like anything, so for a raw extension only Y4M's long signature counts.
    if known is not None and kind != "raw":
        raise FormatError(f"'{name}' is {known}, which says its own size: ", TO_OMIT_GEOMETRY)


def _incomplete(name: str, said: RawGeometry) -> InputError:
    missing = to_give(*said.missing)
    if not said.said:
        return FormatError(f"'{name}' is raw video, which does not say its size: ", missing)
    return InputError(
        "raw video needs width, height, pixel format and bit depth together: ", missing, f" for '{name}' too"
    )


def _guessed(name: str, said: RawGeometry, options: OpenOptions) -> RawFormat:
    if not os.path.exists(name):
        _open_source(name, options).close()  # raises if the path can't be opened
    length = local_size(name)
    layout, depth = None, said.bitdepth
    if said.pixel_format is not None:
        layout, named = split_format(said.pixel_format)
        if named is not None:
            depth = PixelFormat.parse(said.pixel_format, said.bitdepth).depth
    return guess_geometry(name, length, width=said.width, height=said.height, layout=layout, depth=depth)


def _kind(path: str | os.PathLike[str]) -> str:
    """The opener for a path, from the first bytes and then from the name.

    Pipes and addresses can be inspected only once they are open for reading. Missing files are opened the
    same way, which raises the sentence that refuses them.
    """
    name = os.fspath(path)
    if name == STDIN or local_size(name) is None:
        return "images" if name != STDIN and _names_images(name) else "pipe"
    with open_source(path) as source:
        if source.peek(len(Y4M_MAGIC)) == Y4M_MAGIC:
            return "y4m"
    if is_raw_name(name):
        return "raw"
    return "y4m" if name.lower().endswith(".y4m") else "container"


def _names_images(name: str) -> bool:
    if os.path.isdir(name):
        return True
    if os.path.lexists(name) or is_web_address(name):
        return False
    from acuity.video.readers.image_names import is_pattern  # which most videos don't need

    return is_pattern(name)


def _open_source(path: Place, options: OpenOptions) -> Source:
    name = name_of(path)
    if not options.allow_network or not is_web_address(name) or restricted() or os.path.exists(name):
        return open_source(path)
    from acuity.video.http_source import HttpSource

    return HttpSource(name)


def _open_raw(path: Place, geometry: RawFormat, options: OpenOptions) -> RawReader:
    _check_stream(path, options)
    return RawReader(
        _open_source(path, options),
        geometry.width,
        geometry.height,
        geometry.format,
        rate=options.fps,
        luma_only=options.luma_only,
        allocate=options.allocate,
    )


def _open_y4m(path: Place, options: OpenOptions) -> BaseReader:
    _check_stream(path, options)
    from acuity.video.readers.y4m import Y4mReader

    return Y4mReader(path, luma_only=options.luma_only, allocate=options.allocate)


def _check_stream(path: Place, options: OpenOptions) -> None:
    if options.stream:
        one = to_give("stream_ref", "stream_dis", verb="choose for one of the videos with")
        raise InputError(f"'{name_of(path)}' has no video stream {options.stream}: it has one; ", one)


def _open_container(path: Place, options: OpenOptions) -> BaseReader:
    # PyAV takes a while to load, and raw video does not need it.
    from acuity.video.readers.container import ContainerReader

    opener = options.containers or ContainerReader
    return opener(
        path,
        threads=options.threads,
        luma_only=options.luma_only,
        allow_damaged=options.allow_damaged,
        stream=options.stream,
    )


def _open_images(path: Place, options: OpenOptions) -> BaseReader:
    from acuity.video.readers.image_names import find_images
    from acuity.video.readers.images import ImagesReader

    _check_stream(path, options)
    return ImagesReader(
        find_images(name_of(path)),
        rate=options.fps,
        luma_only=options.luma_only,
        allow_damaged=options.allow_damaged,
    )


def _open_pipe(path: Place, options: OpenOptions) -> BaseReader:
    """Open what has to be open to be inspected: the reader gets the bytes that were looked at, too."""
    source = _open_source(path, options)
    try:
        start = source.peek(len(Y4M_MAGIC))
        return _OPENERS["y4m" if start in (b"", Y4M_MAGIC) else "container"](source, options)
    except BaseException:
        source.close()
        raise


_OPENERS: Final[dict[str, Callable[[Place, OpenOptions], BaseReader]]] = {
    "y4m": _open_y4m,
    "container": _open_container,
    "images": _open_images,
    "pipe": _open_pipe,
}
