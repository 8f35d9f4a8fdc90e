"""The program `longwire`: serve, check and worker-check."""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Final, NoReturn, TextIO

from longwire.errors import LongwireError, UsageError
from longwire.text import one_line

OK: Final = 0
FAILED: Final = 1
_WRONG_USAGE: Final = 2
_PIPE_CLOSED: Final = 141  # 128 + SIGPIPE
_INTERRUPTED: Final = 130  # 128 + SIGINT, as shells say it

_COMMANDS: Final = {
    "serve": ("longwire.command.serve", "serve MCP clients; the methods run in workers"),
    "check": ("longwire.command.serve", "print every setting of a server, and where it comes from"),
    "worker-check": ("longwire.command.worker_check", "hold a worker of any language to the worker contract"),
}
_COLOURS: Final = {"dim": "2", "red": "31", "yellow": "33", "green": "32"}
_WIDEST: Final = 100  # columns of a sentence, however wide the terminal is
_NARROWEST: Final = 24  # columns that words need


class Parser(argparse.ArgumentParser):
    """argparse that raises UsageError."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


class TerminalLines:
    """Sentences and columns folded to the terminal's width; unfolded where the output is no terminal."""

    def __init__(self, stream: TextIO) -> None:
        self.terminal = stream.isatty()
        self._colour = self.terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self._fits = self.terminal or os.environ.get("COLUMNS", "").isdigit()
        self.width = shutil.get_terminal_size().columns

    def coloured(self, name: str, text: str) -> str:
        return f"\033[{_COLOURS[name]}m{text}\033[0m" if self._colour else text

    def paragraph(self, text: str, margin: int, hanging: int = 0) -> list[str]:
        """The text behind a margin; `hanging` is that of later lines, beside it."""
        text, first, later = one_line(text), " " * margin, " " * (margin + hanging)
        if not self._fits:
            return [first + text]
        room = max(min(self.width, _WIDEST), margin + hanging + _NARROWEST) - margin - hanging
        lines = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)
        return [(later if number else first) + line for number, line in enumerate(lines)]

    def columns(self, rows: Sequence[tuple[str, str]]) -> list[str]:
        """Names with sentences beside them, or below them where there is no room."""
        width = max(len(name) for name, _ in rows)
        hanging = width + 2 if width + 4 < self.width // 2 else 2
        return [line for name, text in rows for line in self.paragraph(f"{name:{width}}  {text}", 2, hanging)]


def guarded(program: str, command: Callable[[], int]) -> int:
    """Run a command; print an error in one line, without a traceback."""
    try:
        return command()
    except UsageError as error:
        print(f"{program}: {one_line(str(error))}", f"Try '{program} --help'.", sep="\n", file=sys.stderr)
        return _WRONG_USAGE
    except LongwireError as error:
        problems = getattr(error, "problems", ()) or (str(error),)
        print("\n".join(f"{program}: {one_line(said)}" for said in problems), file=sys.stderr)
        return FAILED
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED
    except OSError as error:
        print(f"{program}: {error.filename or 'the output'}: {error.strerror or error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return _INTERRUPTED


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    name = words[0] if words and words[0] in _COMMANDS else ""
    return guarded(f"longwire {name}".strip(), lambda: _command(name, words[1:]) if name else _about(words))


def _command(name: str, words: Sequence[str]) -> int:
    module = importlib.import_module(_COMMANDS[name][0])
    parser = Parser(
        prog=f"longwire {name}",
        usage=f"longwire {name} {module.USAGE}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.configure(parser)
    code: int = module.run(parser.parse_args([*words, "--check"] if name == "check" else words))
    return code


def _about(words: Sequence[str]) -> int:
    from longwire import __version__

    width = max(map(len, _COMMANDS))
    table = "\n".join(f"  {name:{width}}  {summary}" for name, (_, summary) in _COMMANDS.items())
    parser = Parser(
        prog="longwire",
        usage="longwire COMMAND [options]",
        description="A Streamable HTTP runtime for MCP.",
        epilog=f"commands:\n{table}\n\n'longwire COMMAND --help' explains one of them.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"longwire {__version__}")
    parser.add_argument("command", nargs="?", help="one of those below")
    if (asked := parser.parse_args(words).command) is not None:
        raise UsageError(f"'{asked}' is no command: use one of {', '.join(_COMMANDS)}")
    parser.print_help()
    return OK


if __name__ == "__main__":
    sys.exit(main())
