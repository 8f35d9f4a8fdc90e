"""The shape of what acuity.devices tells about the engine."""

from __future__ import annotations

from typing import Final

from acuity.mcp.schemas import array, record, text, whole

ENGINE: Final = record(
    {
        "name": text(),
        "version": text(),
        "instruction_set": text("The one in use."),
        "instruction_sets": array(text(), "Those that this processor runs, fastest first."),
        "threads": whole("That a score may use."),
        "python": text(),
        "system": text(),
    },
    description="Acuity's own engine, and what it runs on.",
)
