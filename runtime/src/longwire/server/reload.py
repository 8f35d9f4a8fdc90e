"""Reading again at SIGHUP, while the server runs: configuration, tokens, keys of OAuth, certificate."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from longwire.config.keys import keys
from longwire.errors import SettingsError
from longwire.guard.grants import Scopes
from longwire.guard.origins import Origins
from longwire.guard.tokens import TokenFile
from longwire.operations.logs import Redactor
from longwire.server.serve import ServeOptions
from longwire.settings import Settings
from longwire.text import shortened
from longwire.wire.http.tls import Certificate

logger: Final = logging.getLogger(__name__)

_SIGNALLED: Final = "got SIGHUP: the configuration, token files, keys and the certificate are read again"
# Keys whose new values count at once; those of all others count at a start only.
_LIVE_LIMITS: Final = (
    "rate tools max_calls max_calls_per_client max_subscriptions max_subscriptions_per_principal max_headers "
    "max_header_line_bytes max_head_bytes head_timeout_seconds idle_connection_seconds read_timeout_seconds "
    "write_timeout_seconds"
)
LIVE: Final = frozenset(
    (
        *("auth.scopes", "mcp.allowed_origins", "mcp.max_sessions", "mcp.max_sessions_per_principal"),
        *(f"limits.{name}" for name in _LIVE_LIMITS.split()),
    )
)
_LONGEST: Final = 200  # characters of a value in the log
_LONGEST_WAIT: Final = 60.0  # seconds


class Configuration:
    """The options of a running server: the files that they name, and settings of which some may change."""

    def __init__(self, options: ServeOptions) -> None:
        self.settings = options.settings
        self.wire: Final = options.settings.wire_limits()
        self.on_change: list[Callable[[Settings], None]] = []  # called with the settings that count
        self._options = options
        found = options.found
        self._values: dict[str, Any] = {} if found is None else {key.path: found[key.path] for key in keys()}

    @property
    def has_file(self) -> bool:
        found = self._options.found
        return found is not None and found.config is not None and self._options.again is not None

    def reload(self) -> None:
        """Read the configuration again; if it can't be used, everything stays as it was."""
        assert self._options.again is not None
        try:
            found = self._options.again()
        except SettingsError as error:
            fields = {"event": "configuration"}
            logger.error("the settings stay as they were: %s", "; ".join(error.problems), extra=fields)
            return
        changed = [key for key in keys() if found[key.path] != self._values[key.path]]
        live = [key for key in changed if key.path in LIVE]
        for key in live:
            self._values[key.path] = found[key.path]
        self._use({key.setting: found[key.path] for key in live if key.setting is not None})
        plain = {key.path: key.kind.plain(found[key.path]) for key in live if found[key.path] is not None}
        shown = {path: shortened(json.dumps(value), _LONGEST) for path, value in plain.items()}
        said = ", ".join(f"{key.path} = {shown.get(key.path, 'unset')}" for key in live)
        text = "read the configuration again: %s" if said else "read the configuration again, nothing changed"
        logger.info(text, *([said] if said else []), extra={"event": "configuration", "changed": said})
        if rest := ", ".join(key.path for key in changed if key.path not in LIVE):
            fields = {"event": "configuration", "needs_restart": rest}
            logger.warning("these settings changed, and count after a restart only: %s", rest, extra=fields)

    def _use(self, changed: dict[str, Any]) -> None:
        self.settings = settings = replace(self.settings, **changed)
        self.wire.become(settings.wire_limits())
        options = self._options
        options.scopes.become(Scopes.parse(settings.scopes, strict=options.scopes.strict))
        if "allowed_origins" in changed:
            options.access.origins.allowed = Origins.parse(settings.allowed_origins).allowed
        for tell_of in self.on_change:
            tell_of(settings)

    @contextmanager
    def reloading(
        self, redactor: Redactor, oversights: Callable[[], Iterable[str]] = tuple, always: bool = False
    ) -> Iterator[None]:
        """Let SIGHUP read all files again, and end what expired tokens left open. In the main thread only.

        `oversights` are told each time the clients' token file was read again. Where there is nothing to
        read, SIGHUP ends the process as usual, unless `always` is set.
        """
        options, file = self._options, self._options.access.tokens
        files = [found for found in (file, options.admin_tokens) if isinstance(found, TokenFile)]
        if not (files or options.certificate or options.access.oauth or self.has_file or always):
            yield
            return
        loop = asyncio.get_running_loop()
        timer: asyncio.TimerHandle | None = None

        def look() -> None:
            nonlocal timer
            if timer is not None:
                timer.cancel()
            waits = [wait for found in files if (wait := found.end_invalid()) is not None]
            # At most _LONGEST_WAIT, because the time of day may be set.
            timer = loop.call_later(min(*waits, _LONGEST_WAIT), look) if waits else None

        def signalled() -> None:
            logger.info("%s", _SIGNALLED, extra={"event": "signal", "signal": "SIGHUP"})
            if self.has_file:
                self.reload()  # first: what tokens open depends on its scopes
            for found in files:
                if reload(found, redactor):
                    tell(oversights() if found is file else found.oversights())
            if options.certificate is not None:
                reload_certificate(options.certificate)
            if options.access.oauth is not None:
                options.access.oauth.reload()
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
    told = {"event": "token_file", "path": tokens.path, "gone": ", ".join(sorted(gone))}
    principals = len(tokens.principals)
    logger.info("read the token file '%s' again", tokens.path, extra={**told, "principals": principals})
    return True


def reload_certificate(certificate: Certificate) -> None:
    """Read certificate and key again; if they can't be used, the old ones stay."""
    try:
        certificate.reload()
    except SettingsError as error:
        logger.error("the certificate stays as it was: %s", error, extra={"event": "certificate"})
    else:
        logger.info("read the certificate again", extra={"event": "certificate"})
