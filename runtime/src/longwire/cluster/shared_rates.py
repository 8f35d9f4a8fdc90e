"""Rates that hold over all nodes together: each takes shares of one token bucket in Redis, and spends them.

A share is one token at first, and twice as many each time that one is spent within half a second: so a
principal that sends a lot costs a question to Redis twice a second. What is not spent by then is given back
with the next question. While Redis is gone, each node allows the rate divided by the number of nodes.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from longwire.cluster.nodes import Nodes
from longwire.errors import ClusterUnavailable
from longwire.principals.rates import Allowances, Rate
from longwire.wire.tasks import RunningTasks

_SPEND: Final = 0.5  # seconds in which a share may be spent
_PARTS: Final = 20  # a share is at most this part of a bucket
_MOST: Final = 16_384  # shares, of which those that were used longest ago are forgotten first

# The value of a key is when its bucket is full, in milliseconds by Redis's clock, as in rates.Allowances.
# Arguments: the tokens of a full bucket, its milliseconds, how many are wanted, how many come back.
_TAKE: Final = """
local time = redis.call('TIME')
local now, period = time[1] * 1000 + time[2] / 1000, tonumber(ARGV[2])
local each = period / ARGV[1]
local full = redis.pcall('GET', KEYS[1])  -- whatever else has written there, it is a full or an empty bucket
local missing = (tonumber(type(full) == 'string' and full or '') or 0) - now - ARGV[4] * each
missing = math.min(period, math.max(0, missing))
local given = math.min(math.floor((period - missing) / each + 1e-6), tonumber(ARGV[3]))
missing = missing + given * each
redis.call('SET', KEYS[1], string.format('%.3f', now + missing), 'PX', math.ceil(missing) + 1)
return {given, math.ceil(math.max(0, missing + each - period))}
"""


@dataclass(slots=True)
class _Share:
    left: int = 0
    size: int = 0  # when it was taken
    until: float = 0.0  # the time in which it may be spent
    refused_until: float = 0.0  # nobody has a token before


class SharedAllowances:
    """The token buckets of all nodes together."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._shares: OrderedDict[tuple[Hashable, Rate], _Share] = OrderedDict()
        self._alone = Allowances()  # while Redis is gone
        self._charges = RunningTasks()  # questions to Redis whose answer nobody waits for

    async def take(self, holder: Hashable, rate: Rate) -> float:
        """Take one; returns the seconds to wait if there is none."""
        share = self._shares.setdefault((holder, rate), _Share())
        self._shares.move_to_end((holder, rate))
        if len(self._shares) > _MOST:
            self._shares.popitem(last=False)
        now = time.monotonic()
        if share.left and now < share.until:
            share.left -= 1
            return 0.0
        if now < share.refused_until:
            return share.refused_until - now
        try:
            # In a task of its own: calls are begun outside of any, and time limits need one.
            return await asyncio.ensure_future(self._ask(share, holder, rate, now))
        except ClusterUnavailable:
            part = rate._replace(number=max(1, rate.number // max(1, self._nodes.living)))
            if (wait := self._alone.wait(holder, part)) == 0:
                self._alone.take(holder, part)
            return wait

    def charge(self, holder: Hashable, rate: Rate) -> float:
        """Take one without waiting for it; returns the seconds to wait if it is known that there is none."""
        share, now = self._shares.get((holder, rate)), time.monotonic()
        if share is not None and now < share.refused_until:
            return share.refused_until - now
        self._charges.spawn(self.take(holder, rate))
        return 0.0

    def give_back(self, holder: Hashable, rate: Rate) -> None:
        """Give back one that was taken a moment ago: the request was refused for another reason."""
        if (share := self._shares.get((holder, rate))) is not None:
            share.left += 1

    async def _ask(self, share: _Share, holder: Hashable, rate: Rate, now: float) -> float:
        link = self._nodes.link
        if not link.healthy:  # it says itself when Redis is back
            raise ClusterUnavailable("")
        most = max(1, rate.number // _PARTS)
        share.size = min(2 * share.size, most) if now < share.until else 1
        back, share.left = share.left, 0
        key = link.key("rate", hashlib.sha256(repr((holder, rate)).encode()).hexdigest()[:32])
        asked = [rate.number, round(rate.seconds * 1000), max(1, share.size), back]
        given, milliseconds = await link.script(_TAKE, [key], asked)
        if not given:
            wait = max(0.001, int(milliseconds) / 1000)
            share.refused_until = now + wait
            return wait
        share.left += given - 1
        share.until = now + _SPEND
        return 0.0
