"""The sources of the kernels, each with the headers it includes as one text."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final

_INCLUDE: Final = re.compile(r'^#include "([a-z0-9_/]+\.cuh)"$', re.MULTILINE)
_BRACE: Final = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|([{}])', re.DOTALL)
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


@cache
def single_kernel(program: str, kernel: str) -> str:
    """The text of a program with one of its kernels alone: each is compiled by itself, beside the others."""
    source = kernel_source(program)
    kept, end = [], 0
    for found in _KERNEL.finditer(source):
        if found[1] != kernel:
            after = _end_of_body(source, found.end())
            # As many lines as before, so that messages of the compiler name the right one.
            kept += [source[end : found.start()], "\n" * source.count("\n", found.start(), after)]
            end = after
    return "".join([*kept, source[end:]])


def _end_of_body(source: str, start: int) -> int:
    """Where the function ends whose parameters start there."""
    depth = 0
    for found in _BRACE.finditer(source, start):
        depth += {"{": 1, "}": -1}.get(found[1], 0)
        if found[1] == "}" and depth == 0:
            return found.end()
    raise ValueError("a function without an end")


def programs() -> list[str]:
    """The names of all programs."""
    folder = files("acuity.devices.cuda") / "kernels"
    return sorted(file.name[:-3] for file in folder.iterdir() if file.name.endswith(".cu"))


def kernel_names(program: str) -> list[str]:
    """The kernels of a program."""
    return _KERNEL.findall(kernel_source(program))
