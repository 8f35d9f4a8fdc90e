"""The embedded server of `vmaf` and `acuity score`: its options, its start and its end."""

from __future__ import annotations

import fcntl
import math
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Final

from acuity.cli.exits import handled, told
from acuity.cli.getopt import Flag, UsageError, amount, whole
from acuity.records import Record
from acuity.text import one_line

if TYPE_CHECKING:
    from acuity.agents.embedded import EmbeddedConfig, EmbeddedServer
    from acuity.measure import Measurement
    from acuity.scoring.run import AttachCallback
    from acuity.scoring.watched import WatchedRun

FD_IN: Final = 3
FD_OUT: Final = 4
FOREVER: Final = math.inf

_TOKEN_VARIABLE: Final = "ACUITY_MCP_TOKEN"
_TOKEN_BYTES: Final = 24  # of randomness


class EmbeddedOptions(Record, frozen=False):
    sse: int | None = None
    uds: str | None = None
    stdio: bool = False
    http: int | None = None
    wait: float | None = None  # seconds for the first client's request; FOREVER: without limit
    stay: float | None = None  # seconds after the end; FOREVER: until the last client has left
    token_file: str | None = None
    stay_empty: float | None = None  # seconds of the stay for the first client; None: the default
    live: int | None = None  # the port of the page

    def __bool__(self) -> bool:
        ways = (self.sse, self.http, self.live, self.uds)
        return self.stdio or any(way is not None for way in ways)

    @property
    def http_port(self) -> int | None:
        """The port of Streamable HTTP, which the page uses too; None: there is none."""
        if self.http is None or self.live is None:
            return self.live if self.http is None else self.http
        if self.http and self.live and self.http != self.live:
            raise UsageError(
                f"--live {self.live} and --enable-mcp-http {self.http} are one port, which serves the page "
                "and agents: name it once"
            )
        return self.http or self.live


def _path(text: str) -> str:
    if not text:
        raise ValueError("should be the name of a file")
    return text


_PORT: Final = whole(0, 65535, "port")
_SECONDS: Final = amount(0, noun="number of seconds")
# The options of both commands, by the fields of EmbeddedOptions.
OPTIONS: Final = {
    "live": Flag("live", "show the measurement as it runs on a page in your browser, whose address is "
                 "printed; buttons steer it (without PORT: any free port)", "", "PORT", _PORT, bare=0),
    "sse": Flag("enable_mcp_sse", "let agents watch and steer over HTTP+SSE at "
                "http://127.0.0.1:PORT/mcp/sse (0: any free port)", "", "PORT", _PORT),
    "http": Flag("enable_mcp_http", "the same over Streamable HTTP at http://127.0.0.1:PORT/mcp (without "
                 "=PORT: any free port)", "", "PORT", _PORT, bare=0),
    "uds": Flag("enable_mcp_uds", "the same at a Unix socket, for you alone", "", "PATH", _path),
    "stdio": Flag("enable_mcp_stdio", "the same at file descriptors 3 (in) and 4 (out)"),
    "wait": Flag("mcp_wait", "start with the first client, or after SECONDS without one", "", "SECONDS",
                 _SECONDS, bare=FOREVER),
    "stay": Flag("mcp_stay", "keep serving after the end: for SECONDS, or until the last client has left", "",
                 "SECONDS", _SECONDS, bare=FOREVER),
    "stay_empty": Flag("mcp_stay_empty", "end a stay without SECONDS when no client is there for so many "
                       "(default 60)", "", "SECONDS", _SECONDS),
    "token_file": Flag("mcp_token_file", "a file with the token that clients over HTTP have to send "
                       "(or set ACUITY_MCP_TOKEN)", "", "FILE", _path),
}  # fmt: skip


@contextmanager
def embedded(program: str, wanted: EmbeddedOptions) -> Iterator[AttachCallback | None]:
    """The callback that starts the server on a measurement; the server runs until the block ends."""
    if not wanted:
        _refuse_idle_options(wanted)
        yield None
        return
    if wanted.stay_empty is not None and wanted.stay != FOREVER:
        raise UsageError("option --mcp-stay-empty is for --mcp-stay without SECONDS: add that")
    from acuity.agents import check_installed

    check_installed()  # before a video is opened
    with ExitStack() as stack:
        stack.enter_context(handled((signal.SIGTERM, signal.SIGHUP), _end))
        pair = stack.enter_context(_claimed()) if wanted.stdio else None
        http_port = wanted.http_port
        config, fragment = _config(wanted)  # refuses an unreadable token before anything is opened
        servers: list[EmbeddedServer] = []

        def attach(measurement: Measurement, watched: WatchedRun) -> None:
            from acuity.agents.embedded import EmbeddedServer

            server = stack.enter_context(EmbeddedServer(measurement, config, watched=watched))
            servers.append(server)
            if pair is not None:
                server.start_stdio(*pair, framing="auto")
            if wanted.uds is not None:
                server.start_uds(wanted.uds)
            if wanted.sse is not None:
                server.start_sse(wanted.sse)
            if http_port is not None:
                address = server.start_http(http_port)
                if wanted.live is not None:
                    _say(f"{program}: watch it at http://{address.host}:{address.port}/{fragment}")
            for transport, where in server.started.items():
                if transport == "stdio" or (transport == "http" and wanted.http is None):
                    continue  # the caller opened the descriptors, or asked for the page alone
                _say(f"{program}: agents may connect to {where}")
            if wanted.wait is not None:
                _say(f"{program}: waiting for an agent before the first frame")
                server.wait_for_client(None if wanted.wait == FOREVER else wanted.wait)

        yield attach
        if servers and wanted.stay is not None:
            _stay(program, servers[0], wanted)
        elif servers and wanted.live is not None:
            _stay_for_pages(program, servers[0])


