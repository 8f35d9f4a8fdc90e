"""The cost of the bridge to an embedded server for the measuring thread, in nanoseconds a call from Python.

    python bench/bridge.py

Medians over a million calls, including the loop; the last line is the cost of a frame boundary without
commands, and its limit.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from acuity import _native

LIMIT_NS = 200
PAYLOAD = b'{"name": "vmaf_v0.6.1neg"}'


def median_ns(call: Callable[[], object], batches: int = 1000, calls: int = 1000) -> float:
    costs = []
    for _ in range(batches):
        start = time.perf_counter_ns()
        for _ in range(calls):
            call()
        costs.append((time.perf_counter_ns() - start) / calls)
    return statistics.median(costs)


def main() -> None:
    ring, bridge = _native.Ring(64), _native.Bridge(64)

    def push_and_pop() -> None:
        ring.push(1, 1, PAYLOAD)
        ring.pop()

    def command_and_reply() -> None:
        bridge.send(1, 1, PAYLOAD)
        bridge.take()
        bridge.answer(1, 1, PAYLOAD)
        bridge.replies()

    def boundary() -> None:
        if bridge.publish(998):
            raise AssertionError("nobody sent a command")

    for name, call in {
        "a call that does nothing": lambda: None,
        "push and pop": push_and_pop,
        "send, take, answer, replies": command_and_reply,
        "status": bridge.status,
        "take, no command": bridge.take,
    }.items():
        print(f"{name:28} {median_ns(call):7.0f} ns")
    cost = median_ns(boundary)
    print(
        f"{'boundary, no command':28} {cost:7.0f} ns, {cost / LIMIT_NS:.2f} of the {LIMIT_NS} ns it may take"
    )
    bridge.close()


if __name__ == "__main__":
    main()
