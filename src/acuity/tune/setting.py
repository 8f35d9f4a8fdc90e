"""Setting: the description of a field of a tuning request, and the check of its value."""

from __future__ import annotations

import math
from dataclasses import field
from typing import Any, Final, Literal, NamedTuple

from acuity.errors import TuneError, to_set
from acuity.scoring.request import MAX_TEXT
from acuity.text import shortened

Kind = Literal["integer", "number", "string", "boolean", "array"]

# Groups of settings, under which the help of a command lists them.
WANTED: Final = "what is wanted"
SOURCE: Final = "the source"
ENCODING: Final = "encoding"
MEASURED: Final = "what is measured"
WORK: Final = "work"
OUTPUT: Final = "output"


class Setting(NamedTuple):
    """The description of a request's field."""

    kind: Kind  # as JSON Schema has it; the entries of an array are strings
    help: str  # without a capital or a full stop
    group: str
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    metavar: str | None = None


def setting(
    default: Any,
    kind: Kind,
    help: str,
    group: str,
    *,
    choices: tuple[str, ...] = (),
    minimum: float | None = None,
    maximum: float | None = None,
    metavar: str | None = None,
) -> Any:
    """A field of a request with its setting."""
    about = Setting(kind, help, group, choices, minimum, maximum, metavar)
    return field(default=default, metadata={"setting": about})


def check_value(name: str, about: Setting, value: Any) -> None:
    """Refuse a value that the setting can't have."""
    if value is None:
        return
    if about.kind in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise TuneError(to_set(name, shortened(str(value))), " is no number")
        if about.minimum is not None and value < about.minimum:
            raise TuneError(to_set(name, f"{value:g}"), f" should be {about.minimum:g} or more")
        if about.maximum is not None and value > about.maximum:
            raise TuneError(to_set(name, f"{value:g}"), f" should be {about.maximum:g} or less")
        return
    for text in value if about.kind == "array" else [value] if about.kind == "string" else []:
        if len(text) > MAX_TEXT:
            raise TuneError(to_set(name, shortened(text)), f" is longer than {MAX_TEXT} characters")
    if about.choices and value not in about.choices:
        raise TuneError(to_set(name, shortened(value)), f" is unknown: use one of {', '.join(about.choices)}")
