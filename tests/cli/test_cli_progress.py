"""Progress on a terminal, in a log, and as libvmaf's meter; with a clock that the test turns."""

from __future__ import annotations

import io

import pytest

from acuity.cli.terminal.progress import LibvmafMeter, ProgressBar, ProgressLines, describe, for_people


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


def test_the_line_says_frames_percent_speed_eta_and_mean() -> None:
    assert describe(12, 48, 76.667, 24.0) == "12/48 frames  25%  24.0 fps  0:02 left  mean 76.67"
    assert describe(12, None, None, 24.0) == "12 frames  24.0 fps"


def test_a_bar_redraws_in_place_at_a_limited_rate_and_ends_complete() -> None:
    screen, clock = Terminal(), Clock()
    bar = ProgressBar(screen, clock)
    for n in range(1, 101):
        clock.time += 0.01
        bar.frame(n, 100, 50.0)
    bar.done()
    text = screen.getvalue()
    assert 5 <= text.count("\r") <= 12
    assert text.count("\n") == 1
    assert text.endswith("\n")
    assert "100/100 frames  100%  100.0 fps  0:00 left  mean 50.00" in text
    assert "█" * 20 in text


def test_a_bar_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    screen, clock = Terminal(), Clock()
    bar = ProgressBar(screen, clock)
    clock.time = 1.0
    bar.frame(1, 2, 50.0)
    drawn = screen.getvalue().removeprefix("\r").removesuffix("\033[K")
    assert drawn == "1/2 frames  50%  1.0 fps"


def test_a_log_gets_whole_lines_now_and_then() -> None:
    log, clock = io.StringIO(), Clock()
    lines = ProgressLines(log, 5.0, clock)
    for n in range(1, 13):
        clock.time += 1.0
        lines.frame(n, 12, None)
    lines.done()
    assert log.getvalue().splitlines() == [
        "5/12 frames  42%  1.0 fps  0:07 left",
        "10/12 frames  83%  1.0 fps  0:02 left",
    ]


def test_the_meter_is_libvmafs() -> None:
    screen, clock = Terminal(), Clock()
    meter = LibvmafMeter(screen, clock)
    clock.time = 2.0
    meter.frame(1, None, None)
    meter.frame(2, None, None)
    meter.done()
    assert screen.getvalue() == "\r1 frame  / 0.50 FPS\033[K\r2 frames - 1.00 FPS\033[K\n"


def test_the_stream_chooses() -> None:
    assert isinstance(for_people(Terminal(), quiet=False), ProgressBar)
    assert isinstance(for_people(io.StringIO(), quiet=False), ProgressLines)
    assert for_people(Terminal(), quiet=True) is None


def test_a_pause_is_shown_with_its_reason_and_does_not_count() -> None:
    screen, clock = Terminal(), Clock()
    bar = ProgressBar(screen, clock)
    clock.time = 1.0
    bar.frame(10, 100, 50.0)
    bar.paused("paused by inspector (uds), 5:00 left")
    drawn = screen.getvalue()
    assert "10/100 frames  10%  paused by inspector (uds), 5:00 left  mean 50.00" in drawn
    clock.time = 1.05
    bar.paused("paused by inspector (uds), 5:00 left")
    assert screen.getvalue() == drawn  # not redrawn all the time
    clock.time = 301.0
    bar.paused("paused by inspector (uds), 0:00 left")
    assert screen.getvalue().endswith("paused by inspector (uds), 0:00 left  mean 50.00\033[K")
    bar.paused(None)
    clock.time = 302.0
    bar.frame(20, 100, 50.0)
    assert screen.getvalue().endswith("20/100 frames  20%  10.0 fps  0:08 left  mean 50.00\033[K")
