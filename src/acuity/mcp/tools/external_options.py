"""Arguments of the scoring tools as options of another `vmaf` binary: only such as it says it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from acuity.devices import BACKENDS
from acuity.errors import GEOMETRY, BackendError
from acuity.mcp.tools.external import External
from acuity.scoring.fronts import RAW, whole
from acuity.scoring.presets import PRESETS
from acuity.scoring.request import DIFFERENT, FRAMES, SETTINGS

# What to do with the two videos: not the binary's business where they are decoded and paired here.
_PAIRING: Final = [
    name
    for name in RAW.settings
    if SETTINGS[name].group in (FRAMES, DIFFERENT) and name != "subsample"  # pairs are left out, not pictures
]
# What the task writes itself, or what has its own place below.
_ELSEWHERE: Final = (*_PAIRING, *GEOMETRY, "models", "features", "backend")
_SCORING: Final = [name for name in RAW.settings if name not in _ELSEWHERE]


def option_list(
    binary: External, arguments: Mapping[str, Any], defaults: Mapping[str, Any], *, decoded: bool
) -> list[str]:
    """The binary's options for these arguments; BackendError where it lacks one that is needed.

    An argument at its default needs no option: leaving it out means the same to every binary. `decoded` are
    videos that reach the binary as raw samples, paired already.
    """
    options: list[str] = []
    settings = [*_SCORING, *([] if decoded else _PAIRING)]
    # libvmaf and its forks take arguments as options of the same names.
    for name in ("precision", *map(RAW.name, settings)):
        value = whole(arguments.get(name))
        if name in binary.options and _is_wanted(name, value, defaults):
            options += [f"--{name}", *([] if value is True else [str(value)])]
        elif value is not None and value != defaults.get(name):
            raise _lacks(binary, name)
    for preset in PRESETS:  # the task writes these itself
        if arguments.get(preset) is not None and preset not in binary.options:
            raise _lacks(binary, preset)
    return [*options, *backend_options(binary, arguments["backend"])]


def _lacks(binary: External, name: str) -> BackendError:
    return BackendError(
        f"the vmaf binary {binary.path} has no --{name}: leave out {name},"
        " or unset VMAF_BIN to score with Acuity's own engine"
    )


def _is_wanted(argument: str, value: Any, defaults: Mapping[str, Any]) -> bool:
    # The reference passes its precision always, so that a binary with another default gives the same digits.
    return value is not None and (argument == "precision" or value != defaults.get(argument))


def backend_options(binary: External, backend: str) -> list[str]:
    """This backend and no other: asked for by name where the binary can be, the others switched off.

    Switching the others off is all that older binaries know, and leaves the CPU in the game.
    """
    if backend == "auto":
        return []
    chosen = ["--backend", backend] if "backend" in binary.options else []
    return chosen + [
        f"--no_{name}" for name in BACKENDS[1:] if name != backend and f"no_{name}" in binary.options
    ]
