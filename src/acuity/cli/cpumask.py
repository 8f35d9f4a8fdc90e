"""libvmaf's `--cpumask`: bits that forbid instruction sets, turned into one of ours."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Final

# Which of libvmaf's bits each of our instruction sets stands on. A set is allowed when none of its
# bits is forbidden, so forbidding SSE4.1 also forbids what builds on it.
_X86: Final = {"sse4": 0x07, "avx2": 0x0F, "avx512": 0x1F, "avx512vnni": 0x3F}
_ARM: Final = {"neon": 0x01}


def allowed(available: Sequence[str], mask: int, machine: str | None = None) -> str:
    """The fastest of `available` (fastest first) that the mask permits; `plain` is never forbidden."""
    arm = (machine or platform.machine()).lower() in {"aarch64", "arm64"}
    bits = _ARM if arm else _X86
    for name in available:
        if not mask & bits.get(name, 0):
            return name
    return "plain"
