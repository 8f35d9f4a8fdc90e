"""The size of an encode, and the bitrate of its video without sound and container."""

from __future__ import annotations

from typing import TypedDict

from acuity.errors import AcuityError
from acuity.video.local_file import local_size


class FileFacts(TypedDict):
    """What a row says of its file; None: not known."""

    size: int | None
    kbps: float | None
    seconds: float | None


def file_facts(path: str, stream: int | None = None) -> FileFacts:
    """The facts about a file; of one that can't be read, which scoring reports, its size at most."""
    size = None
    try:
        size = local_size(path)
        found = None if size is None else _of_packets(path, stream)
    except (AcuityError, OSError):
        found = None
    if found is None:
        return {"size": size, "kbps": None, "seconds": None}
    count, seconds = found
    return {"size": size, "kbps": count * 8 / seconds / 1000, "seconds": seconds}


def _of_packets(path: str, stream: int | None) -> tuple[int, float] | None:
    """The bytes of a container's video packets and how long they last, read without decoding."""
    from acuity.video.readers.open import is_container

    if not is_container(path):
        return None
    from acuity.video.readers.packets import measure_packets

    return measure_packets(path, stream)
