"""Heatmaps: 16-bit grey images, one file for each frame and scale."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from acuity.errors import OutputError
from acuity.png import grey_png

if TYPE_CHECKING:
    from collections.abc import Sequence


class HeatmapFolder:
    """The folder for an extractor's heatmaps, created if missing. Several threads may write to it."""

    def __init__(self, folder: str, name: str) -> None:
        self._folder = Path(folder)
        self._name = name  # of the figure that the heatmaps explain
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._error(error) from error

    def write(self, frame: int, heatmaps: Sequence[NDArray[np.uint16]]) -> None:
        """Write the images of a frame, each completely or not at all."""
        for scale, image in enumerate(heatmaps):
            target = self._folder / f"{self._name}_heatmap_frame_{frame:06d}_scale_{scale}.png"
            # A random name, because another process may write the same frame.
            temporary = target.with_name(f".{target.name}.{os.urandom(4).hex()}.tmp")
            try:
                try:
                    temporary.write_bytes(grey_png(image))
                    temporary.replace(target)
                finally:
                    temporary.unlink(missing_ok=True)
            except OSError as error:
                raise self._error(error) from error

    def _error(self, error: OSError) -> OutputError:
        reason = error.strerror or str(error)
        return OutputError(f"heatmaps could not be written to {str(self._folder)!r}: {reason}")
