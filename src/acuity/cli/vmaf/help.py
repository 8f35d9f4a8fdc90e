"""The page that `vmaf --help` prints, made from the option table."""

from __future__ import annotations

import textwrap

from acuity.cli.getopt import Flag
from acuity.cli.vmaf.options import FLAGS

_INTRO = """\
Usage: vmaf -r REFERENCE -d DISTORTED [options]

Score DISTORTED against REFERENCE with VMAF: 100 looks like the reference, 0 is as bad as it gets.
Takes libvmaf's options and writes libvmaf's reports, with the digits of libvmaf's C code.

  vmaf -r original.mp4 -d encoded.mp4
  vmaf -r ref.y4m -d dis.y4m -o report.json --json
  vmaf -r ref.yuv -d dis.yuv -w 1920 -h 1080 -p 420 -b 8 -m version=vmaf_v0.6.1neg
"""

_OUTRO = """\
Words in option names may be joined with dashes or underscores, and names may be shortened.
'acuity models' and 'acuity features' list what -m and --feature take; 'acuity score' is the
friendlier command. Exit codes: 0 done, 1 bad option, 255 bad input, 234 pictures that an extractor
can't take, 3 scored with a warning (--strict), 100 the backend can't start, 101 no frames.
"""

_INDENT = 30
_WIDTH = 100


def help_page() -> str:
    """The whole page, in the order of the table."""
    parts = [_INTRO]
    for section in dict.fromkeys(flag.section for flag in FLAGS):
        lines = [line for flag in FLAGS if flag.section == section for line in _entry(flag)]
        parts.append(f"{section}:\n" + "\n".join(lines) + "\n")
    return "\n".join([*parts, _OUTRO])


def _entry(flag: Flag) -> list[str]:
    names = f"  -{flag.short}, --{flag.long}" if flag.short else f"      --{flag.long}"
    head = f"{names} {flag.value}".rstrip() if flag.bare is None else f"{names}[={flag.value}]"
    body = textwrap.wrap(flag.help, _WIDTH - _INDENT)
    if len(head) > _INDENT - 2:
        return [head, *(f"{'':{_INDENT}}{line}" for line in body)]
    return [f"{head:{_INDENT}}{body[0]}", *(f"{'':{_INDENT}}{line}" for line in body[1:])]
