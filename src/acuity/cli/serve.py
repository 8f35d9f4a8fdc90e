"""Let agents score videos: an MCP server over stdin and stdout, a Unix socket or HTTP.

Without options it serves stdin and stdout, as clients that start their servers themselves expect:

    acuity serve
    acuity serve --allow ~/videos --workers 4
    acuity serve --http 8080
    acuity serve --http 8080 --sse 8080 --uds /run/user/1000/acuity.sock
    acuity serve --http 0.0.0.0:8080 --token-file token.txt
    acuity serve --config acuity.toml --check

Streamable HTTP is at /mcp, HTTP+SSE at /sse. They listen on this machine only, unless HOST names another
address; then every client has to send the token. Files are read from allowed folders only: see --allow.
'vmaf-mcp' is the same command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from acuity.agents import check_installed
from acuity.cli.exits import guarded, told
from acuity.cli.getopt import UsageError

USAGE: Final = "[options]"  # there are dozens
_ALIAS: Final = "'vmaf-mcp' is the same command."
_ALIAS_OF: Final = "'acuity serve' is the same command."


def configure(parser: argparse.ArgumentParser) -> None:
    check_installed()
    from acuity.agents.standalone.acuity_product import declare_acuity
    from longwire.command import serve

    declare_acuity()
    serve.configure(parser)


def run(arguments: argparse.Namespace) -> int:
    from longwire.command import serve

    with told():
        return serve.run(arguments)


def main(argv: Sequence[str] | None = None) -> int:
    return guarded("vmaf-mcp", lambda: _run_script(argv))


def _run_script(argv: Sequence[str] | None) -> int:
    from acuity.cli.main import HelpFormatter, Parser

    parser = Parser(
        prog="vmaf-mcp",
        usage=f"vmaf-mcp {USAGE}",
        description=(__doc__ or "").replace("acuity serve", "vmaf-mcp").replace(_ALIAS, _ALIAS_OF),
        formatter_class=HelpFormatter,
    )
    words = sys.argv[1:] if argv is None else argv
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    if list(words) == ["--version"]:  # without the extra, too
        from acuity import __version__

        print(f"vmaf-mcp (Acuity) {__version__}")
        return 0
    configure(parser)
    arguments = parser.parse(words)
    if arguments.version:
        raise UsageError("--version stands alone: leave the other options out")
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
