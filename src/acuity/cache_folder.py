"""The folder of all caches, alone: a card starts without SQLite, which other caches need."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

FOLDER_VARIABLE: Final = "ACUITY_CACHE"


def cache_folder() -> str:
    """The folder that ACUITY_CACHE names, or Acuity's in the user's cache folder."""
    if folder := os.environ.get(FOLDER_VARIABLE):
        return folder
    base = os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base and os.path.isabs(base) else Path("~/.cache").expanduser()
    return str(root / "acuity")
