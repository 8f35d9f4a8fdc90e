"""Acuity: VMAF you can pip install.

Score how good an encoded video looks beside its original, with libvmaf's digits:

    acuity score original.mp4 encoded.mp4

Raw YUV, Y4M and every container work; no ffmpeg is needed."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

from acuity.cli.exits import guarded, spare_collector
from acuity.cli.getopt import UsageError, join_optional
from acuity.errors import listed
from acuity.text import shortened

# A command is a module with `configure(parser)` and `run(arguments) -> exit code`; its docstring is
# its help. Only the module of the called command is imported.
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "score": ("acuity.cli.score", "score a distorted video against its reference"),
    "models": ("acuity.cli.models", "list the models"),
    "features": ("acuity.cli.features", "list the feature extractors and their options"),
    "backends": ("acuity.cli.backends", "list the backends and instruction sets of this machine"),
    "serve": ("acuity.cli.serve", "let agents score videos: the MCP server"),
    "demo": ("acuity.cli.demo", "make a clip, encode it badly, score it"),
}


class Parser(argparse.ArgumentParser):
    """argparse with our exit codes and error sentences, and with values that may be omitted."""

    def joined(self, argv: Sequence[str]) -> list[str]:
        """The command line in which no file name can be mistaken for an omitted value."""
        optional = [name for action in self._actions if action.nargs == "?" for name in action.option_strings]
        return join_optional(optional, argv)

    def parse_all(self, argv: Sequence[str]) -> argparse.Namespace:
        """The arguments; a UsageError names the word that is wrong."""
        known, unknown = self.parse_known_args(self.joined(argv))
        if unknown:
            self.error(self._about(unknown))
        return known

    def _about(self, unknown: list[str]) -> str:
        option = next((word.partition("=")[0] for word in unknown if word.startswith("-")), None)
        if option is None:
            takes = [str(action.metavar or action.dest) for action in self._get_positional_actions()]
            says = listed(takes) if takes else "options only"
            return f"'{shortened(unknown[0])}' is one too many: {self.prog} takes {says}"
        from difflib import get_close_matches  # only for this message

        near = get_close_matches(option, self._option_string_actions, 1)
        return f"unknown option '{shortened(option)}'" + (f"; did you mean '{near[0]}'?" if near else "")

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def main(argv: Sequence[str] | None = None) -> int:
    """The `acuity` command."""
    if argv is None:
        spare_collector()
    arguments = list(sys.argv[1:] if argv is None else argv)
    return guarded("acuity", lambda: _run(arguments))


def _run(argv: list[str]) -> int:
    if argv and argv[0] in COMMANDS:
        return _run_command(argv[0], argv[1:])
    parser = Parser(
        prog="acuity",
        usage="acuity COMMAND [options]",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    width = max(map(len, COMMANDS))
    table = "\n".join(f"  {name:{width}}  {summary}" for name, (_, summary) in COMMANDS.items())
    parser.epilog = (
        f"commands:\n{table}\n\n'acuity COMMAND --help' explains one of them.\n"
        "The vmaf command takes libvmaf's own options: 'vmaf --help'."
    )
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    parser.add_argument("command", nargs="?", metavar="COMMAND", help="one of those below")
    known = parser.parse_args(argv)
    if known.version:
        from acuity import __version__

        print(f"acuity {__version__}")
        return 0
    if known.command is not None:
        raise UsageError(f"'{known.command}' is no command: use one of {', '.join(COMMANDS)}")
    parser.print_help()
    return 0


def _run_command(name: str, argv: list[str]) -> int:
    module = importlib.import_module(COMMANDS[name][0])
    parser = Parser(
        prog=f"acuity {name}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.configure(parser)
    try:
        code: int = module.run(parser.parse_all(argv))
    except UsageError as error:
        error.program = parser.prog
        raise
    return code


if __name__ == "__main__":
    sys.exit(main())
