"""What a model is asked about a picture, and its answer as a sentence that is safe to show.

The answer is untrusted: it may repeat text that is in the picture. It is shortened and has no control
characters, and reports keep it apart from what was measured.
"""

from __future__ import annotations

import re
from typing import Final

MOST_CHARACTERS: Final = 400
_QUESTION: Final = (
    "This is a frame of a compressed video. {measured}"
    "In one short sentence, say which compression artefacts you see and where in the picture they are."
)
_MARKS: Final = re.compile(r"<\|?[A-Za-z_/][A-Za-z0-9_/]*\|?>")  # tokens such as <end_of_turn> or <|end|>
# The end of a sentence: a mark before a space, and not after a single letter or a number.
_ENDS: Final = re.compile(r"(?<=[^\s.\d][^\s.\d][.!?])\s")
_SENTENCES: Final = 2


def question(hint: str) -> str:
    """The question about a picture; `hint` is what was measured in it."""
    return _QUESTION.format(measured=f"Measured: {_spaced(hint)} " if hint.strip() else "")


def cleaned(said: str) -> str:
    """The first sentences of an answer, on one line and without control characters; may be empty."""
    text = _spaced(_MARKS.sub(" ", said))
    pieces = _ENDS.split(text)
    text = " ".join(pieces[:_SENTENCES])
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[: MOST_CHARACTERS - 1].rsplit(' ', 1)[0][: MOST_CHARACTERS - 1]}…"


def is_enough(said: str) -> bool:
    """Whether more words of the model would be cut off anyway."""
    return len(said) > 2 * MOST_CHARACTERS or len(_ENDS.split(_spaced(_MARKS.sub(" ", said)))) > _SENTENCES


def _spaced(text: str) -> str:
    """The text with single spaces between words, and nothing that isn't printable."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
