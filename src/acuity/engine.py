"""What this engine is and runs on, for reports that others should be able to reproduce."""

from __future__ import annotations

import platform
from typing import Any

from acuity import __version__
from acuity.backends import usable_instruction_sets


def describe_engine() -> dict[str, Any]:
    from acuity import _native
    from acuity.measure import available_threads

    return {
        "name": "acuity",
        "version": __version__,
        "instruction_set": _native.select_instruction_set(),
        "instruction_sets": usable_instruction_sets(),
        "threads": available_threads(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }
