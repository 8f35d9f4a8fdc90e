"""Rates: how many requests a principal may send in a period, and the allowances that hold it to that.

An allowance is a token bucket: it is full at first, a request takes one, and it fills up again at the rate.
So `60/min` lets 60 requests through at once, and after those one each second.
"""

from __future__ import annotations

import math
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple, Protocol

from longwire.errors import SettingsError

_UNITS: Final[Mapping[str, float]] = {
    **dict.fromkeys(("s", "sec", "second"), 1.0),
    **dict.fromkeys(("min", "minute"), 60.0),
    **dict.fromkeys(("h", "hour"), 3600.0),
    "day": 86400.0,
}
_RATE: Final = re.compile(r"([0-9]{1,6}) ?/ ?([a-z]+)")
_ROUNDING: Final = 1e-7  # seconds by which sums of fractions may be wrong
_MOST_ALLOWANCES: Final = 16_384  # of which those that were used longest ago are forgotten first


class Rate(NamedTuple):
    """So many requests in so many seconds."""

    number: int
    seconds: float

    def __str__(self) -> str:
        unit = next(unit for unit in ("s", "min", "hour", "day") if _UNITS[unit] == self.seconds)
        return f"{self.number}/{unit}"


DEFAULT_RATE: Final = Rate(1000, 1.0)  # of a principal where no other is set: more than any agent sends


def parse_rate(text: object) -> Rate:
    """Parse a rate such as `60/min`; raises SettingsError."""
    found = _RATE.fullmatch(text) if isinstance(text, str) else None
    if found is None or int(found[1]) < 1 or found[2] not in _UNITS:
        raise SettingsError(f"{text!r} is no rate: write a number and s, min, hour or day, such as '60/min'")
    return Rate(int(found[1]), _UNITS[found[2]])


class Over(NamedTuple):
    """A rate that leaves no room for a request now."""

    seconds: float  # to wait
    rate: Rate
    tools: str | None  # the entry of tools that it is for; None: the principal's own rate


class Allowances:
    """The token buckets of many holders."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, most: int = _MOST_ALLOWANCES) -> None:
        self._clock = clock
        self._most = most
        # When each bucket will be full. One number is all there is to know of a bucket.
        self._full: OrderedDict[tuple[Hashable, Rate], float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._full)

    def wait(self, holder: Hashable, rate: Rate) -> float:
        """Seconds until the holder may take one; 0 if it may now."""
        missing = self._full.get((holder, rate), 0.0) - self._clock()
        wait = missing - rate.seconds * (rate.number - 1) / rate.number
        return wait if wait > _ROUNDING else 0.0

    def take(self, holder: Hashable, rate: Rate) -> None:
        """Take one, whether or not there is one."""
        key, now = (holder, rate), self._clock()
        missing = max(0.0, self._full.get(key, 0.0) - now) + rate.seconds / rate.number
        # Without a bound, a holder that goes on all the same would have to wait for ever.
        self._full[key] = now + min(missing, rate.seconds)
        self._full.move_to_end(key)
        if len(self._full) > self._most:
            self._full.popitem(last=False)


class SharedBuckets(Protocol):
    """Token buckets that several servers take from."""

    async def take(self, holder: Hashable, rate: Rate) -> float:
        """Take one; returns the seconds to wait if there is none."""
        ...

    def give_back(self, holder: Hashable, rate: Rate) -> None: ...

    def charge(self, holder: Hashable, rate: Rate) -> float:
        """Take one without waiting for it; returns the seconds to wait if it is known that there is none."""
        ...


class RateLimits:
    """The rates of a server: one for each principal, and further ones for single tools of each principal.

    `tools` has names or patterns such as `vmaf_*`; the tools of one entry share one allowance. `carriers` are
    tools that run another tool, with the argument that names it: that one's rate holds for them as well.
    """

    def __init__(
        self,
        rate: Rate | None = None,
        tools: Mapping[str, Rate] | None = None,
        *,
        carriers: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rate = rate
        self._tools = dict(tools or {})
        self._carriers = dict(carriers or {})
        self._allowances = Allowances(clock)

    def become(self, rate: Rate | None, tools: Mapping[str, Rate]) -> None:
        """Have other rates from now on. What was taken at a rate that stays counts on."""
        self._rate, self._tools = rate, dict(tools)

    def check(
        self, principal: str, own: Rate | None = None, params: Mapping[str, Any] | None = None
    ) -> Over | None:
        """Take one from the principal's allowances; returns the one with the longest wait if any is empty.

        `own` is the principal's own rate, which replaces the server's. `params` are those of a tools/call.
        Nothing is taken from any allowance if one is empty.
        """
        if own is None and self._rate is None and not self._tools:
            return None
        held = self._held(principal, own, params)
        longest: Over | None = None
        for holder, limit, entry in held:
            wait = self._allowances.wait(holder, limit)
            if wait > 0 and (longest is None or wait > longest.seconds):
                longest = Over(wait, limit, entry)
        if longest is None:
            for holder, limit, _ in held:
                self._allowances.take(holder, limit)
        return longest

    async def check_shared(
        self, shared: SharedBuckets, principal: str, own: Rate | None, params: Mapping[str, Any] | None
    ) -> Over | None:
        """The same, with allowances that several servers share; the default rate is of each server alone."""
        taken: list[tuple[Hashable, Rate]] = []
        for holder, limit, entry in self._held(principal, own, params):
            if limit is DEFAULT_RATE:
                if (wait := self._allowances.wait(holder, limit)) > 0:
                    return Over(wait, limit, entry)
                self._allowances.take(holder, limit)
                continue
            if (wait := await shared.take(holder, limit)) > 0:
                for one in taken:
                    shared.give_back(*one)
                return Over(wait, limit, entry)
            taken.append((holder, limit))
        return None

    def charge(self, shared: SharedBuckets | None, principal: str, own: Rate | None) -> Over | None:
        """Take one for a request that is no call, from buckets that may be shared; nothing is awaited."""
        rate = own or self._rate
        if shared is None or rate is None or rate is DEFAULT_RATE:
            return self.check(principal, own)
        wait = shared.charge(principal, rate)
        return Over(wait, rate, None) if wait > 0 else None

    def _held(
        self, principal: str, own: Rate | None, params: Mapping[str, Any] | None
    ) -> list[tuple[Hashable, Rate, str | None]]:
        """The allowances that a request takes from: holder, rate, and the entry of tools."""
        rate = own or self._rate
        held: list[tuple[Hashable, Rate, str | None]] = [] if rate is None else [(principal, rate, None)]
        if self._tools and params:
            found = {self._entry(name) for name in self._named(params)}
            held += [((principal, one), self._tools[one], one) for one in found if one is not None]
        return held

    def _named(self, params: Mapping[str, Any]) -> list[str]:
        """The tool of a call, and the tool that this one runs if it is a carrier."""
        name, arguments = params.get("name"), params.get("arguments")
        named = [name]
        if isinstance(name, str) and name in self._carriers and isinstance(arguments, Mapping):
            named.append(arguments.get(self._carriers[name]))
        return [one for one in named if isinstance(one, str)]

    def _entry(self, tool: str) -> str | None:
        """The entry that a tool is held to: its own, or else the first pattern that it fits."""
        if tool in self._tools:
            return tool
        return next((pattern for pattern in self._tools if fnmatchcase(tool, pattern)), None)


def whole_seconds(wait: float) -> int:
    """Seconds as Retry-After takes them: whole, and no fewer than needed."""
    return max(1, math.ceil(wait))
