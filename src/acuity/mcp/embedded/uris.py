"""The URIs of a measurement's resources, with their queries.

    acuity://measurement/status
    acuity://measurement/scores?frames=0-499
    acuity://measurement/report?frames=0-499
    acuity://measurement/report.csv
    acuity://measurement/watch?below=70&name=vmaf

With ?rate=N a subscriber is notified at most N times a second; reading ignores it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

import mcp_types as types
from mcp.shared.exceptions import MCPError

from acuity.text import one_line, shortened

_ECHOED: Final = 1000  # characters of an error and of its URI
MEASUREMENT: Final = "acuity://measurement"
STATUS: Final = f"{MEASUREMENT}/status"
SCORES: Final = f"{MEASUREMENT}/scores"
REPORT: Final = f"{MEASUREMENT}/report"
TABLE: Final = f"{REPORT}.csv"
WATCH: Final = f"{MEASUREMENT}/watch"

SLOWEST: Final = 0.1
FASTEST: Final = 100.0
# Times a second, unless the client says otherwise. A report is long, and nobody reads it as it changes.
RATES: Final[Mapping[str, float]] = {STATUS: 5.0, SCORES: 5.0, WATCH: 5.0, REPORT: 1.0, TABLE: 1.0}

_LONGEST: Final = 256  # characters
_BEYOND: Final = 2**53  # no frame has a greater number
_RANGE: Final = re.compile(r"(\d{1,400})-(\d{1,400})", re.ASCII)  # the last may be any large number
_FRAMED: Final = (SCORES, REPORT, TABLE)  # those that take ?frames=


@dataclass(frozen=True, slots=True)
class ResourceUri:
    """A resource, and the query behind its name."""

    resource: str  # one of RATES
    rate: float  # times a second
    frames: range | None = None  # by number; None: the resource's own choice
    below: float | None = None  # what is watched for: frames below this figure
    name: str | None = None  # whose figure; None: the first model's score


def parse(uri: str) -> ResourceUri | None:
    """A URI taken apart; None where it is no resource of a measurement. Raises MCPError for a wrong query."""
    resource, _, query = uri.partition("?")
    if resource not in RATES:
        return None
    if len(uri) > _LONGEST:
        raise _refused(resource, f"the address has {len(uri)} characters, {_LONGEST} are the most")
    rate, frames, below, name = RATES[resource], None, None, None
    for key, value in parse_qsl(query, keep_blank_values=True):
        if key == "rate":
            rate = _rate(uri, value)
        elif key == "frames" and resource in _FRAMED:
            frames = _frames(uri, value)
        elif key == "below" and resource == WATCH:
            below = _below(uri, value)
        elif key == "name" and resource == WATCH:
            name = value
        else:
            raise _refused(uri, f"'{key}' is not understood in '{uri}': write ?rate=5 or ?frames=0-499")
    if resource == WATCH and below is None:
        raise _refused(uri, f"'{uri}' doesn't say what to watch for: write {WATCH}?below=70")
    return ResourceUri(resource, rate, frames, below, name)


def _rate(uri: str, value: str) -> float:
    try:
        rate = float(value)
    except ValueError:
        rate = 0.0
    if not SLOWEST <= rate <= FASTEST:
        raise _refused(uri, f"rate '{value}' must be a number of times a second, {SLOWEST:g} to {FASTEST:g}")
    return rate


def _below(uri: str, value: str) -> float:
    try:
        below = float(value)
    except ValueError:
        below = math.nan
    if not math.isfinite(below):
        raise _refused(uri, f"below '{value}' must be a number, as in ?below=70")
    return below


def _frames(uri: str, value: str) -> range:
    found = _RANGE.fullmatch(value)
    if found is None or int(found[1]) > int(found[2]):
        raise _refused(uri, f"frames '{value}' must be FIRST-LAST: 0-499 stands for the first 500")
    return range(min(int(found[1]), _BEYOND), min(int(found[2]), _BEYOND) + 1)


def _refused(uri: str, sentence: str) -> MCPError:
    return MCPError(
        types.INVALID_PARAMS, one_line(shortened(sentence, _ECHOED)), {"uri": shortened(uri, _ECHOED)}
    )
