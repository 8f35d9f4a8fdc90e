"""What AV1's headers say about decoding on a card: film grain, and whether a frame begins anew."""

from __future__ import annotations

from typing import Final

from acuity.video.coded_headers import av1_sequence, av1_units

_FRAMES: Final = frozenset((3, 6))  # a frame's header, and a whole frame
_BOX: Final = 4  # bytes before the units in a container's own header


def configuration(extra: bytes) -> bytes:
    """The units of a container's own header."""
    return extra[_BOX:] if extra[:1] == b"\x81" else extra


def has_film_grain(data: bytes) -> bool | None:
    """Whether frames may have film grain, by the first sequence header; None if there is none."""
    found = av1_sequence(data)
    return None if found is None else found.film_grain


def begins_anew(data: bytes) -> bool:
    """Whether the first frame is a key frame that is shown."""
    for kind, payload in av1_units(data):
        if kind in _FRAMES:
            return payload[:1] != b"" and payload[0] & 0xF0 == 0x10
    return False
