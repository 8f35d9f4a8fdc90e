"""What SIGHUP reads again while the server runs: the token file, keys of OAuth, and the certificate."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from acuity.errors import SettingsError
from acuity.mcp.operations.logs import Redactor
from acuity.mcp.wire.guard.tokens import TokenFile, TokenStore
from acuity.mcp.wire.http.tls import Certificate

logger: Final = logging.getLogger(__name__)

_SIGNALLED: Final = (
    "got SIGHUP: token files, keys and the certificate are read again, other settings at a start only"
)
_LONGEST_WAIT: Final = 60.0  # seconds


class Reloadable(Protocol):
    """Something that says itself how reading it again went."""

    def reload(self) -> None: ...


@contextmanager
def reloading(
    tokens: TokenStore,
    redactor: Redactor,
    certificate: Certificate | None = None,
    oversights: Callable[[], Iterable[str]] = tuple,
    operators: TokenStore | None = None,
    oauth: Reloadable | None = None,
    always: bool = False,
) -> Iterator[None]:
    """Let SIGHUP read token files, keys and the certificate again, and end what expired tokens left open.

    `oversights` are told each time the clients' token file was read again; `operators` have their own file.
    Where there is nothing to read, SIGHUP ends the process as usual, unless it is `always` taken for this.
    In the main thread only.
    """
    file = tokens if isinstance(tokens, TokenFile) else None
    files = [found for found in (file, operators) if isinstance(found, TokenFile)]
    if not files and certificate is None and oauth is None and not always:
        yield
        return
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle | None = None

    def look() -> None:
        nonlocal timer
        if timer is not None:
            timer.cancel()
        waits = [wait for found in files if (wait := found.end_invalid()) is not None]
        # No longer than that, because the time of day may be set.
        timer = loop.call_later(min(*waits, _LONGEST_WAIT), look) if waits else None

    def signalled() -> None:
        logger.info("%s", _SIGNALLED, extra={"event": "signal", "signal": "SIGHUP"})
        for found in files:
            if reload(found, redactor):
                tell(oversights() if found is file else found.oversights())
        if certificate is not None:
            reload_certificate(certificate)
        if oauth is not None:
            oauth.reload()
        look()

    loop.add_signal_handler(signal.SIGHUP, signalled)
    look()
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)
        if timer is not None:
            timer.cancel()


def tell(oversights: Iterable[str]) -> None:
    """Write what the operator has probably overlooked to the log."""
    for sentence in oversights:
        logger.warning("%s", sentence, extra={"event": "oversight"})


def reload(tokens: TokenFile, redactor: Redactor) -> bool:
    """Read the file again; False: it can't be used, and the tokens stay as they are."""
    try:
        gone = tokens.reload()
    except SettingsError as error:
        fields = {"event": "token_file", "path": tokens.path}
        logger.error("the tokens stay as they were: %s", error, extra=fields)
        return False
    redactor.hide(tokens)
    logger.info(
        "read the token file '%s' again",
        tokens.path,
        extra={
            "event": "token_file",
            "path": tokens.path,
            "principals": len(tokens.principals),
            "gone": ", ".join(sorted(gone)),
        },
    )
    return True


def reload_certificate(certificate: Certificate) -> None:
    """Read certificate and key again; if they can't be used, the old ones stay."""
    try:
        certificate.reload()
    except SettingsError as error:
        logger.error("the certificate stays as it was: %s", error, extra={"event": "certificate"})
    else:
        logger.info("read the certificate again", extra={"event": "certificate"})
