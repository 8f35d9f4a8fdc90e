"""What became of an encode in a comparison."""

from __future__ import annotations

from typing import Final

FINISHED: Final = "finished"
PARTIAL: Final = "partial"  # interrupted, with the figures of the frames before
NOT_FINISHED: Final = "not finished"  # interrupted, without figures
FAILED: Final = "failed"
