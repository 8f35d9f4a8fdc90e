"""Narrators: what a vision-language model says about a picture, beside what was measured.

The model is a folder on this machine in the layout of ONNX Runtime GenAI (extra `vlm`). Nothing is
downloaded, no code of the folder is run, and the model runs in a process that is killed when it takes too
long.
"""

from __future__ import annotations

from acuity.frames.narrator.narrator import (
    ModelNarrator,
    Narrator,
    NarratorLimits,
    check_narrator,
    open_narrator,
)

__all__ = [
    "ModelNarrator",
    "Narrator",
    "NarratorLimits",
    "check_narrator",
    "open_narrator",
]
