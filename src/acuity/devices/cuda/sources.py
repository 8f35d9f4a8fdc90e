"""The sources of the kernels, each with the headers it includes as one text."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final

_INCLUDE: Final = re.compile(r'^#include "([a-z0-9_]+\.cuh)"$', re.MULTILINE)
_KERNEL: Final = re.compile(r'extern "C" __global__ void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\(')


@cache
def kernel_source(program: str) -> str:
    """The text of a program, complete for a compiler that reads no files."""
    seen: set[str] = set()

    def text(name: str) -> str:
        source = (files("acuity.devices.cuda") / "kernels" / name).read_text("utf-8")
        return _INCLUDE.sub(included, source).replace("#pragma once\n", "")

    def included(found: re.Match[str]) -> str:
        name = found[1]
        if name in seen:
            return ""
        seen.add(name)
        return text(name)

    return text(f"{program}.cu")


def programs() -> list[str]:
    """The names of all programs."""
    folder = files("acuity.devices.cuda") / "kernels"
    return sorted(file.name[:-3] for file in folder.iterdir() if file.name.endswith(".cu"))


def kernel_names(program: str) -> list[str]:
    """The kernels of a program."""
    return _KERNEL.findall(kernel_source(program))
