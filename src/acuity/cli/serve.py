"""Let agents score videos: an MCP server over stdin and stdout, a Unix socket or HTTP.

Without options it serves stdin and stdout, as clients that start their servers themselves expect:

    acuity serve
    acuity serve --allow ~/videos --workers 4
    acuity serve --http 8080
    acuity serve --http 8080 --sse 8080 --uds /run/user/1000/acuity.sock
    acuity serve --http 0.0.0.0:8080 --token-file token.txt

Streamable HTTP is at /mcp, HTTP+SSE at /sse. They listen on this machine only, unless HOST names another
address; then every client has to send the token. Files are read from allowed folders only: see --allow.
'vmaf-mcp' is the same command."""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from acuity.cli.exits import guarded
from acuity.cli.getopt import UsageError
from acuity.errors import SettingsError
from acuity.mcp import check_installed
from acuity.mcp.operations.logs import FORMATS, LEVELS
from acuity.mcp.settings import Settings
from acuity.mcp.wire.listeners import Address

if TYPE_CHECKING:
    from acuity.mcp.endpoints import Endpoint
    from acuity.mcp.standalone.serve import ServeOptions

_Offer: TypeAlias = Literal["http", "sse"]


def _address(text: str) -> Address:
    try:
        return Address.parse(text)
    except SettingsError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' should be a whole number of 1 or more")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' should be a number of seconds")
    return seconds


def _some_seconds(text: str) -> float:
    if _seconds(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' should be more than 0 seconds")
    return float(text)


def _folder(text: str) -> str:
    path = Path(os.path.expanduser(text))
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"'{text}' is no folder")
    return str(path.absolute())


_ADDRESS: Final = {"type": _address, "metavar": "[HOST:]PORT"}

# Options whose `dest` is a setting replace that setting.
GROUPS: Final[dict[str, dict[str, dict[str, Any]]]] = {
    "where to listen (several at once are fine; port 0 takes any free port)": {
        "--stdio": {
            "help": "stdin and stdout (the default)",
            "action": "store_true",
        },
        "--uds": {"help": "a Unix socket, for you alone", "metavar": "PATH", "type": Path},
        "--http": {"help": "Streamable HTTP at /mcp", **_ADDRESS},
        "--sse": {"help": "HTTP+SSE at /sse, for older clients", **_ADDRESS},
        "--metrics": {"help": "figures for Prometheus at /metrics", **_ADDRESS},
        "--framing": {
            "help": "how messages on stdin and stdout are separated (default: auto, as from the client)",
            "choices": ("lines", "content-length", "auto"),
        },
    },
    "access": {
        "--token-file": {
            "help": "a file with the token that HTTP clients have to send, or with a line NAME TOKEN for "
            "each of them (or set VMAF_MCP_TOKEN)",
            "metavar": "FILE",
        },
        "--allow-host": {
            "help": "a further name that HTTP clients may call this server by; may be repeated",
            "metavar": "NAME",
            "action": "append",
            "default": [],
        },
        "--allow": {
            "help": "a folder with videos, beside those of VMAF_MCP_ALLOW; may be repeated",
            "metavar": "DIR",
            "type": _folder,
            "action": "append",
            "default": [],
            "dest": "folders",
        },
    },
    "work": {
        "--workers": {"help": "scores at once", "metavar": "N", "type": _number},
        "--queue": {"help": "jobs that may wait", "metavar": "N", "type": _number},
        "--time-limit": {"help": "seconds that a job may run", "metavar": "S", "type": _some_seconds},
        "--grace": {"help": "seconds that work may continue after SIGTERM", "metavar": "S", "type": _seconds},
        "--data": {"help": "where jobs and reports are kept (or set ACUITY_DATA)", "metavar": "DIR"},
    },
    "logs, on stderr": {
        "--log-level": {"help": "(default: info)", "choices": LEVELS, "default": "info"},
        "--log-format": {"help": "(default: json)", "choices": tuple(FORMATS), "default": "json"},
    },
}


def configure(parser: argparse.ArgumentParser) -> None:
    for title, entries in GROUPS.items():
        group = parser.add_argument_group(title)
        for name, settings in entries.items():
            group.add_argument(name, **settings)


def run(arguments: argparse.Namespace) -> int:
    check_installed()
    wanted = options(arguments)
    from acuity.mcp.standalone.main import run as serve

    return serve(wanted)


def main(argv: Sequence[str] | None = None) -> int:
    """The `vmaf-mcp` command."""
    from acuity.cli.main import Parser

    parser = Parser(
        prog="vmaf-mcp",
        description=(__doc__ or "").replace("acuity serve", "vmaf-mcp").replace(_ALIAS, _ALIAS_OF),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    configure(parser)
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    return guarded("vmaf-mcp", lambda: _run_script(parser, argv))


_ALIAS: Final = "'vmaf-mcp' is the same command."
_ALIAS_OF: Final = "'acuity serve' is the same command."


def _run_script(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> int:
    arguments = parser.parse_args(argv)
    if arguments.version:
        from acuity import __version__

        print(f"vmaf-mcp (Acuity) {__version__}")
        return 0
    return run(arguments)


def options(arguments: argparse.Namespace) -> ServeOptions:
    """The options of the command line; raises errors before anything is started."""
    from acuity.mcp.standalone.serve import ServeOptions
    from acuity.mcp.wire.security import Access
    from acuity.mcp.wire.tokens import read_tokens

    access = Access(read_tokens(arguments.token_file), frozenset(arguments.allow_host))
    for address in (arguments.http, arguments.sse, arguments.metrics):
        if address is not None:
            access.at(address)
    return ServeOptions(
        settings=_settings(arguments),
        endpoints=_endpoints(arguments),
        access=access,
        metrics=arguments.metrics,
        log_level=arguments.log_level,
        log_format=arguments.log_format,
    )


def _settings(arguments: argparse.Namespace) -> Settings:
    settings = Settings.from_environment()
    given = {
        field.name: value
        for field in dataclasses.fields(Settings)
        if (value := getattr(arguments, field.name, None)) is not None
    }
    if "data" in given:
        given["data"] = Path(given["data"]).absolute()
    return dataclasses.replace(settings, allow=(*settings.allow, *arguments.folders), **given)


def _endpoints(arguments: argparse.Namespace) -> list[Endpoint]:
    from acuity.mcp.endpoints import Http, Stdio, Uds

    found: list[Endpoint] = []
    if arguments.uds is not None:
        found.append(Uds(arguments.uds.absolute()))
    found += [Http(address, frozenset(offers)) for address, offers in _ports(arguments)]
    if arguments.stdio or not found:
        found.append(Stdio(arguments.framing or "auto"))
    elif arguments.framing is not None:
        raise UsageError("--framing is for stdin and stdout: add --stdio, or leave it out")
    return found


def _ports(arguments: argparse.Namespace) -> list[tuple[Address, set[_Offer]]]:
    """The addresses with the transports at each; HTTP and SSE may share one."""
    asked: list[tuple[_Offer, Address | None]] = [("http", arguments.http), ("sse", arguments.sse)]
    found: list[tuple[Address, set[_Offer]]] = []
    for offer, address in asked:
        if address is None:
            continue
        same = next((offers for other, offers in found if other == address and address.port), None)
        if same is not None:
            same.add(offer)
        else:
            found.append((address, {offer}))
    return found


if __name__ == "__main__":
    sys.exit(main())
