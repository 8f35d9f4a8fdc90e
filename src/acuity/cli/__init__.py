"""Commands."""

from __future__ import annotations

from acuity import __version__

LIBVMAF_VERSION = "3.2.0"  # the version that `vmaf` replaces


def version_text(program: str) -> str:
    """What --version prints; libvmaf's version comes first, as its own program prints it."""
    return f"{LIBVMAF_VERSION}\nacuity {__version__}" if program == "vmaf" else f"{program} {__version__}"
