"""Plots on terminals: as text, and as pictures: what terminals are asked and how pictures are encoded."""

from __future__ import annotations

import base64
import io
import json
import os
import pty
import re
import select
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from acuity.cli.terminal.graphics import kitty, terminal_of
from acuity.cli.terminal.progress import LibvmafMeter, ProgressBar, ProgressLines, describe, for_people
from acuity.cli.terminal.score_plot import plot, sixel
from acuity.cli.terminal.style import clock, count
from cli_helpers import Terminal

OK = b"\033_Gi=31;OK\033\\"
PLAIN, SIXEL = b"\033[?62;22c", b"\033[?62;4;22c"
# Asks in a process of its own, whose terminal the test is; prints the answer and how long it took.
SCRIPT = """
import json, sys, time
from acuity.cli.terminal.graphics import terminal_of
begin = time.monotonic()
found = terminal_of(sys.stdout, sys.argv[1])
print(json.dumps({"found": found, "took": time.monotonic() - begin}))
"""


class Asked(NamedTuple):
    way: str
    size: tuple[int, int]  # in pixels
    took: float
    question: bytes


def ask(answer: bytes, wanted: str = "auto", **environment: str) -> Asked:
    child, terminal = pty.fork()
    if child == 0:
        kept = {key: os.environ[key] for key in ("PATH", "PYTHONPATH") if key in os.environ}
        settings = {**kept, "TERM": "xterm-256color", **environment}
        os.execve(sys.executable, [sys.executable, "-c", SCRIPT, wanted], settings)
    said, answered = b"", not answer
    end = time.monotonic() + 30
    while time.monotonic() < end and b'"took"' not in said:
        if select.select([terminal], [], [], 0.5)[0]:
            said += os.read(terminal, 4096)
        if not answered and b"\033[c" in said:
            os.write(terminal, answer)
            answered = True
    os.waitpid(child, 0)
    os.close(terminal)
    question, _, document = said.partition(b"{")
    found = json.loads(b"{" + document)
    way, _, _, width, height = found["found"]
    return Asked(way, (width, height), found["took"], question)


def test_a_terminal_that_knows_kitty_pictures() -> None:
    assert ask(OK + b"\033[4;720;1280t" + SIXEL)[:2] == ("kitty", (1280, 720))


def test_a_terminal_that_knows_sixels() -> None:
    assert ask(b"\033[4;720;1280t" + SIXEL)[:2] == ("sixel", (1280, 720))


def test_a_terminal_that_knows_neither() -> None:
    assert ask(PLAIN).way == "text"
    assert ask(b"\033[?4c").way == "text"  # the first number is what it is, no attribute


def test_a_terminal_that_never_answers_is_not_waited_for() -> None:
    found = ask(b"")
    assert found.way == "text"
    assert found.took <= 5.0


@pytest.mark.parametrize(
    ("environment", "question"),
    [
        ({"TERM": "tmux-256color"}, b"\033[14t\033[c"),
        ({"TERM": "screen-256color", "TMUX": "/tmp/tmux-1/default,1,0"}, b"\033[14t\033[c"),
        ({"TERM": "screen"}, b""),
        ({"STY": "1.tty"}, b""),
        ({"TERM": "dumb"}, b""),
        ({"TERM": "linux"}, b""),
        ({"NO_COLOR": "1"}, b""),
    ],
)
def test_what_multiplexers_and_old_terminals_are_asked(environment: dict[str, str], question: bytes) -> None:
    found = ask(PLAIN if question else b"", **environment)
    assert (found.way, found.question) == ("text", question)


def test_a_way_that_is_wanted() -> None:
    assert ask(PLAIN, "kitty").way == "kitty"
    assert ask(b"", "text")[0::3] == ("text", b"")


def test_pipes_and_files_get_text(tmp_path: Path) -> None:
    assert terminal_of(io.StringIO(), "kitty").way == "text"
    with (tmp_path / "file").open("w") as stream:
        assert terminal_of(stream, "sixel").way == "text"


