"""Progress as a client hears it."""

from __future__ import annotations

import anyio

from acuity.agents.tools.long_tool import ProgressNotifications
from acuity.jobs.job import Progress

Sent = list[tuple[float, float | None, str | None]]


class Heard:
    """What was sent, by a clock that stands still unless told."""

    def __init__(self) -> None:
        self.sent: Sent = []
        self.times: list[float] = []
        self.time = 0.0
        self.notifications = ProgressNotifications(self._send, lambda: self.time)

    async def _send(self, value: float, total: float | None, message: str | None) -> None:
        self.sent.append((value, total, message))
        self.times.append(self.time)

    def tell(self, *told: tuple[float, float | None, str], apart: float) -> None:
        async def main() -> None:
            for done, total, message in told:
                await self.notifications.send(Progress(done, total, message))
                self.time += apart
            await self.notifications.finish()

        anyio.run(main)


def test_never_more_than_ten_a_second_and_the_last_one_always() -> None:
    heard = Heard()
    heard.tell(*[(n, 3000, f"{n}") for n in range(1, 3001)], apart=0.001)
    assert heard.sent[-1] == (3000, 3000, "3000")
    for start in heard.times:
        assert len([time for time in heard.times if start <= time < start + 1.0]) <= 10
    assert len(heard.sent) >= 20  # three seconds


def test_values_only_grow() -> None:
    heard = Heard()
    waiting = [(0, None, f"{n} ahead of it") for n in (3, 2, 1)]
    heard.tell(*waiting, (0, 48, "0 of 48 frames"), (1, 48, "1 of 48 frames"), apart=1.0)
    values = [value for value, _, _ in heard.sent]
    assert values == sorted(set(values))
    assert [message for _, _, message in heard.sent] == [
        "3 ahead of it",
        "2 ahead of it",
        "1 ahead of it",
        "0 of 48 frames",
        "1 of 48 frames",
    ]
    assert values[-1] == 1


def test_nothing_new_is_nothing_said() -> None:
    heard = Heard()
    heard.tell((5, 5, "done"), (5, 5, "done"), (5, 5, "still done"), (4, 5, "back"), apart=1.0)
    assert heard.sent == [(5, 5, "done")]  # a value beyond the total would say more is wrong


def test_without_progress_nothing_is_sent() -> None:
    heard = Heard()
    heard.tell(apart=0)
    assert heard.sent == []
