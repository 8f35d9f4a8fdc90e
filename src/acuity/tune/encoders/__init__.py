"""Encoders by name: those of PyAV, and those of the program that ACUITY_FFMPEG names (external.py)."""

from __future__ import annotations

import os
from functools import cache

from acuity.errors import EncoderError, listed
from acuity.text import quoted
from acuity.tune.encoders.encoder import PRESETS, Encoder, Options
from acuity.tune.encoders.table import ENCODERS

__all__ = ["ENCODERS", "PRESETS", "Encoder", "Options", "find_encoder", "usable_encoders"]


@cache
def _names() -> dict[str, Encoder]:
    """Every encoder by its name and its aliases."""
    names = dict(ENCODERS)
    for encoder in ENCODERS.values():
        for alias in encoder.aliases:
            names.setdefault(alias, encoder)
    return names


def encoder_of(name: str) -> Encoder | None:
    """The entry of a name or alias, whether the encoder is on this machine or not."""
    return _names().get(name.strip().lower())


def find_encoder(name: str) -> Encoder:
    """The encoder of a name or alias; EncoderError says which are usable here."""
    encoder = encoder_of(name)
    why = None if encoder is None else _why_unusable(encoder)
    if encoder is not None and why is None:
        return encoder
    here = listed([known.name for known in usable_encoders()])
    if encoder is None:
        more = (
            "those of other names aren't known here, whatever ffmpeg ACUITY_FFMPEG names"
            if os.environ.get("ACUITY_FFMPEG")
            else "an ffmpeg that ACUITY_FFMPEG names brings more"
        )
        raise EncoderError(f"there is no encoder {quoted(name)}: use {here}; {more}")
    raise EncoderError(f"{encoder.name} {why}: use {here}")


def usable_encoders() -> list[Encoder]:
    """The encoders of this machine, those of PyAV first."""
    return [encoder for encoder in ENCODERS.values() if _why_unusable(encoder) is None]


def _why_unusable(encoder: Encoder) -> str | None:
    """Why an encoder isn't on this machine, or doesn't work; None if it does."""
    if encoder.in_process:
        import av

        return None if encoder.name in av.codecs_available else "is not in this build of PyAV"
    from acuity.tune.encoders.external import why_unusable  # loads PyAV and encoding.py

    return why_unusable(encoder)
