"""How many examples Hypothesis tries where a test's cost calls for another number than the profile's."""

from __future__ import annotations

from typing import Final

from hypothesis import settings

_USUAL: Final = 40  # examples of the profile "usual"


def examples(usual: int) -> int:
    """So many as a rule; with HYPOTHESIS_PROFILE=thorough more, in the same proportion as everywhere."""
    return usual * settings.default.max_examples // _USUAL