def decoded(text: str) -> NDArray[np.uint8]:
    """The picture that a terminal draws of sixels."""
    head, _, body = text.removeprefix("\033P").removesuffix("\033\\").partition("q")
    assert head == ""
    width, height = map(int, re.match(r'"1;1;(\d+);(\d+)', body).groups())  # type: ignore[union-attr]
    image = np.zeros((-(-height // 6) * 6, width, 3), np.uint8)
    palette: dict[int, list[int]] = {}
    colour, x, band = 0, 0, 0
    drawn = body[body.index("#") :]
    for token in re.findall(r"#\d+(?:;2;\d+;\d+;\d+)?|!\d+.|[?-~]|\$|-", drawn):
        if token[0] == "#" and ";" in token:
            number, _, *parts = map(int, token[1:].split(";"))
            palette[number] = [round(part * 255 / 100) for part in parts]
        elif token[0] == "#":
            colour = int(token[1:])
        elif token == "$":
            x = 0
        elif token == "-":
            x, band = 0, band + 1
        else:
            times, bits = (int(token[1:-1]), token[-1]) if token[0] == "!" else (1, token)
            for row in range(6):
                if (ord(bits) - 63) >> row & 1:
                    image[band * 6 + row, x : x + times] = palette[colour]
            x += times
    return image[:height]


def test_sixels_are_the_picture() -> None:
    image = np.zeros((13, 40, 3), np.uint8)
    image[2:9, 5:30] = (0, 114, 178)
    image[7:, 20:] = (255, 255, 255)
    image[12, 0] = (213, 94, 0)
    assert np.abs(decoded(sixel(image)).astype(int) - image).max() <= 2  # hundredths of each colour


def test_kitty_sends_the_file_in_pieces() -> None:
    data = bytes(range(256)) * 40
    text = kitty(data, 72)
    pieces = re.findall(r"\033_G([^;]*);([^\033]*)\033\\", text)
    assert "".join(f"\033_G{keys};{part}\033\\" for keys, part in pieces) == text
    assert base64.b64decode("".join(part for _, part in pieces)) == data
    assert pieces[0][0] == "a=T,f=100,q=2,c=72,m=1"
    assert [keys for keys, _ in pieces[1:]] == ["m=1"] * (len(pieces) - 2) + ["m=0"]
    assert all(len(part) <= 4096 for _, part in pieces)


def dots(lines: list[str]) -> np.ndarray:
    """Which dots of a chart are drawn, as rows and columns."""
    rows = []
    for line in lines[:-1]:
        cells = [0 if char == " " else ord(char) - 0x2800 for char in line.partition("│")[2]]
        for bits in ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80)):
            rows.append([bool(cell & bit) for cell in cells for bit in bits])
    wide = max(map(len, rows))
    return np.array([row + [False] * (wide - len(row)) for row in rows])


@pytest.mark.parametrize("rows", [3, 4, 5, 8, 11, 24])
@pytest.mark.parametrize("ends", [(8.0, 63.0), (52.0, 88.0), (81.0, 99.5), (0.113, 0.87), (-3.0, 41.0)])
def test_every_step_of_the_scale_has_its_label_in_the_row_of_its_value(
    ends: tuple[float, float], rows: int
) -> None:
    lines = plot(np.linspace(*ends, 40), width=20, rows=rows)
    texts = [line.partition("│")[0].strip() for line in lines[:-1]]
    labels = {row: float(text) for row, text in enumerate(texts) if text}
    places, values = np.array(sorted(labels)), np.array([labels[row] for row in sorted(labels)])
    assert len(lines) - 1 <= rows
    assert len(labels) >= 2
    assert len(set(np.diff(places).tolist())) == 1  # no step is left out
    assert np.allclose(np.diff(values), values[1] - values[0])
    assert (places[0], places[-1]) == (0, len(lines) - 2)
    # The highest and the lowest value are drawn where the labels say.
    drawn = dots(lines).any(1).nonzero()[0]
    for value, dot in ((ends[1], drawn[0]), (ends[0], drawn[-1])):
        row = np.interp(value, values[::-1], places[::-1])
        assert dot == pytest.approx(row * 4 + 1.5, abs=1)


def test_the_exact_text() -> None:
    lines = plot(np.array([0.0, 50.0, 100.0, 50.0]), width=2, rows=3, seconds=75.0)
    assert lines == ["100 │ ⡄", " 50 │⢸⠸", "  0 │⠇", "     0:00 1:15"]
    # The values are at 10, 6, 2 and 6; half of the way to the next is drawn on either side.
    columns = [[8, 9, 10], [4, 5, 6, 7], [2, 3], [4, 5, 6]]
    assert [column.nonzero()[0].tolist() for column in dots(lines).T] == columns


def test_the_last_line_says_what_a_column_is() -> None:
    lines = plot(np.random.default_rng(1).uniform(0, 100, 5000), width=64, seconds=200.0)
    assert lines[-1].split() == ["0:00", "lowest", "to", "highest", "of", "up", "to", "40", "frames", "3:20"]
    assert "lowest" not in plot(np.arange(20.0), width=64)[-1]
    assert "lowest" not in plot(np.arange(5000.0), width=20)[-1]  # there is no room


def test_flat_empty_and_unknown_scores_are_fine() -> None:
    assert plot(np.array([])) == []
    assert plot(np.array([np.nan, np.inf])) == []
    assert plot(np.array([1.0]), width=0) == []
    assert len(plot(np.full(500, 100.0), width=40)) == 6
    assert len(plot(np.array([43.0]), width=40)) == 6
    found = dots(plot(np.array([10.0, np.nan, np.inf, 30.0]), width=2))
    assert found.any(0).tolist() == [True, False, False, True]


def test_ascii_terminals_get_ascii() -> None:
    lines = plot(np.array([0.0, 100.0, 50.0]), width=3, rows=3, unicode=False)
    assert lines == ["100 | .", " 50 |.':", "  0 |:", "     0 3"]
    assert all(line.isascii() for line in plot(np.linspace(0, 100, 3000), unicode=False))


def test_clock() -> None:
    assert [clock(0), clock(59.6), clock(3661), clock(1.25, 3)] == ["0:00", "1:00", "1:01:01", "0:01.250"]
    assert [count(1, "frame"), count(2, "frame")] == ["1 frame", "2 frames"]


# ---- Progress on a terminal, in a log, and as libvmaf's meter; with a clock that the  ----


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
