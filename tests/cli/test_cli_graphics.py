"""Pictures on terminals: what they are asked, what their answers mean, and how pictures are encoded."""

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

from acuity.cli.graphics import QUERY, kitty, terminal_of
from acuity.cli.score_plot import sixel

OK = b"\033_Gi=31;OK\033\\"
PLAIN, SIXEL = b"\033[?62;22c", b"\033[?62;4;22c"
# Asks in a process of its own, whose terminal the test is; prints the answer and how long it took.
SCRIPT = """
import json, sys, time
from acuity.cli.graphics import terminal_of
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


def test_an_answer_that_is_no_end_of_one() -> None:
    assert ask(b"\033[?62;4;").way == "text"


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


def test_others_are_asked_for_all() -> None:
    assert ask(PLAIN).question == QUERY.encode() + b"\033[14t\033[c"


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


def test_sixels_of_too_many_colours_are_nearly_the_picture() -> None:
    x, y = np.meshgrid(np.arange(120), np.arange(48))
    image = np.stack((x * 2, y * 5, (x + y)), -1).astype(np.uint8)
    text = sixel(image)
    assert len(re.findall(r"#\d+;2;", text)) <= 250
    assert np.abs(decoded(text).astype(int) - image).mean() < 20


def test_kitty_sends_the_file_in_pieces() -> None:
    data = bytes(range(256)) * 40
    text = kitty(data, 72)
    pieces = re.findall(r"\033_G([^;]*);([^\033]*)\033\\", text)
    assert "".join(f"\033_G{keys};{part}\033\\" for keys, part in pieces) == text
    assert base64.b64decode("".join(part for _, part in pieces)) == data
    assert pieces[0][0] == "a=T,f=100,q=2,c=72,m=1"
    assert [keys for keys, _ in pieces[1:]] == ["m=1"] * (len(pieces) - 2) + ["m=0"]
    assert all(len(part) <= 4096 for _, part in pieces)
