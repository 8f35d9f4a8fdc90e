"""The log lines about refused requests: few, however many requests are refused.

The first refusal of an address for a reason is logged. Further ones within a minute are counted, and a line
says afterwards how many there were. So nobody fills a log, or the terminal of a measurement, by knocking.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from typing import Any, Final

from opentelemetry.propagate import extract
from opentelemetry.trace import SpanKind, StatusCode, get_tracer

from longwire.foreign_json import parse_json
from longwire.names import attribute, own_names
from longwire.principals.rates import Allowances, Rate
from longwire.text import note, shown_id
from longwire.wire.http.request import Request

logger: Final = logging.getLogger(__name__)

_ONE: Final = Rate(1, 60.0)  # lines about one address and reason
_ALL: Final = Rate(30, 60.0)  # lines about all together: an attacker may have many addresses
_WARNED: Final = frozenset({401, 403, 421})  # for clients that may not come, or that use a wrong host name
_SESSION: Final = "mcp-session-id"


class RefusalLines:
    """Logs refusals, and counts those that it leaves out."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        one: str = "refused a request: %s",
        more: str = "refused %d more request%s for reasons that were logged before",
    ) -> None:
        """`one` is the line of a reason, `more` that about lines left out: their number, "s" for several."""
        self._one, self._more = one, more
        self._told = Allowances(clock)
        self._left_out = 0
        self._level = logging.NOTSET  # of the worst that was left out
        self._timer: asyncio.TimerHandle | None = None

    def add(self, level: int, place: str, word: str, reason: str, fields: dict[str, Any]) -> None:
        if not logger.isEnabledFor(level):
            return
        one = (place, word)
        if self._told.wait(one, _ONE) > 0 or self._told.wait(None, _ALL) > 0:
            self._left_out += 1
            self._level = max(self._level, level)
            self._plan()
            return
        self._told.take(one, _ONE)
        self._told.take(None, _ALL)
        self.sum_up()
        logger.log(level, self._one, reason, extra=fields)

    def refused(self, request: Request, status: int, place: str, word: str, reason: str) -> None:
        """Log the refusal of a request, or count it, and trace it if it has no span yet."""
        fields: dict[str, Any] = {"event": "http_refused", "status": status, "address": request.address}
        fields |= {"path": request.path, "request_id": request.id}
        if request.principal.has_token:
            fields["client"] = request.principal.key
        if (session_id := request.headers.get(_SESSION)) is not None:
            fields["session"] = shown_id(session_id[:128])
        self.add(logging.WARNING if status in _WARNED else logging.INFO, place, word, reason, fields)
        if not request.spanned:
            _trace(request, status, reason)

    def answered(self, request: Request, status: int, body: bytes) -> None:
        """The same for a request that passed the checks, and was refused behind them."""
        self.refused(request, status, request.address, str(status), _sentence(body))

    def sum_up(self) -> None:
        """Log how many refusals were left out since this was said last."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        count, self._left_out = self._left_out, 0
        level, self._level = self._level, logging.NOTSET
        if count:
            fields = {"event": "http_refused_more", "left_out": count}
            # In no context: the line is about many requests.
            Context().run(logger.log, level, self._more, count, "s" * (count != 1), extra=fields)

    def _plan(self) -> None:
        if self._timer is None:
            with suppress(RuntimeError):  # without a loop the next line says it
                self._timer = asyncio.get_running_loop().call_later(_ONE.seconds, self.sum_up)


def _sentence(body: bytes) -> str:
    """What a client was told: the message of a JSON-RPC error, the error of a document, or the text."""
    try:
        error = parse_json(body)["error"]
        return note(str(error["message"] if isinstance(error, dict) else error))
    except (ValueError, LookupError, TypeError):
        return note(body[:500].decode("utf-8", "replace").strip() or "it said no more")


def _trace(request: Request, status: int, reason: str) -> None:
    """A span for a request that no method ran for; nothing, if nothing is traced."""
    span = get_tracer(own_names().name).start_span(
        f"{request.method} {request.path}",
        extract(request.headers),
        SpanKind.SERVER,
        attributes={
            "http.request.method": request.method,
            "url.path": request.path,
            "http.response.status_code": status,
            "client.address": request.address,
            "error.type": str(status),
            attribute("request_id"): request.id,
        },
    )
    span.set_status(StatusCode.ERROR, reason)
    span.end()
