"""Asks a terminal whether it shows pictures and how large it is in pixels; pictures by kitty's protocol."""

from __future__ import annotations

import argparse
import base64
import os
import re
import select
import struct
import time
from typing import Final, Literal, NamedTuple, TextIO, TypeAlias, cast, get_args

from acuity.cli.getopt import BARE

_CHUNK: Final = 4096  # characters of a piece

# Asks whether a picture of one pixel could be shown; a terminal without the protocol says nothing.
QUERY: Final = "\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\"
ANSWER: Final = b"\033_Gi=31;OK\033\\"


def kitty(png: bytes, columns: int) -> str:
    """A PNG file as escape sequences, as wide as so many columns; the terminal doesn't answer."""
    data = base64.b64encode(png).decode()
    pieces = [data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK)]
    found = []
    for number, piece in enumerate(pieces):
        first = f"a=T,f=100,q=2,c={columns}," if number == 0 else ""
        more = int(number + 1 < len(pieces))
        found.append(f"\033_G{first}m={more};{piece}\033\\")
    return "".join(found)


Way: TypeAlias = Literal["text", "sixel", "kitty"]

WAYS: Final = ("auto", *get_args(Way))
WAIT: Final = 0.15  # seconds for an answer
_ATTRIBUTES: Final = re.compile(rb"\033\[\?([0-9;]*)c")  # the answer that every terminal gives, asked last
_SIZE: Final = re.compile(rb"\033\[4;(\d{1,5});(\d{1,5})t")
_ASK_SIZE: Final = "\033[14t"
_ASK_ATTRIBUTES: Final = "\033[c"
_SIXEL: Final = b"4"  # among the attributes
_CELL: Final = (9, 18)  # pixels of a letter where nobody says
_MOST_BYTES: Final = 4096
# Terminals that show a question they don't know as text, or as a message.
_SILENT: Final = ("dumb", "linux", "screen", "vt100", "vt220", "cons25", "emacs", "eterm")


class Terminal(NamedTuple):
    way: Way
    columns: int
    lines: int
    width: int  # in pixels
    height: int


def plot_way(text: str) -> str:
    """The value of --plot; an omitted one is 'auto'."""
    if text == BARE:
        return "auto"
    if text not in WAYS:
        raise argparse.ArgumentTypeError(f"'{text}' is no way to plot: use {', '.join(WAYS)}")
    return text


def terminal_of(stream: TextIO, wanted: str = "auto") -> Terminal:
    """The terminal behind a stream; text is for all that isn't one, or doesn't say that it shows pictures.

    `wanted` is a way, which is then not asked for, or 'auto'. Pipes and files get text always.
    """
    import shutil

    size = shutil.get_terminal_size((80, 24))
    plain = Terminal("text", *size, size.columns * _CELL[0], size.lines * _CELL[1])
    if wanted == "text" or not stream.isatty():
        return plain
    said = b""
    try:
        width, height = _window(stream.fileno())
        if wanted == "auto" or not width:
            said = _asked(stream)
    except (OSError, ValueError):
        return plain
    if not width and (answer := _SIZE.search(said)):
        height, width = (int(part) for part in answer.groups())
    way = _way(said) if wanted == "auto" else cast("Way", wanted)
    return plain._replace(way=way, width=width or plain.width, height=height or plain.height)


def _way(said: bytes) -> Way:
    if os.environ.get("NO_COLOR"):
        return "text"
    if ANSWER in said:
        return "kitty"
    attributes = _ATTRIBUTES.search(said)
    return "sixel" if attributes and _SIXEL in attributes[1].split(b";")[1:] else "text"


def _question() -> str:
    """The question to the terminal; empty if it can't show pictures, or would print the question."""
    name = os.environ.get("TERM", "").lower()
    if "TMUX" in os.environ or name.startswith("tmux"):
        # tmux answers for itself: it knows sixels or not, and doesn't pass kitty's protocol on by itself.
        return _ASK_SIZE + _ASK_ATTRIBUTES
    if not name or "STY" in os.environ or name.startswith(_SILENT) or os.environ.get("NO_COLOR"):
        return ""
    return QUERY + _ASK_SIZE + _ASK_ATTRIBUTES


def _asked(stream: TextIO) -> bytes:
    """The terminal's answer within WAIT; empty if this process isn't the one that it listens to."""
    if not (question := _question()):
        return b""
    import termios
    import tty

    stream.flush()
    terminal = os.open(os.ttyname(stream.fileno()), os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if os.tcgetpgrp(terminal) != os.getpgrp():  # in the background, reading would stop the process
            return b""
        before = termios.tcgetattr(terminal)
        try:
            tty.setcbreak(terminal, termios.TCSANOW)  # neither echoed nor kept until a line ends
            os.write(terminal, question.encode())
            return _answer(terminal, time.monotonic() + WAIT)
        finally:
            termios.tcsetattr(terminal, termios.TCSANOW, before)
    except termios.error as error:
        raise OSError(*error.args) from error
    finally:
        os.close(terminal)


def _answer(terminal: int, until: float) -> bytes:
    said = b""
    while (left := until - time.monotonic()) > 0 and len(said) < _MOST_BYTES:
        if not select.select([terminal], [], [], left)[0]:
            break
        read = os.read(terminal, 256)
        said += read
        if not read or _ATTRIBUTES.search(said):
            break
    return said


def _window(descriptor: int) -> tuple[int, int]:
    """Width and height in pixels, as the system knows them; 0 where it doesn't."""
    import fcntl
    import termios

    empty = bytes(8)
    _, _, width, height = struct.unpack("HHHH", fcntl.ioctl(descriptor, termios.TIOCGWINSZ, empty))
    return (width, height) if width and height else (0, 0)
