"""Schemas that several of these tools share."""

from __future__ import annotations

from typing import Any, Final

from acuity.mcp.schemas import array, number, or_null, record, text, whole

LONGEST: Final = 4096  # characters of a name, a model or a path
LARGEST: Final = 2**31 - 1  # frame numbers; what C's int holds


def name(description: str) -> dict[str, Any]:
    return {**text(description), "minLength": 1, "maxLength": LONGEST}


def count(least: int, most: int, description: str, **more: Any) -> dict[str, Any]:
    return {**whole(description), "minimum": least, "maximum": most, **more}


def frame(description: str) -> dict[str, Any]:
    return count(0, LARGEST, description)


FIGURE: Final = or_null(number())
FIGURES: Final[dict[str, Any]] = {"type": "object", "additionalProperties": FIGURE}

AGGREGATE: Final = or_null(
    record(
        {
            "first": whole("The first frame that is pooled here."),
            "last": whole("The last one; every frame in between that is measured is pooled too."),
            "frames": whole("How many they are."),
            "min": FIGURE,
            "max": FIGURE,
            "mean": FIGURE,
            "harmonic_mean": FIGURE,
            "percentiles": {**FIGURES, "description": "p5 is the score that the worst 5 % lie below."},
            "models": array(text(), "The models behind these frames, where there are several."),
            "parts": array({"type": "object"}, "Then the same figures for each model's frames."),
            "reason": text("Then why the figures above are null."),
        },
        optional=("percentiles", "models", "parts", "reason"),
        description="What the frames pool to: all that are known so far, or those of the range.",
    )
)

PAUSES: Final = array(
    record(
        {
            "by": text("The client's own name for itself, or host."),
            "transport": or_null(text("How the client is connected; null for the host.")),
            "until": or_null(text("When it ends by itself, in UTC; null: when the host says so.")),
        }
    ),
    "Whose pauses hold.",
)

NEXT_FRAME: Final = whole("The next frame to be read, from which on it holds.")
