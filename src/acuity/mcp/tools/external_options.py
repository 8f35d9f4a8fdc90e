"""Turns arguments of the scoring tools into options of another `vmaf` binary, if it has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from acuity.devices import BACKENDS
from acuity.errors import BackendError
from acuity.mcp.tools.external import External
from acuity.scoring.presets import PRESETS


def _value(value: Any) -> list[str]:
    return [str(value)]


def _switch(_: Any) -> list[str]:
    return []


# Argument, option, and the option's value, for options that libvmaf and its forks spell in the same way.
_Row: TypeAlias = tuple[str, str, Callable[[Any], list[str]]]
_SCORING: Final[tuple[_Row, ...]] = (
    ("precision", "precision", _value),
    ("subsample", "subsample", _value),
    ("threads", "threads", _value),
    ("no_prediction", "no_prediction", _switch),
)
# Options about pairing, which are left out if Acuity decodes and pairs the videos.
_PAIRING: Final[tuple[_Row, ...]] = (
    ("frame_cnt", "frame_cnt", _value),
    ("frame_skip_ref", "frame_skip_ref", _value),
    ("frame_skip_dist", "frame_skip_dist", _value),
    ("scale", "scale", _value),
    ("convert", "convert", _value),
    ("rate", "rate", _value),
    ("vfr", "vfr", _value),
    ("hdr", "hdr", _value),
    ("allow_damaged", "allow_damaged", _switch),
)


def option_list(
    binary: External, arguments: Mapping[str, Any], defaults: Mapping[str, Any], *, decoded: bool
) -> list[str]:
    """The binary's options for these arguments; raises BackendError if it lacks one that is needed.

    An argument at its default needs no option. With `decoded`, the binary gets raw samples of frames that are
    already paired.
    """
    options: list[str] = []
    for argument, option, spell in (*_SCORING, *(() if decoded else _PAIRING)):
        value = arguments.get(argument)
        if option in binary.options and _is_wanted(argument, value, defaults):
            options += [f"--{option}", *spell(value)]
        elif value is not None and value != defaults.get(argument):
            raise _lacks(binary, option, argument)
    for preset in PRESETS:  # the task writes these itself
        if arguments.get(preset) is not None and preset not in binary.options:
            raise _lacks(binary, preset, preset)
    return [*options, *backend_options(binary, arguments["backend"])]


def _lacks(binary: External, option: str, argument: str) -> BackendError:
    return BackendError(
        f"the vmaf binary {binary.path} has no --{option}: leave out {argument},"
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
