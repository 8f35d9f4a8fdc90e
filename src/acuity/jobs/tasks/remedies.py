"""Remedies in the words of the tools: the engine's sentences name the arguments of acuity.score()."""

from __future__ import annotations

import re
from typing import Final

# Not after a quote, slash or dot: a file may be called width=.yuv.
_GEOMETRY: Final = r"(?<![\w'/.-])(?:width|height|pixel_format|bitdepth)=\d*"

# For vmaf_score, which takes geometry, and for vmaf_score_encoded, which does not.
_WITH_GEOMETRY: Final = (
    (re.compile(r"leave out the geometry"), "score the pair with vmaf_score_encoded"),
    (re.compile(r"(?<![\w'/.-])pixel_format="), "pixfmt="),
)
_WITHOUT_GEOMETRY: Final = (
    (
        re.compile(rf"(?:pass|say which with) {_GEOMETRY}(?:(?:, | and ){_GEOMETRY})*"),
        "score the pair with vmaf_score, which takes width, height, pixfmt and bitdepth",
    ),
)
_BOTH: Final = (
    (re.compile(r"(?<![\w'/.-])allow_damaged=True"), "allow_damaged=true"),
    (re.compile(r"(?:run )?'acuity models'"), "call list_models"),
    (re.compile(r"(?:run )?'acuity features'"), "call list_extractors"),
)


_LONGEST: Final = 8 << 10  # characters; a sentence may repeat megabytes of somebody's file


def as_arguments(sentence: str, *, geometry: bool) -> str:
    """The sentence with remedies that the caller of a tool can follow; of a very long one both ends."""
    if len(sentence) > _LONGEST:  # cut first: what follows takes its time for every character
        sentence = f"{sentence[: _LONGEST * 3 // 4]}…{sentence[-_LONGEST // 4 :]}"
    for pattern, words in (*(_WITH_GEOMETRY if geometry else _WITHOUT_GEOMETRY), *_BOTH):
        sentence = pattern.sub(words, sentence)
    return sentence
