"""Turns arguments of the scoring tools into options of another `vmaf` binary, if it has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from acuity.agents.tools.external import External
from acuity.devices import BACKENDS
from acuity.errors import GEOMETRY, BackendError
from acuity.scoring.fronts import RAW, as_whole
from acuity.scoring.presets import PRESETS
from acuity.scoring.request import DIFFERENT, FRAMES, PICTURES, SETTINGS

# Settings about pairing, which are left out if Acuity decodes and pairs the videos.
_PAIRING: Final = [
    name
    for name in RAW.settings
    # Subsampling leaves out pairs, not pictures.
    if SETTINGS[name].group in (FRAMES, PICTURES, DIFFERENT) and name != "subsample"
]
# Settings that the task writes itself, or that have their own place below.
_ELSEWHERE: Final = (*_PAIRING, *GEOMETRY, "models", "features", "backend")
_SCORING: Final = [name for name in RAW.settings if name not in _ELSEWHERE]


def option_list(
    binary: External, arguments: Mapping[str, Any], defaults: Mapping[str, Any], *, decoded: bool
) -> list[str]:
    """The binary's options for these arguments; raises BackendError if it lacks one that is needed.

    An argument at its default needs no option. With `decoded`, the binary gets raw samples of frames that are
    already paired.
    """
    options: list[str] = []
    settings = [*_SCORING, *([] if decoded else _PAIRING)]
    # libvmaf and its forks take arguments as options of the same names.
    for name in ("precision", *map(RAW.name, settings)):
        value = as_whole(arguments.get(name))
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
    # Always pass the precision, so that a binary with another default gives the same digits.
    return value is not None and (argument == "precision" or value != defaults.get(argument))


def backend_options(binary: External, backend: str) -> list[str]:
    """Options that choose this backend by name if the binary can, and switch the others off.

    Older binaries can only switch backends off, which leaves the CPU as an alternative.
    """
    if backend == "auto":
        return []
    chosen = ["--backend", backend] if "backend" in binary.options else []
    return chosen + [
        f"--no_{name}" for name in BACKENDS[1:] if name != backend and f"no_{name}" in binary.options
    ]