def _refuse_idle_options(wanted: EmbeddedOptions) -> None:
    for field, flag in OPTIONS.items():
        if getattr(wanted, field) not in (None, False):
            serving = [other for other in OPTIONS.values() if other.long.startswith(("live", "enable_"))]
            ways = " or ".join(map(_spelled, serving))
            raise UsageError(f"option {_spelled(flag)} needs a server: add {ways}")


def _spelled(flag: Flag) -> str:
    return f"--{flag.long.replace('_', '-')}"


def _config(wanted: EmbeddedOptions) -> tuple[EmbeddedConfig, str]:
    """The server's settings, and what the page's address ends with.

    A page gets a token of its own for each run, so that no other user of the machine and no other page can
    steer. It is behind the #, which browsers send to nobody. A token that the user made is never printed.
    """
    from acuity.agents.embedded import EmbeddedConfig
    from acuity.errors import EmbeddedError
    from longwire.errors import SettingsError
    from longwire.guard.tokens import read_tokens

    if wanted.sse is None and wanted.http is None and wanted.live is None:
        if wanted.token_file is not None:
            raise UsageError(
                "option --mcp-token-file is for clients over HTTP: "
                "add --live, --enable-mcp-sse or --enable-mcp-http"
            )
        return EmbeddedConfig(), ""
    try:
        tokens = read_tokens(wanted.token_file, variable=_TOKEN_VARIABLE)
    except SettingsError as error:
        raise EmbeddedError(str(error)) from None
    if tokens or wanted.live is None:
        return EmbeddedConfig(token=tokens), ""
    import secrets

    token = secrets.token_urlsafe(_TOKEN_BYTES)
    return EmbeddedConfig(token=token), f"#token={token}"


def _stay(program: str, server: EmbeddedServer, wanted: EmbeddedOptions) -> None:
    """Keep serving after the report is written; an interrupt only ends this wait."""
    from acuity.agents.embedded.presence import EMPTY

    length, empty = wanted.stay, EMPTY if wanted.stay_empty is None else wanted.stay_empty
    ends = f"until the last agent has left, or none has come for {empty:g} seconds"
    until = ends if length == FOREVER else f"for {length:g} seconds"
    try:
        _say(f"{program}: done; agents may read the results {until}, Ctrl-C ends it")
        server.stay(None if length == FOREVER else length, empty=empty)
    except KeyboardInterrupt:
        server.stop(linger=0.0)


def _stay_for_pages(program: str, server: EmbeddedServer) -> None:
    """Keep serving while the page is open somewhere; with none, end at once."""

    def told() -> None:
        _say(f"{program}: done; the page stays until it is closed, Ctrl-C ends it")

    try:
        server.stay_for_pages(told)
    except KeyboardInterrupt:
        server.stop(linger=0.0)


def _say(line: str) -> None:
    print(one_line(line), file=sys.stderr, flush=True)


@contextmanager
def _claimed() -> Iterator[tuple[int, int]]:
    """Duplicate the caller's descriptors 3 and 4 to other numbers.

    Call this before any file is opened, which might get one of these numbers.
    """
    from longwire.wire.descriptors import check_descriptor

    with told():
        check_descriptor(FD_IN, "in", "start the command with it, as in 3< and 4>")
        check_descriptor(FD_OUT, "out", "start the command with it, as in 3< and 4>")
    pair = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10) for number in (FD_IN, FD_OUT)]
    try:
        for number in (FD_IN, FD_OUT):
            os.close(number)
        yield pair[0], pair[1]
    finally:
        for number in pair:
            os.close(number)


def _end(number: int, _: FrameType | None) -> None:
    """Make a signal that would end the process at once an orderly end, which removes socket files."""
    raise SystemExit(128 + number)
