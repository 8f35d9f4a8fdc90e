"""Finds the child processes of a server in /proc, to tell when a score has really ended."""

from __future__ import annotations

from pathlib import Path


def descendants(pid: int) -> set[int]:
    """Every process that this one started, directly or not."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        for child in _children(waiting.pop()):
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found


def own_cpu_seconds(pid: int) -> float:
    """The CPU time of a process's threads so far, in nanoseconds; 0 if it has ended."""
    total = 0
    for task in _tasks(pid):
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except OSError:
            continue
    return total / 1e9


def is_over(pid: int) -> bool:
    """Whether the process has ended, reaped or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def _tasks(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []


def _children(pid: int) -> list[int]:
    listed = []
    for task in _tasks(pid):
        try:
            listed += [int(text) for text in (task / "children").read_text().split()]
        except OSError:
            continue
    return listed
