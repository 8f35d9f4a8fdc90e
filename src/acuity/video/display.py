"""The displays that models were made for, and the size at which a picture fills one."""

from __future__ import annotations

from typing import Final

# Pixels of the longer and the shorter side.
DISPLAYS: Final = {"1080p": (1920, 1080), "2160p": (3840, 2160)}


def is_4k(width: int, height: int) -> bool:
    """Whether pictures are of the 4K class, whichever side is up: portrait phones are not."""
    long, short = DISPLAYS["2160p"]
    return max(width, height) >= long or min(width, height) >= short


def nearest_display(width: int, height: int) -> str:
    """The display for pictures of that size."""
    return "2160p" if is_4k(width, height) else "1080p"


def fill(display: str, width: int, height: int, aspect: float = 1.0) -> tuple[int, int]:
    """The size at which a picture fills a display, in square pixels; an upright one fills it upright.

    `aspect` is that of the picture's samples. Its shape stays, so one of the sides may be shorter than the
    display's.
    """
    long, short = DISPLAYS[display]
    shown = width * aspect
    box = (long, short) if shown >= height else (short, long)
    factor = min(box[0] / shown, box[1] / height)
    return 2 * round(shown * factor / 2), 2 * round(height * factor / 2)


def part_filled(display: str, width: int, height: int, aspect: float = 1.0) -> float:
    """How much of its height on the display a picture takes when each of its pixels takes one."""
    return height / fill(display, width, height, aspect)[1]
