"""Acuity: VMAF you can pip install.

Score how good an encoded video looks beside its original, with libvmaf's digits:

    acuity score original.mp4 encoded.mp4

Raw YUV, Y4M and every container work; no ffmpeg is needed."""

from __future__ import annotations

import argparse
import importlib
import re
import shlex
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from acuity.cli import version_text
from acuity.cli.exits import guarded, spare_collector
from acuity.cli.getopt import UsageError, join_optional, unknown_option
from acuity.text import shortened

# A command is a module with `configure(parser)` and `run(arguments) -> exit code`; its docstring is
# its help. It may have USAGE, its arguments in short, SURPLUS, what it says of one argument too many, and
# MISSING, what it adds where one is missing.
# A module with a table COMMANDS has commands of its own. Only the module of the called command is imported.
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "score": ("acuity.cli.score", "score a distorted video against its reference"),
    "compare": ("acuity.cli.compare", "compare many encodes with their reference, and rank them"),
    "report": ("acuity.cli.report", "show a report that was written before: a page or a plot"),
    "worst": ("acuity.cli.worst", "show the worst frames: pictures, heat maps, what is wrong"),
    "tune": ("acuity.cli.tune", "find the right encode: search, compare, ladder, tune-per-shot"),
    "evaluate": ("acuity.cli.evaluate", "evaluate ONNX models against ratings, and rank them"),
    "features-table": ("acuity.cli.features_table", "measure the features of rated videos, for evaluate"),
    "models": ("acuity.cli.lists.models", "list the models"),
    "features": ("acuity.cli.lists.features", "list the feature extractors and their options"),
    "backends": ("acuity.cli.lists.backends", "list the backends and instruction sets of this machine"),
    "bench": ("acuity.cli.bench", "measure how fast this machine scores, on each backend"),
    "selftest": ("acuity.cli.selftest", "check that this installation computes the right digits"),
    "serve": ("acuity.cli.serve", "let agents score videos: the MCP server"),
    "worker-check": ("acuity.cli.worker_check", "hold a worker of any language to the worker contract"),
    "demo": ("acuity.cli.demo", "make a clip, encode it badly, score it"),
}

_OMITTED: Final = re.compile(r"(--[a-z-]+) \[([A-Z]+)\]")  # as argparse shows a value that may be omitted


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Wraps paragraphs with a line that is too wide. Those with indented lines are examples and stay."""

    def _format_usage(self, *given: Any) -> str:
        return _OMITTED.sub(r"\1[=\2]", super()._format_usage(*given))

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if action.nargs == "?" and action.option_strings:  # a word behind a blank would be a file name
            return ", ".join(f"{name}[={action.metavar}]" for name in action.option_strings)
        return super()._format_action_invocation(action)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.strip("\n").split("\n\n")
        return textwrap.indent("\n\n".join(_fitting(one, width - len(indent)) for one in paragraphs), indent)


def _fitting(paragraph: str, width: int) -> str:
    lines = paragraph.splitlines()
    if all(len(line) <= width for line in lines) or any(line.startswith(" ") for line in lines):
        return paragraph
    return textwrap.fill(" ".join(lines), width, break_long_words=False, break_on_hyphens=False)


class Parser(argparse.ArgumentParser):
    """argparse with our exit codes and error sentences, and with values that may be omitted."""

    missing = ""  # said after the names of missing arguments

    def joined(self, argv: Sequence[str]) -> list[str]:
        """The command line in which no file name can be mistaken for an omitted value."""
        optional = [name for action in self._actions if action.nargs == "?" for name in action.option_strings]
        return join_optional(optional, argv)

    def parse(self, argv: Sequence[str], surplus: str = "leave it out") -> argparse.Namespace:
        """The arguments; raises UsageError for what is unknown, and says `surplus` of one too many."""
        found, rest = self.parse_known_args(self.joined(argv))
        if not rest:
            return found
        # The value of an unknown option may have become a file name, so the option is the one to name.
        word = next((word for word in rest if word.startswith("-")), rest[0])
        if word.startswith("--"):
            name = word[2:].partition("=")[0]
            known = [
                name[2:] for action in self._actions for name in action.option_strings if name[:2] == "--"
            ]
            raise UsageError(unknown_option(name, known))
        if word.startswith("-"):
            raise UsageError(f"unknown option '{shortened(word)}'")
        raise UsageError(f"unexpected argument '{shortened(word)}': {surplus}")

    def error(self, message: str) -> NoReturn:
        raise UsageError(message + (self.missing if "arguments are required" in message else ""))


def main(argv: Sequence[str] | None = None) -> int:
    if argv is None:
        spare_collector()
    arguments = list(sys.argv[1:] if argv is None else argv)
    # Errors of tuning name the options of its own commands.
    program = "acuity tune" if arguments[:1] == ["tune"] else "acuity"
    more = "The vmaf command takes libvmaf's own options: 'vmaf --help'."
    return guarded(program, lambda: run_commands("acuity", __doc__, COMMANDS, arguments, more))


def run_commands(
    program: str, about: str | None, commands: Mapping[str, tuple[str, str]], argv: list[str], more: str = ""
) -> int:
    """Run the command that is named first, or print what there is."""
    if argv and argv[0] in commands:
        return _run_command(f"{program} {argv[0]}", commands[argv[0]][0], argv[1:])
    parser = Parser(
        prog=program,
        usage=f"{program} COMMAND [options]",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    width = max(map(len, commands))
    table = "\n".join(f"  {name:{width}}  {summary}" for name, (_, summary) in commands.items())
    parser.epilog = f"commands:\n{table}\n\n'{program} COMMAND --help' explains one of them.\n{more}"
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    parser.add_argument("command", nargs="?", metavar="COMMAND", help="one of those below")
    known = parser.parse(argv)
    if known.version:
        print(version_text(program))
        return 0
    if known.command is not None:
        raise UsageError(f"'{known.command}' is no command: use one of {', '.join(commands)}")
    parser.print_help()
    return 0


def _run_command(program: str, name: str, argv: list[str]) -> int:
    module = importlib.import_module(name)
    if hasattr(module, "COMMANDS"):  # a command with commands of its own
        return run_commands(program, module.__doc__, module.COMMANDS, argv)
    usage = getattr(module, "USAGE", None)
    parser = Parser(
        prog=program,
        usage=usage and f"{program} {usage}",
        description=module.__doc__,
        formatter_class=HelpFormatter,
    )
    parser.missing = getattr(module, "MISSING", "")
    module.configure(parser)
    try:
        arguments = parser.parse(argv, getattr(module, "SURPLUS", "leave it out"))
        arguments.command_line = shlex.join([*program.split(), *argv])  # for reports that say it
        code: int = module.run(arguments)
    except UsageError as error:
        error.program = parser.prog
        raise
    return code


if __name__ == "__main__":
    sys.exit(main())
