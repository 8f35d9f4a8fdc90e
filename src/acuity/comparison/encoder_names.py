"""Decides which encoder made an encode, so that encodes of one encoder are points of one curve.

In this order: what the list says, the files' names (`x264_slow_2000k.mp4` is 2000 kbit/s of `x264_slow`) if
all have such names, the tag that an encoder left in the file, and at last the codec.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from acuity.errors import InputError
from acuity.text import note, quoted

AUTO: Final = "auto"
_GROUP: Final = "encoder"
# The end of a name that says how much was spent: a bitrate, a quality, or the height of a rung.
_SETTING: Final = (
    r"(?:\d+(?:\.\d+)?(?:k|m|kb|mb|kbps|mbps|kbit|mbit)|(?:crf|cqp|cq|qp|q|br|b|vbr|cbr)[-_=]?\d+(?:\.\d+)?k?"
    r"|\d{3,4}p\d{0,3}|\d+)"
)
_NAME: Final = re.compile(rf"(?P<{_GROUP}>.*?[^\W_].*?)(?:[-_. @]+{_SETTING})+", re.IGNORECASE)
_LIBRARY: Final = re.compile(r"^Lav[cf][\d.]*\s*", re.IGNORECASE)  # FFmpeg names itself before the encoder

Finder = Callable[[str, Mapping[str, Any] | None], str | None]


def from_name(path: str, _: Mapping[str, Any] | None = None) -> str | None:
    """The part of a file's name before its bitrate or quality."""
    found = _NAME.fullmatch(os.path.splitext(os.path.basename(path))[0])
    return found[_GROUP] if found else None


def from_metadata(_: str, info: Mapping[str, Any] | None) -> str | None:
    """The tag of the file's encoder without FFmpeg's own name, or the codec."""
    if info is None:
        return None
    tag = _LIBRARY.sub("", note(str(info.get("encoder") or "")))
    return tag or info.get("codec")


SOURCES: Final[Mapping[str, Finder]] = {
    AUTO: lambda path, info: from_name(path) or from_metadata(path, info),
    "name": from_name,
    "folder": lambda path, _: os.path.basename(os.path.dirname(os.path.abspath(path))) or None,
    "metadata": from_metadata,
    "none": lambda path, info: None,
}


def encoder_finder(source: str, paths: Sequence[str] = ()) -> Finder:
    """A function that finds a path's encoder, given the reader's description of the video; raises InputError.

    `source` is one of SOURCES, or a regular expression with the group `encoder` that is looked for in the
    file's name. By itself, it is the names if all `paths` have one, else the tags of all.
    """
    if source == AUTO and not all(map(from_name, paths)):
        return from_metadata  # one encoder would have two names
    if source in SOURCES:
        return SOURCES[source]
    try:
        pattern = re.compile(source)
    except re.error as error:
        raise InputError(f"{quoted(source)} says no encoder: {error}; {_advice()}") from None
    if _GROUP not in pattern.groupindex:
        raise InputError(f"{quoted(source)} says no encoder: {_advice()}")

    def find(path: str, _: Mapping[str, Any] | None) -> str | None:
        found = pattern.search(os.path.basename(path))
        return found[_GROUP] or None if found else None

    return find


def _advice() -> str:
    words = ", ".join(SOURCES)
    return rf"use one of {words}, or a regular expression such as '(?P<{_GROUP}>\w+)_\d+k'"
